/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The board's clock. CLOCK_MONOTONIC is the machine's in most processes, but one in a time
 * namespace of its own (a container that was restored on another machine, `unshare --time`) sees
 * it shifted. Bookings of such a process would lie hours ahead for all others. So the board holds
 * the machine's times, and every handle translates at the board's functions: callers only ever see
 * times of their own clock.
 */

#include <stdint.h>

/*
 * How far CLOCK_MONOTONIC of this process is ahead of the machine's. It is the same for the life
 * of a process. Return: 0, or -EXDEV where it cannot be known: the process has made a time
 * namespace for its children and is itself in yet another one.
 */
int dev_board_clock_ahead(int64_t *ret_ahead_ns);

/* Cut off at both ends, and 0 stays 0: it stands for "at once", as the largest one for "never". */
static inline uint64_t dev_board_clock_to_machine(int64_t ahead_ns, uint64_t own_ns)
{
	uint64_t ns;

	if (!own_ns)
		return 0;
	if (ahead_ns > 0)
		return own_ns > (uint64_t)ahead_ns ? own_ns - (uint64_t)ahead_ns : 0;
	return __builtin_add_overflow(own_ns, (uint64_t)-ahead_ns, &ns) ? UINT64_MAX : ns;
}

static inline uint64_t dev_board_clock_to_own(int64_t ahead_ns, uint64_t machine_ns)
{
	return dev_board_clock_to_machine(-ahead_ns, machine_ns);
}
