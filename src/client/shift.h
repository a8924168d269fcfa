/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The thread that shifts backing between memory and disk. The functions need the client's lock.
 */

struct slu_client;
struct slu_client_unit;

/* Shifts the backing of @unit as unit->shift says. */
void slu_client_shift_start(struct slu_client *client, struct slu_client_unit *unit);

/* A write to the disk failed: logs it once and sends no more units there. */
void slu_client_shift_disk_failed(struct slu_client *client, int error);
