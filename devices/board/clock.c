/* SPDX-License-Identifier: Apache-2.0 */
#include "board/clock.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/util.h"

/* The number of the namespace in which the machine started: the kernel's PROC_TIME_INIT_INO. */
#define FIRST_NAMESPACE 0xEFFFFFFAu

static bool read_offset(int64_t *ret_ns)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	long long seconds;
	long nanoseconds;
	bool is_read;

	if (!f)
		return false;
	is_read = fscanf(f, "monotonic %lld %ld", &seconds, &nanoseconds) == 2;
	fclose(f);
	if (is_read)
		*ret_ns = seconds * (int64_t)SLU_NS_PER_S + nanoseconds;
	return is_read;
}

int dev_board_clock_ahead(int64_t *ret_ahead_ns)
{
	struct stat own, children;

	/* a kernel without such namespaces, or a process that is not shown its own */
	if (stat("/proc/self/ns/time", &own) < 0 ||
	    stat("/proc/self/ns/time_for_children", &children) < 0 ||
	    own.st_ino == FIRST_NAMESPACE) {
		*ret_ahead_ns = 0;
		return 0;
	}
	/* the file tells the offset of the namespace that children will be in */
	if (own.st_ino != children.st_ino || !read_offset(ret_ahead_ns))
		return slu_error(-EXDEV);
	return 0;
}
