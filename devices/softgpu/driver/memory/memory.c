/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/memory/arena.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/slab.h"

/* all guarded by the driver's lock */
static struct dev_spans allocs;
static uint64_t last_id;

uint64_t dev_memory_new_id_locked(void)
{
	return ++last_id;
}

/* Maps the memory, of a card or (NULL) of the host, at new addresses, usable by that card. */
static int map_locked(struct dev_card *card, struct dev_phys *phys, uint64_t *ret_address)
{
	struct dev_window *window = &dev_driver.window;
	uint64_t address, bytes = phys->bytes;
	int r;

	r = dev_window_reserve(window, bytes, 0, 0, &address);
	if (r) {
		dev_phys_unref(phys);
		return slu_error(-ENOMEM);
	}
	r = dev_window_map(window, address, phys);
	dev_phys_keep_mapped(phys);
	if (r) {
		dev_window_release(window, address, bytes);
		return slu_error(-ENOMEM);
	}
	dev_window_set_access(window, address, bytes, card ? (int)card->index : -1,
			      DEV_WINDOW_READ | DEV_WINDOW_WRITE);
	*ret_address = address;
	return 0;
}

static int map_new_locked(struct dev_card *card, uint64_t bytes, uint64_t *ret_address)
{
	struct dev_phys *phys;
	int r;

	r = card ? dev_phys_new(card, bytes, &phys) : dev_phys_new_host(bytes, true, &phys);
	if (r)
		return slu_fold(r);
	return map_locked(card, phys, ret_address);
}

static void unmap_locked(uint64_t address, uint64_t bytes)
{
	dev_window_unmap(&dev_driver.window, address, bytes);
	dev_window_release(&dev_driver.window, address, bytes);
}

int dev_memory_map_host(uint64_t bytes, uint64_t *ret_address)
{
	int r;

	dev_driver_lock();
	r = map_new_locked(NULL, bytes, ret_address);
	dev_driver_unlock();
	return slu_fold(r);
}

void dev_memory_unmap(uint64_t address, uint64_t bytes)
{
	dev_driver_lock();
	unmap_locked(address, bytes);
	dev_driver_unlock();
}

static int place_small_locked(struct dev_alloc *a)
{
	uint64_t address;
	int r;

	a->slab = dev_slab_take(a->card, a->bytes, &a->base);
	if (a->slab)
		return 0;
	r = map_new_locked(a->card, a->card->granule_bytes, &address);
	if (r)
		return r;
	if (!dev_slab_new(a->card, address)) {
		unmap_locked(address, a->card->granule_bytes);
		return slu_error(-ENOMEM);
	}
	a->slab = dev_slab_take(a->card, a->bytes, &a->base);
	return 0;
}

static void displace_locked(struct dev_alloc *a)
{
	uint64_t address;

	uint64_t granule = a->card->granule_bytes;

	if (a->arena) {
		dev_arena_give(a->arena);
		return;
	}
	/* what came from another process may begin inside of its granule */
	if (!a->slab)
		unmap_locked(a->base / granule * granule, a->mapped_bytes);
	else if (dev_slab_give(a->slab, a->base, a->bytes, &address))
		unmap_locked(address, granule);
}

/* What peers may do with an allocation. */
static void set_peers_locked(const struct dev_alloc *a, uint8_t cards, uint8_t access)
{
	uint64_t granule = a->card->granule_bytes;

	for (unsigned i = 0; i < dev_driver.n_cards; i++)
		if (cards >> i & 1)
			dev_window_set_access(&dev_driver.window, a->base / granule * granule,
					      a->slab ? granule : a->mapped_bytes, (int)i, access);
}

bool dev_memory_set_peer(struct dev_context *context, struct dev_card *card, bool on)
{
	uint8_t bit = (uint8_t)(1u << card->index);
	bool changes;

	dev_driver_lock();
	changes = !!(context->peers & bit) != on;
	if (changes) {
		context->peers ^= bit;
		for (size_t i = 0; i < allocs.n; i++) {
			const struct dev_alloc *a = allocs.array[i].data;

			if (a->context == context)
				set_peers_locked(a, bit,
						 on ? DEV_WINDOW_READ | DEV_WINDOW_WRITE : 0);
		}
	}
	dev_driver_unlock();
	return changes;
}

