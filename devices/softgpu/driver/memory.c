/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/managed.h"
#include "softgpu/driver/slab.h"

/* all guarded by the driver's lock */
static struct slu_spans allocs;
static uint64_t last_id;

uint64_t slu_memory_new_id_locked(void)
{
	return ++last_id;
}

/* Maps the memory, of a card or (NULL) of the host, at new addresses, usable by that card. */
static int map_locked(struct slu_card *card, struct slu_phys *phys, uint64_t *ret_address)
{
	struct slu_window *window = &slu_driver.window;
	uint64_t address, bytes = phys->bytes;
	int r;

	r = slu_window_reserve(window, bytes, 0, 0, &address);
	if (r) {
		slu_phys_unref(phys);
		return slu_error(-ENOMEM);
	}
	r = slu_window_map(window, address, phys);
	slu_phys_keep_mapped(phys);
	if (r) {
		slu_window_release(window, address, bytes);
		return slu_error(-ENOMEM);
	}
	slu_window_set_access(window, address, bytes, card ? (int)card->index : -1,
			      SLU_WINDOW_READ | SLU_WINDOW_WRITE);
	*ret_address = address;
	return 0;
}

static int map_new_locked(struct slu_card *card, uint64_t bytes, uint64_t *ret_address)
{
	struct slu_phys *phys;
	int r;

	r = card ? slu_phys_new(card, bytes, &phys) : slu_phys_new_host(bytes, true, &phys);
	if (r)
		return slu_fold(r);
	return map_locked(card, phys, ret_address);
}

static void unmap_locked(uint64_t address, uint64_t bytes)
{
	slu_window_unmap(&slu_driver.window, address, bytes);
	slu_window_release(&slu_driver.window, address, bytes);
}

int slu_memory_map_host(uint64_t bytes, uint64_t *ret_address)
{
	int r;

	slu_driver_lock();
	r = map_new_locked(NULL, bytes, ret_address);
	slu_driver_unlock();
	return slu_fold(r);
}

void slu_memory_unmap(uint64_t address, uint64_t bytes)
{
	slu_driver_lock();
	unmap_locked(address, bytes);
	slu_driver_unlock();
}

static int place_small_locked(struct slu_alloc *a)
{
	uint64_t address;
	int r;

	a->slab = slu_slab_take(a->card, a->bytes, &a->base);
	if (a->slab)
		return 0;
	r = map_new_locked(a->card, a->card->granule_bytes, &address);
	if (r)
		return r;
	if (!slu_slab_new(a->card, address)) {
		unmap_locked(address, a->card->granule_bytes);
		return slu_error(-ENOMEM);
	}
	a->slab = slu_slab_take(a->card, a->bytes, &a->base);
	return 0;
}

static void displace_locked(struct slu_alloc *a)
{
	uint64_t address;

	uint64_t granule = a->card->granule_bytes;

	/* what came from another process may begin inside of its granule */
	if (!a->slab)
		unmap_locked(a->base / granule * granule, a->mapped_bytes);
	else if (slu_slab_give(a->slab, a->base, a->bytes, &address))
		unmap_locked(address, granule);
}

/* What peers may do with an allocation. */
static void set_peers_locked(const struct slu_alloc *a, uint8_t cards, uint8_t access)
{
	uint64_t granule = a->card->granule_bytes;

	for (unsigned i = 0; i < slu_driver.n_cards; i++)
		if (cards >> i & 1)
			slu_window_set_access(&slu_driver.window, a->base / granule * granule,
					      a->slab ? granule : a->mapped_bytes, (int)i, access);
}

bool slu_memory_set_peer(struct slu_context *context, struct slu_card *card, bool on)
{
	uint8_t bit = (uint8_t)(1u << card->index);
	bool changes;

	slu_driver_lock();
	changes = !!(context->peers & bit) != on;
	if (changes) {
		context->peers ^= bit;
		for (size_t i = 0; i < allocs.n; i++) {
			const struct slu_alloc *a = allocs.array[i].data;

			if (a->context == context)
				set_peers_locked(a, bit,
						 on ? SLU_WINDOW_READ | SLU_WINDOW_WRITE : 0);
		}
	}
	slu_driver_unlock();
	return changes;
}

static int alloc(struct slu_card *card, struct slu_context *context, struct slu_block *block,
		 uint64_t bytes, uint64_t *ret_address)
{
	uint64_t granule = card->granule_bytes;
	struct slu_alloc *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return slu_error(-ENOMEM);
	a->context = context;
	a->card = card;
	a->block = block;
	a->bytes = bytes;
	slu_driver_lock();
	a->id = slu_memory_new_id_locked();
	if (bytes <= granule / 2) {
		r = place_small_locked(a);
	} else if (bytes > a->card->capacity_bytes) {
		r = SLU_CARD_E_FULL;
	} else {
		a->mapped_bytes = slu_round_up(bytes, granule);
		r = map_new_locked(a->card, a->mapped_bytes, &a->base);
	}
	if (!r) {
		r = slu_spans_add(&allocs, a->base, a->slab ? slu_round_up(bytes, 512) : bytes, a);
		if (r)
			displace_locked(a);
		else if (context && context->peers)
			set_peers_locked(a, context->peers, SLU_WINDOW_READ | SLU_WINDOW_WRITE);
	}
	slu_driver_unlock();
	if (r) {
		free(a);
		return slu_fold(r);
	}
	*ret_address = a->base;
	return 0;
}

