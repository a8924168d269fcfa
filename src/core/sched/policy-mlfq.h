/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the feedback queue remembers of a group, for policy-mlfq.c and its test. */

#include <stdbool.h>
#include <stdint.h>

struct slu_mlfq_state {
	uint64_t used_ns; /* at this level */
	uint64_t credit_ns;
	uint64_t recent_ns;  /* used lately: what is long past counts less and less */
	uint64_t patient_ns; /* waited since it used the device last */
	bool is_overdue;     /* … for longer than a turn among its equals lasts */
};
