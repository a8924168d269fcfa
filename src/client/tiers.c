/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/mman.h>

#include "base/lock.h"
#include "base/util.h"
#include "client/sizes.h"
#include "client/tiers.h"

#define N_POOLED_MAX 64

static struct slu_lock lock = SLU_LOCK_INIT(SLU_LOCK_LEAF);

/* All guarded by lock. The oldest is first. */
static struct {
	void *host;
	uint64_t bytes;
} pooled[N_POOLED_MAX];
static unsigned n_pooled;
static uint64_t pooled_bytes;

uint64_t slu_tiers_class(uint64_t bytes)
{
	uint64_t step = 4096;

	while (step * 16 < bytes)
		step *= 2;
	return slu_round_up(bytes ? bytes : 1, step);
}

static void pool_drop_locked(unsigned i)
{
	pooled_bytes -= pooled[i].bytes;
	n_pooled--;
	for (; i < n_pooled; i++)
		pooled[i] = pooled[i + 1];
}

void *slu_tiers_get(uint64_t bytes)
{
	uint64_t size = slu_tiers_class(bytes);
	int saved = errno;
	void *host = NULL;

	slu_lock_take(&lock);
	for (unsigned i = n_pooled; i-- > 0 && !host;) {
		if (pooled[i].bytes == size) {
			host = pooled[i].host;
			pool_drop_locked(i);
		}
	}
	slu_lock_give(&lock);
	if (host)
		return host;
	host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (host == MAP_FAILED) {
		host = NULL;
	} else {
		madvise(host, size, MADV_DONTFORK);
		madvise(host, size, MADV_DONTDUMP);
	}
	errno = saved;
	return host;
}

void slu_tiers_put(void *host, uint64_t bytes)
{
	uint64_t size = slu_tiers_class(bytes);
	int saved = errno;

	if (!host)
		return;
	if (size <= SLU_SIZES_POOL_BYTES) {
		slu_lock_take(&lock);
		while (n_pooled == N_POOLED_MAX || pooled_bytes + size > SLU_SIZES_POOL_BYTES) {
			munmap(pooled[0].host, pooled[0].bytes);
			pool_drop_locked(0);
		}
		pooled[n_pooled].host = host;
		pooled[n_pooled++].bytes = size;
		pooled_bytes += size;
		slu_lock_give(&lock);
	} else {
		munmap(host, size);
	}
	errno = saved;
}

void slu_tiers_trim(void)
{
	int saved = errno;

	slu_lock_take(&lock);
	while (n_pooled) {
		munmap(pooled[n_pooled - 1].host, pooled[n_pooled - 1].bytes);
		pool_drop_locked(n_pooled - 1);
	}
	slu_lock_give(&lock);
	errno = saved;
}

void slu_tiers_forked(void)
{
	slu_lock_init(&lock, SLU_LOCK_LEAF);
	n_pooled = 0;
	pooled_bytes = 0;
}
