/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limiter/fault.h"
#include "limiter/limiter.h"

static const char *const names[_DEV_LIMITER_FAULT_MAX] = { "create", "write", "read", "enqueue" };

static uint64_t n_calls[_DEV_LIMITER_FAULT_MAX]; /* of this process; atomic */

int dev_limiter_fault_parse(const char *text, uint64_t ret_at[static _DEV_LIMITER_FAULT_MAX])
{
	uint64_t at[_DEV_LIMITER_FAULT_MAX] = { 0 };

	for (;;) {
		size_t length = strcspn(text, ":");
		unsigned kind;
		char *end;

		for (kind = 0; kind < _DEV_LIMITER_FAULT_MAX; kind++)
			if (strlen(names[kind]) == length && !strncmp(names[kind], text, length))
				break;
		if (kind == _DEV_LIMITER_FAULT_MAX || text[length] != ':' ||
		    !isdigit((unsigned char)text[length + 1]))
			return -EINVAL;
		at[kind] = strtoull(text + length + 1, &end, 10);
		if (!at[kind] || (*end && *end != ','))
			return -EINVAL;
		if (!*end)
			break;
		text = end + 1;
	}
	memcpy(ret_at, at, sizeof(at));
	return 0;
}

static void fault_tell(enum dev_limiter_fault kind, uint64_t n)
{
	const char *path = secure_getenv("SLUICE_LIMITER_FAULT_LOG");
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s:%llu\n", names[kind], (unsigned long long)n);
	close(fd);
}

bool dev_limiter_fault_meet(struct dev_limiter_device *device, enum dev_limiter_fault kind)
{
	uint64_t n = __atomic_add_fetch(&n_calls[kind], 1, __ATOMIC_RELAXED);
	bool fails = n == dev_limiter_settings.fault_at[kind];

	if (fails)
		fault_tell(kind, n);
	if (device) {
		struct dev_limiter_counts *counts = dev_board_user(device->board);

		__atomic_add_fetch(&counts->n_calls[kind], 1, __ATOMIC_RELAXED);
		if (fails)
			__atomic_add_fetch(&counts->n_faults[kind], 1, __ATOMIC_RELAXED);
	}
	return fails;
}
