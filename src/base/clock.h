/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The one place that reads the clock. Loops read it once a turn and hand it down as
 * `now_ns`; pure modules never include this header.
 */

#include <stdint.h>
#include <time.h>

static inline uint64_t slu_clock_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline struct timespec slu_clock_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}