static int memory_alloc(struct dev_card *card, struct dev_context *context, struct dev_block *block,
			uint64_t bytes, uint64_t *ret_address)
{
	uint64_t granule = card->granule_bytes;
	struct dev_alloc *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return slu_error(-ENOMEM);
	a->context = context;
	a->card = card;
	a->block = block;
	a->bytes = bytes;
	dev_driver_lock();
	a->id = dev_memory_new_id_locked();
	if (bytes <= granule / 2) {
		r = place_small_locked(a);
	} else if (bytes > a->card->capacity_bytes) {
		r = DEV_CARD_E_FULL;
	} else {
		a->mapped_bytes = slu_round_up(bytes, granule);
		r = map_new_locked(a->card, a->mapped_bytes, &a->base);
	}
	if (!r) {
		r = dev_spans_add(&allocs, a->base, a->slab ? slu_round_up(bytes, 512) : bytes, a);
		if (r)
			displace_locked(a);
		else if (context && context->peers)
			set_peers_locked(a, context->peers, DEV_WINDOW_READ | DEV_WINDOW_WRITE);
	}
	dev_driver_unlock();
	if (r) {
		free(a);
		return slu_fold(r);
	}
	*ret_address = a->base;
	return 0;
}

int dev_memory_alloc(struct dev_context *context, uint64_t bytes, uint64_t *ret_address)
{
	return memory_alloc(context->card, context, NULL, bytes, ret_address);
}

int dev_memory_alloc_block(struct dev_card *card, uint64_t bytes, struct dev_block *block,
			   uint64_t *ret_address)
{
	return memory_alloc(card, NULL, block, bytes, ret_address);
}

int dev_memory_alloc_later(struct dev_card *card, uint64_t bytes, struct dev_arena **ret_arena,
			   uint64_t *ret_address)
{
	struct dev_alloc *a;
	int r;

	if (bytes > card->capacity_bytes)
		return DEV_CARD_E_FULL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return slu_error(-ENOMEM);
	a->card = card;
	a->bytes = bytes;
	dev_driver_lock();
	a->id = dev_memory_new_id_locked();
	r = dev_arena_take(card, bytes, &a->arena, &a->base);
	if (!r) {
		r = dev_spans_add(&allocs, a->base, bytes, a);
		if (r)
			displace_locked(a);
	}
	dev_driver_unlock();
	if (r) {
		free(a);
		return slu_fold(r);
	}
	*ret_arena = a->arena;
	*ret_address = a->base;
	return 0;
}

int dev_memory_import_block(struct dev_card *card, const struct dev_card_ticket *ticket,
			    uint64_t offset, uint64_t bytes, struct dev_block *block,
			    uint64_t *ret_address)
{
	struct dev_alloc *a;
	struct dev_phys *phys;
	int r;

	r = dev_phys_import(card, ticket, &phys);
	if (r)
		return r;
	a = calloc(1, sizeof(*a));
	dev_driver_lock();
	if (!a || offset >= phys->bytes || bytes > phys->bytes - offset) {
		dev_phys_unref(phys);
		r = a ? -ENOENT : -ENOMEM;
	} else {
		*a = (struct dev_alloc){ .bytes = bytes,
					 .mapped_bytes = phys->bytes,
					 .card = card,
					 .block = block,
					 .id = dev_memory_new_id_locked() };
		r = map_locked(card, phys, &a->base);
	}
	if (!r) {
		a->base += offset;
		r = dev_spans_add(&allocs, a->base, bytes, a);
		if (r)
			displace_locked(a);
	}
	dev_driver_unlock();
	if (r) {
		free(a);
		return r;
	}
	*ret_address = a->base;
	return 0;
}

int dev_memory_free(uint64_t address)
{
	struct dev_alloc *a;

	dev_driver_lock();
	a = dev_spans_remove(&allocs, address);
	if (a)
		displace_locked(a);
	dev_driver_unlock();
	if (!a)
		return slu_error(-EINVAL);
	free(a);
	return 0;
}

