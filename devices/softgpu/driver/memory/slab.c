/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/slab.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "base/util.h"

#define STEP 512

struct dev_slab {
	LIST_ENTRY(dev_slab) link;
	struct dev_card *card;
	uint64_t address;
	unsigned n_steps;
	unsigned n_used;
	bool is_used[]; /* one a step */
};

static LIST_HEAD(, dev_slab) slabs = LIST_HEAD_INITIALIZER(slabs);

bool dev_slab_new(struct dev_card *card, uint64_t address)
{
	unsigned n = (unsigned)(card->granule_bytes / STEP);
	struct dev_slab *slab = calloc(1, sizeof(*slab) + n);

	if (!slab)
		return false;
	slab->card = card;
	slab->address = address;
	slab->n_steps = n;
	LIST_INSERT_HEAD(&slabs, slab, link);
	return true;
}

static unsigned steps_of(uint64_t bytes)
{
	return (unsigned)(slu_round_up(SLU_MAX(bytes, UINT64_C(1)), STEP) / STEP);
}

static void slab_mark(struct dev_slab *slab, unsigned first, unsigned n, bool on)
{
	for (unsigned i = first; i < first + n; i++)
		slab->is_used[i] = on;
	slab->n_used = on ? slab->n_used + n : slab->n_used - n;
}

struct dev_slab *dev_slab_take(struct dev_card *card, uint64_t bytes, uint64_t *ret_address)
{
	unsigned n = steps_of(bytes), length;
	struct dev_slab *slab;

	LIST_FOREACH (slab, &slabs, link) {
		if (slab->card != card || slab->n_steps - slab->n_used < n)
			continue;
		length = 0;
		for (unsigned i = 0; i < slab->n_steps; i++) {
			length = slab->is_used[i] ? 0 : length + 1;
			if (length < n)
				continue;
			slab_mark(slab, i + 1 - n, n, true);
			*ret_address = slab->address + (uint64_t)(i + 1 - n) * STEP;
			return slab;
		}
	}
	return NULL;
}

bool dev_slab_give(struct dev_slab *slab, uint64_t address, uint64_t bytes, uint64_t *ret_address)
{
	slab_mark(slab, (unsigned)((address - slab->address) / STEP), steps_of(bytes), false);
	if (slab->n_used)
		return false;
	*ret_address = slab->address;
	LIST_REMOVE(slab, link);
	free(slab);
	return true;
}
