/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/arena.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/fault.h"

#define STEP UINT64_C(512)

struct dev_arena {
	LIST_ENTRY(dev_arena) link;
	struct dev_card *card;
	uint64_t address;
	uint64_t bytes;	      /* whole granules */
	uint64_t taken_bytes; /* from the start on, ever: what was given back is not taken again */
	unsigned n_taken;
	unsigned n_uses;
	bool has_memory;
};

static LIST_HEAD(, dev_arena) arenas = LIST_HEAD_INITIALIZER(arenas);

static struct dev_arena *arena_find(const struct dev_card *card, uint64_t bytes)
{
	struct dev_arena *arena;

	LIST_FOREACH (arena, &arenas, link)
		if (arena->card == card && arena->bytes - arena->taken_bytes >= bytes)
			return arena;
	return NULL;
}

static struct dev_arena *arena_new(struct dev_card *card, uint64_t bytes)
{
	struct dev_arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		return NULL;
	arena->card = card;
	arena->bytes = bytes;
	if (dev_window_reserve(&dev_driver.window, bytes, 0, 0, &arena->address)) {
		free(arena);
		return NULL;
	}
	LIST_INSERT_HEAD(&arenas, arena, link);
	return arena;
}

int dev_arena_take(struct dev_card *card, uint64_t bytes, struct dev_arena **ret_arena,
		   uint64_t *ret_address)
{
	const uint64_t granule = card->granule_bytes;
	const bool is_small = bytes <= granule / 2;
	struct dev_arena *arena = NULL;

	bytes = slu_round_up(bytes, is_small ? STEP : granule);
	if (is_small)
		arena = arena_find(card, bytes);
	if (!arena)
		arena = arena_new(card, slu_round_up(bytes, granule));
	if (!arena)
		return slu_error(-ENOMEM);
	*ret_address = arena->address + arena->taken_bytes;
	arena->taken_bytes += bytes;
	arena->n_taken++;
	*ret_arena = arena;
	return 0;
}

static void arena_empty(struct dev_arena *arena)
{
	if (arena->has_memory)
		dev_window_unmap(&dev_driver.window, arena->address, arena->bytes);
	arena->has_memory = false;
}

void dev_arena_give(struct dev_arena *arena)
{
	if (--arena->n_taken)
		return;
	assert(!arena->n_uses);
	arena_empty(arena);
	dev_window_release(&dev_driver.window, arena->address, arena->bytes);
	LIST_REMOVE(arena, link);
	free(arena);
}

static int arena_fill(struct dev_arena *arena)
{
	struct dev_window *window = &dev_driver.window;
	struct dev_phys *phys;
	int r;

	if (dev_fault_refuses(arena->bytes))
		return DEV_CARD_E_FULL;
	r = dev_phys_new(arena->card, arena->bytes, &phys);
	if (r)
		return slu_fold(r);
	r = dev_window_map(window, arena->address, phys);
	dev_phys_keep_mapped(phys);
	if (r)
		return slu_error(-ENOMEM);
	dev_window_set_access(window, arena->address, arena->bytes, (int)arena->card->index,
			      DEV_WINDOW_READ | DEV_WINDOW_WRITE);
	arena->has_memory = true;
	return 0;
}

int dev_arena_use(struct dev_arena *arena)
{
	int r = arena->has_memory ? 0 : arena_fill(arena);

	if (!r)
		arena->n_uses++;
	return r;
}

void dev_arena_unuse(struct dev_arena *arena)
{
	assert(arena->n_uses);
	arena->n_uses--;
}

bool dev_arena_trim(const struct dev_card *card)
{
	struct dev_arena *arena;
	bool any = false;

	LIST_FOREACH (arena, &arenas, link)
		if (arena->card == card && arena->has_memory && !arena->n_uses) {
			arena_empty(arena);
			any = true;
		}
	return any;
}

uint64_t dev_arena_bytes(const struct dev_card *card)
{
	const struct dev_arena *arena;
	uint64_t bytes = 0;

	LIST_FOREACH (arena, &arenas, link)
		if (arena->card == card && arena->has_memory)
			bytes += arena->bytes;
	return bytes;
}