void dev_memory_drop_context(struct dev_context *context)
{
	dev_driver_lock();
	for (size_t i = allocs.n; i-- > 0;) {
		struct dev_alloc *a = allocs.array[i].data;

		if (a->context != context)
			continue;
		dev_spans_remove(&allocs, a->base);
		displace_locked(a);
		free(a);
	}
	dev_driver_unlock();
}

struct dev_alloc *dev_memory_find_locked(uint64_t address)
{
	const struct dev_span *s = dev_spans_find(&allocs, address);

	return s ? s->data : NULL;
}

enum dev_memory_kind dev_memory_piece(struct dev_card *card, uint64_t address, uint64_t bytes,
				      uint8_t access, uint64_t *ret_bytes,
				      struct dev_card **ret_card)
{
	enum dev_memory_kind kind = DEV_MEMORY_PAGEABLE;
	struct dev_managed_view managed;
	const struct dev_span *s;

	*ret_bytes = bytes;
	*ret_card = card;
	if (dev_managed_look(address, &managed)) {
		*ret_bytes = SLU_MIN(bytes, managed.page_bytes);
		if (managed.card < 0 || !dev_window_may(&dev_driver.window, (unsigned)managed.card,
							address, *ret_bytes, access))
			return DEV_MEMORY_PINNED;
		*ret_card = &dev_driver.cards[managed.card];
		return DEV_MEMORY_DEVICE;
	}
	dev_driver_lock();
	if (dev_window_has(&dev_driver.window, address)) {
		const struct dev_mapping *m = dev_window_mapping(&dev_driver.window, address);

		kind = DEV_MEMORY_INVALID;
		if (m) {
			kind = m->phys->card ? DEV_MEMORY_DEVICE : DEV_MEMORY_PINNED;
			*ret_card = m->phys->card ? m->phys->card : card;
			*ret_bytes = SLU_MIN(bytes, m->base + m->phys->bytes - address);
			if ((m->access[(*ret_card)->index] & access) != access)
				kind = DEV_MEMORY_INVALID;
		}
	} else {
		s = dev_memory_host_from_locked(address);
		if (s && s->base <= address) {
			kind = DEV_MEMORY_PINNED;
			*ret_bytes = SLU_MIN(bytes, s->base + s->bytes - address);
		} else if (s) {
			*ret_bytes = SLU_MIN(bytes, s->base - address);
		}
	}
	dev_driver_unlock();
	return kind;
}

/* Whether a graph has @address; then also how many of the following @bytes. */
static bool is_a_graphs(uint64_t address, uint64_t bytes, uint64_t *ret_bytes)
{
	const struct dev_alloc *a;
	bool is_so;

	dev_driver_lock();
	a = dev_memory_find_locked(address);
	is_so = a && a->arena;
	if (is_so)
		*ret_bytes = SLU_MIN(bytes, a->base + a->bytes - address);
	dev_driver_unlock();
	return is_so;
}

static bool range_is_usable(struct dev_card *card, uint64_t address, uint64_t bytes, uint8_t access,
			    bool later, bool *ret_is_pageable)
{
	struct dev_card *whose;
	bool is_pageable = false;
	uint64_t n;

	if (bytes > UINT64_MAX - address)
		return false;
	for (uint64_t at = address; at < address + bytes; at += n) {
		switch (dev_memory_piece(card, at, address + bytes - at, access, &n, &whose)) {
		case DEV_MEMORY_INVALID:
			if (!later || !is_a_graphs(at, address + bytes - at, &n))
				return false;
			break;
		case DEV_MEMORY_PAGEABLE:
			is_pageable = true;
			break;
		default:
			break;
		}
	}
	*ret_is_pageable = is_pageable;
	return true;
}

bool dev_memory_is_usable(struct dev_card *card, uint64_t address, uint64_t bytes, uint8_t access,
			  bool *ret_is_pageable)
{
	return range_is_usable(card, address, bytes, access, false, ret_is_pageable);
}

bool dev_memory_will_be_usable(struct dev_card *card, uint64_t address, uint64_t bytes,
			       uint8_t access, bool *ret_is_pageable)
{
	return range_is_usable(card, address, bytes, access, true, ret_is_pageable);
}
