/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Denials of memory, and of its export: the reason and the way out, for `sluice history` and for
 * the last lines of `sluice run`. They change no decision.
 */

#include <stdint.h>

#include "wire/message.h"

struct slu_program;

/* An allocation exceeded what the program may own. At most one a second is kept. */
void slu_denial_excess(struct slu_program *program, uint64_t now_ns,
		       const struct slu_msg_excess *excess);

/* The program was refused an export, for its memory moves. The first one is kept. */
void slu_denial_export(struct slu_program *program, uint64_t now_ns);

/* The core refused bytes that the program waited for; @reason is the core's. */
void slu_denial_deny(struct slu_program *program, uint64_t now_ns, const struct slu_msg_deny *deny,
		     const char *reason);
