/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How much work a front end may leave in flight, learned from what launches take on the device. A
 * turn ends when its queued work has ended, so the queue should hold about TARGET of work: enough
 * that the device never waits for the program, and little enough that a turn ends soon.
 *
 * The front end reports how many launches ended within which time of the device; the limit is as
 * many of them as fill TARGET. Pure: the front end has the lock, the clock and the marks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/util.h"

#define SLU_BACKLOG_TARGET_NS (10 * SLU_NS_PER_MS)
/*
 * Behind a launch shorter than this a second one is queued: else the device would be idle until the
 * program sees the end of the first, for a good part of such a launch. A longer one runs alone.
 */
#define SLU_BACKLOG_PAIRED_NS (2 * SLU_BACKLOG_TARGET_NS)
/* Launches that may be in flight while nothing is known of them. */
#define SLU_BACKLOG_UNKNOWN 2

/* All zero: nothing is known. */
struct slu_backlog {
	uint64_t cost_ns;   /* what a launch takes on the device: busy_ns ÷ n_learned */
	uint64_t busy_ns;   /* in which the device carried out … */
	uint64_t n_learned; /* … so many launches, lately */
};

/*
 * @n launches, at least one, have ended within @took_ns of the device's time. @is_exact: a thread
 * waited for their end. If none did, they may have ended long before the front end looked: then a
 * time that is longer than expected says nothing.
 */
void slu_backlog_learn(struct slu_backlog *backlog, uint64_t n, uint64_t took_ns, bool is_exact);

/* How many launches may be in flight, at most @most. */
uint32_t slu_backlog_limit(const struct slu_backlog *backlog, uint32_t most);
