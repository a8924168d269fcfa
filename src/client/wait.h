/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How the program's threads wait inside our calls. Both functions need the client's lock and
 * release it meanwhile; a caller that wakes asks the peer again.
 */

#include <stdint.h>

struct slu_client;

/* Waits for a change, at most until @until_ns (SLU_PEER_NEVER: no end). May wake without one. */
void slu_client_wait(struct slu_client *client, uint64_t until_ns);

/* JOINING: waits for the daemon's first answer, and goes on without a daemon if none comes. */
void slu_client_wait_joined(struct slu_client *client);
