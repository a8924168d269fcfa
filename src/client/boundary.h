/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The ends of iterations, inside the client. The calls of front ends are in client.h. */

struct slu_client;

/* Tells the peer how many bytes of device @index are in no allocation now. Needs the lock. */
void slu_client_boundary_refresh(struct slu_client *client, unsigned index);
