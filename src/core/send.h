/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Messages of the core to clients, queued as actions. Each has a reason in words for people. A
 * client that is not joined gets no message. A raise queues the roster's line before itself.
 */

#include <stdint.h>

#include "core/state.h"

void slu_core_send_raise(struct slu_core *core, struct slu_core_account *account,
			 uint64_t limit_bytes, uint64_t goal_bytes, enum slu_pace pace,
			 const char *reason, ...) __attribute__((__format__(__printf__, 6, 7)));
void slu_core_send_lower(struct slu_core *core, struct slu_core_account *account,
			 uint64_t limit_bytes, const char *reason, ...)
	__attribute__((__format__(__printf__, 4, 5)));
void slu_core_send_turn(struct slu_core *core, struct slu_core_client *client,
			const struct slu_core_seat *seat, const char *reason);
void slu_core_send_close(struct slu_core *core, struct slu_core_client *client,
			 const struct slu_core_seat *seat, const char *reason);
/* @seat NULL: an allocation of backing. */
void slu_core_send_deny(struct slu_core *core, struct slu_core_client *client,
			const struct slu_core_seat *seat, uint64_t bytes, const char *reason);

/* Writes the roster's line, whether or not the charges changed. */
void slu_core_send_line(struct slu_core *core, struct slu_core_client *client);

/* Writes the roster's line if the charges differ from it. */
void slu_core_send_roster(struct slu_core *core, struct slu_core_client *client);

#define slu_core_report(core, client, ...) \
	((void)slu_core_queue_push(&(core)->queue, SLU_CORE_REPORT, (client), __VA_ARGS__))
