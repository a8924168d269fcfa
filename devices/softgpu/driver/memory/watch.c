/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/watch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/util.h"

#define IS_PRESENT (UINT64_C(1) << 63)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int pagemap_fd = -1; /* constant after that */
static uint64_t page_bytes;
static bool is_blind; /* atomic */

static void open_pagemap(void)
{
	page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	pagemap_fd = slu_fd_lift(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
	if (pagemap_fd < 0)
		is_blind = true;
}

static bool watch_sees(void)
{
	pthread_once(&once, open_pagemap);
	return !__atomic_load_n(&is_blind, __ATOMIC_RELAXED);
}

void dev_watch_drop(uint64_t address, uint64_t bytes)
{
	uint64_t begin, end;

	if (!watch_sees() || !bytes)
		return;
	begin = address / page_bytes * page_bytes;
	end = slu_round_up(address + bytes, page_bytes);
	if (madvise((void *)(uintptr_t)begin, end - begin, MADV_DONTNEED) < 0)
		__atomic_store_n(&is_blind, true, __ATOMIC_RELAXED);
}

bool dev_watch_has_news(uint64_t *count)
{
	struct rusage usage;
	uint64_t now;

	/* every new entry is a fault of one of our threads */
	if (!watch_sees() || getrusage(RUSAGE_SELF, &usage) < 0)
		return false;
	now = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
	if (now == *count)
		return false;
	*count = now;
	return true;
}

bool dev_watch_is_touched(struct dev_watch *watch, uint64_t address)
{
	uint64_t page;
	ssize_t n;

	if (!watch_sees())
		return false;
	page = address / page_bytes;
	if (page - watch->first >= watch->n) {
		n = pread(pagemap_fd, watch->entries, sizeof(watch->entries),
			  (off_t)(page * sizeof(watch->entries[0])));
		watch->first = page;
		watch->n = n < 0 ? 0 : (size_t)n / sizeof(watch->entries[0]);
		if (!watch->n)
			return false;
	}
	return watch->entries[page - watch->first] & IS_PRESENT;
}
