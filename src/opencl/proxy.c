/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "opencl/proxy.h"

/*
 * The range is reserved once and never given back; pages that no proxy ever used cost nothing.
 * Fresh slots are handed out until enough used ones rest.
 */
static struct {
	_Atomic(struct slu_proxy *) base; /* NULL until the first proxy */
	uint32_t n_fresh;		  /* slots below this were used before */
	uint32_t n_resting;
	STAILQ_HEAD(, slu_proxy) resting;
} range = { .resting = STAILQ_HEAD_INITIALIZER(range.resting) };

static struct slu_proxy *range_reserve_locked(void)
{
	struct slu_proxy *base = atomic_load_explicit(&range.base, memory_order_relaxed);
	void *p;

	if (base)
		return base;
	p = mmap(NULL, (size_t)SLU_PROXY_SLOTS_MAX * sizeof(*base), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	atomic_store_explicit(&range.base, p, memory_order_release);
	return p;
}

static struct slu_proxy *range_take_slot_locked(void)
{
	struct slu_proxy *base = range_reserve_locked(), *proxy;

	if (!base)
		return NULL;
	if (range.n_fresh < SLU_PROXY_SLOTS_MAX && range.n_resting < SLU_PROXY_RESTING)
		return &base[range.n_fresh++];
	proxy = STAILQ_FIRST(&range.resting);
	if (proxy) {
		STAILQ_REMOVE_HEAD(&range.resting, resting);
		range.n_resting--;
	}
	return proxy;
}

int slu_proxy_new(struct slu_proxy **ret_proxy)
{
	struct slu_proxy *proxy;
	uint32_t serial;

	slu_layer_take();
	proxy = range_take_slot_locked();
	slu_layer_give();
	if (!proxy)
		return slu_error(-ENOMEM);

	serial = atomic_load(&proxy->serial);
	memset(proxy, 0, sizeof(*proxy));
	atomic_store(&proxy->serial, serial + 1);
	atomic_store(&proxy->n_refs, 1);
	proxy->root = proxy;
	LIST_INIT(&proxy->children);
	atomic_store(&proxy->state, SLU_PROXY_LIVE);
	*ret_proxy = proxy;
	return 0;
}

void slu_proxy_free(struct slu_proxy *proxy)
{
	assert(!proxy->unit && !proxy->real && !proxy->notify && !proxy->holds_context);
	assert(LIST_EMPTY(&proxy->children) && !proxy->track.items);

	slu_layer_take();
	atomic_store(&proxy->state, SLU_PROXY_FREE);
	STAILQ_INSERT_TAIL(&range.resting, proxy, resting);
	range.n_resting++;
	slu_layer_give();
}

bool slu_proxy_is_handle(const void *value)
{
	const struct slu_proxy *base = atomic_load_explicit(&range.base, memory_order_acquire);
	uintptr_t offset = (uintptr_t)value - (uintptr_t)base;

	return base && offset < (uintptr_t)SLU_PROXY_SLOTS_MAX * sizeof(*base);
}

struct slu_proxy *slu_proxy_find(const void *handle)
{
	struct slu_proxy *base = atomic_load_explicit(&range.base, memory_order_acquire);
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)base;
	struct slu_proxy *proxy;

	if (!slu_proxy_is_handle(handle) || offset % sizeof(*base))
		return NULL;
	proxy = &base[offset / sizeof(*base)];
	return atomic_load(&proxy->state) == SLU_PROXY_LIVE ? proxy : NULL;
}

bool slu_proxy_unref(struct slu_proxy *proxy)
{
	if (atomic_fetch_sub(&proxy->n_refs, 1) != 1)
		return false;
	atomic_store(&proxy->state, SLU_PROXY_DYING);
	return true;
}
