/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The memory limits of a program's control groups (cgroups). Bytes that leave a device are in the
 * program's own memory and count there; above the limit the kernel would kill the program. Each
 * group on the way up that has a limit is a bound on the backing of all programs in it.
 *
 * In version 2 there is one tree, "0::/path", at the root; in version 1 memory has a tree of its
 * own, "4:memory:/path", in the folder memory. A machine may have both.
 */

#include <sys/types.h>

#include "core/core.h"

#define SLU_CGROUP_ROOT "/sys/fs/cgroup"

/* The path of a process in the tree of version 2; empty if it is not known or too long. */
void slu_cgroup_path(pid_t pid, char *ret_path, size_t size);

/*
 * Adds a bound of @percent of each limit along the path of @text, the contents of /proc/PID/cgroup,
 * below @root. A file that cannot be read limits nothing.
 */
void slu_cgroup_add(const char *root, const char *text, unsigned percent,
		    struct slu_core_bounds *bounds);

/* The same for a process. */
void slu_cgroup_add_process(pid_t pid, unsigned percent, struct slu_core_bounds *bounds);