int slu_memory_alloc(struct slu_context *context, uint64_t bytes, uint64_t *ret_address)
{
	return alloc(context->card, context, NULL, bytes, ret_address);
}

int slu_memory_alloc_block(struct slu_card *card, uint64_t bytes, struct slu_block *block,
			   uint64_t *ret_address)
{
	return alloc(card, NULL, block, bytes, ret_address);
}

int slu_memory_import_block(struct slu_card *card, const struct slu_card_ticket *ticket,
			    uint64_t offset, uint64_t bytes, struct slu_block *block,
			    uint64_t *ret_address)
{
	struct slu_alloc *a;
	struct slu_phys *phys;
	int r;

	r = slu_phys_import(card, ticket, &phys);
	if (r)
		return r;
	a = calloc(1, sizeof(*a));
	slu_driver_lock();
	if (!a || offset >= phys->bytes || bytes > phys->bytes - offset) {
		slu_phys_unref(phys);
		r = a ? -ENOENT : -ENOMEM;
	} else {
		*a = (struct slu_alloc){ .bytes = bytes,
					 .mapped_bytes = phys->bytes,
					 .card = card,
					 .block = block,
					 .id = slu_memory_new_id_locked() };
		r = map_locked(card, phys, &a->base);
	}
	if (!r) {
		a->base += offset;
		r = slu_spans_add(&allocs, a->base, bytes, a);
		if (r)
			displace_locked(a);
	}
	slu_driver_unlock();
	if (r) {
		free(a);
		return r;
	}
	*ret_address = a->base;
	return 0;
}

int slu_memory_free(uint64_t address)
{
	struct slu_alloc *a;

	slu_driver_lock();
	a = slu_spans_remove(&allocs, address);
	if (a)
		displace_locked(a);
	slu_driver_unlock();
	if (!a)
		return slu_error(-EINVAL);
	free(a);
	return 0;
}

void slu_memory_drop_context(struct slu_context *context)
{
	slu_driver_lock();
	for (size_t i = allocs.n; i-- > 0;) {
		struct slu_alloc *a = allocs.array[i].data;

		if (a->context != context)
			continue;
		slu_spans_remove(&allocs, a->base);
		displace_locked(a);
		free(a);
	}
	slu_driver_unlock();
}

struct slu_alloc *slu_memory_find_locked(uint64_t address)
{
	const struct slu_span *s = slu_spans_find(&allocs, address);

	return s ? s->data : NULL;
}

enum slu_memory_kind slu_memory_piece(struct slu_card *card, uint64_t address, uint64_t bytes,
				      uint8_t access, uint64_t *ret_bytes,
				      struct slu_card **ret_card)
{
	enum slu_memory_kind kind = SLU_MEMORY_PAGEABLE;
	struct slu_managed_view managed;
	const struct slu_span *s;

	*ret_bytes = bytes;
	*ret_card = card;
	if (slu_managed_look(address, &managed)) {
		*ret_bytes = SLU_MIN(bytes, managed.page_bytes);
		if (managed.card < 0 || !slu_window_may(&slu_driver.window, (unsigned)managed.card,
							address, *ret_bytes, access))
			return SLU_MEMORY_PINNED;
		*ret_card = &slu_driver.cards[managed.card];
		return SLU_MEMORY_DEVICE;
	}
	slu_driver_lock();
	if (slu_window_has(&slu_driver.window, address)) {
		const struct slu_mapping *m = slu_window_mapping(&slu_driver.window, address);

		kind = SLU_MEMORY_INVALID;
		if (m) {
			kind = m->phys->card ? SLU_MEMORY_DEVICE : SLU_MEMORY_PINNED;
			*ret_card = m->phys->card ? m->phys->card : card;
			*ret_bytes = SLU_MIN(bytes, m->base + m->phys->bytes - address);
			if ((m->access[(*ret_card)->index] & access) != access)
				kind = SLU_MEMORY_INVALID;
		}
	} else {
		s = slu_memory_host_from_locked(address);
		if (s && s->base <= address) {
			kind = SLU_MEMORY_PINNED;
			*ret_bytes = SLU_MIN(bytes, s->base + s->bytes - address);
		} else if (s) {
			*ret_bytes = SLU_MIN(bytes, s->base - address);
		}
	}
	slu_driver_unlock();
	return kind;
}

bool slu_memory_is_usable(struct slu_card *card, uint64_t address, uint64_t bytes, uint8_t access,
			  bool *ret_is_pageable)
{
	struct slu_card *whose;
	bool is_pageable = false;
	uint64_t n;

	if (bytes > UINT64_MAX - address)
		return false;
	for (uint64_t at = address; at < address + bytes; at += n) {
		switch (slu_memory_piece(card, at, address + bytes - at, access, &n, &whose)) {
		case SLU_MEMORY_INVALID:
			return false;
		case SLU_MEMORY_PAGEABLE:
			is_pageable = true;
			break;
		default:
			break;
		}
	}
	*ret_is_pageable = is_pageable;
	return true;
}
