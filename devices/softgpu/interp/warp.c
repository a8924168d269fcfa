/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A warp: which of its groups runs, and for how long. As long as all 32 lanes go the same way
 * there is one group and the loop is a chain of indirect calls; everything else is the price of
 * lanes that part.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <immintrin.h>

#include "softgpu/interp/code.h"

int dev_interp_warp_init(struct dev_interp_warp *w, struct dev_interp_block *block, unsigned index)
{
	const unsigned *shape = block->launch->block;

	w->block = block;
	w->index = index;
	w->team = 1;
	for (unsigned i = 0; i < DEV_INTERP_LANES; i++) {
		unsigned t = index * DEV_INTERP_LANES + i;

		w->tid[0][i] = t % shape[0];
		w->tid[1][i] = t / shape[0] % shape[1];
		w->tid[2][i] = t / shape[0] / shape[1];
	}
	w->root = dev_interp_frame_get(w, block->code);
	return w->root ? 0 : -ENOMEM;
}

void dev_interp_warp_deinit(struct dev_interp_warp *w)
{
	dev_interp_frame_free_all(w);
}

void dev_interp_warp_begin(struct dev_interp_warp *w)
{
	unsigned first = w->index * DEV_INTERP_LANES;
	unsigned n = w->block->n_threads - first;

	w->live = n >= DEV_INTERP_LANES ? DEV_INTERP_ALL : (UINT32_C(1) << n) - 1;
	w->root->lanes = w->live;
	dev_interp_frame_fill(w, w->root);
	w->groups[0] = (struct dev_interp_group){
		.mask = w->live,
		.at = w->block->code->insns,
		.frame = w->root,
	};
	w->n_groups = 1;
	w->team = 1;
	w->is_alone = true;
}

struct dev_interp_group *dev_interp_warp_park(struct dev_interp_warp *w,
					      const struct dev_interp_insn *at)
{
	struct dev_interp_group *g = &w->groups[w->n_groups++];

	assert(w->n_groups <= DEV_INTERP_LANES);
	*g = (struct dev_interp_group){
		.mask = w->mask,
		.at = at,
		.frame = w->frame,
		.ran = w->slice,
	};
	return g;
}

/* Groups at the same place of the same call are one. */
static void warp_merge(struct dev_interp_warp *w)
{
	for (unsigned i = 0; i < w->n_groups; i++)
		for (unsigned k = i + 1; k < w->n_groups;) {
			struct dev_interp_group *a = &w->groups[i], *b = &w->groups[k];

			if (a->at != b->at || a->frame != b->frame ||
			    a->state == DEV_INTERP_GROUP_BARRIER ||
			    b->state == DEV_INTERP_GROUP_BARRIER ||
			    (a->state == DEV_INTERP_GROUP_SYNC && b->state == a->state &&
			     a->members != b->members)) {
				k++;
				continue;
			}
			/* one that waits goes back and asks again, now with the other's lanes */
			a->mask |= b->mask;
			a->state = DEV_INTERP_GROUP_RUN;
			w->groups[k] = w->groups[--w->n_groups];
		}
}

static bool is_before(const struct dev_interp_group *a, const struct dev_interp_group *b)
{
	if (a->frame->depth != b->frame->depth)
		return a->frame->depth > b->frame->depth;
	if (a->frame != b->frame)
		return a->frame < b->frame;
	return a->at < b->at;
}

static struct dev_interp_group *warp_choose(struct dev_interp_warp *w, bool is_fair)
{
	struct dev_interp_group *best = NULL;

	for (unsigned i = 0; i < w->n_groups; i++) {
		struct dev_interp_group *g = &w->groups[i];

		if (g->state != DEV_INTERP_GROUP_RUN)
			continue;
		if (!best || (is_fair ? g->ran < best->ran : is_before(g, best)))
			best = g;
	}
	if (best)
		return best;
	/* nobody can come any more: those who wait for lanes of the warp go on without them */
	for (unsigned i = 0; i < w->n_groups; i++)
		if (w->groups[i].state == DEV_INTERP_GROUP_SYNC)
			return &w->groups[i];
	return NULL;
}

/* The group is the one that runs; lines are for whole warps only. */
static const struct dev_interp_insn *warp_resume(struct dev_interp_warp *w,
						 const struct dev_interp_group *g)
{
	uint32_t csr = g->frame->code->csr;

	w->mask = g->mask;
	w->frame = g->frame;
	w->rows = g->frame->rows;
	w->lines = g->frame->lines;
	w->preds = g->frame->preds;
	w->event = DEV_INTERP_EVENT_NONE;
	w->limit = NULL;
	w->others = 0;
	w->slice++;
	if (g->mask == DEV_INTERP_ALL)
		g->frame->has_lines = true;
	else if (g->frame->has_lines)
		dev_interp_frame_flatten(g->frame);
	if (*w->block->csr != csr) {
		_mm_setcsr(csr);
		*w->block->csr = csr;
	}
	return g->at;
}

/*
 * Do both wait for the same lanes, in instructions that the ISA takes for one? Matrices want one
 * place in the code as well.
 */
static bool is_partner(const struct dev_interp_warp *w, const struct dev_interp_group *a,
		       const struct dev_interp_group *b)
{
	const struct slu_ptx_form *form = a->at->source->form;

	return b->state == DEV_INTERP_GROUP_SYNC && !((a->members ^ b->members) & w->live) &&
	       form->row->family != SLU_PTX_FAMILY_MATRIX &&
	       !strcmp(form->text, b->at->source->form->text);
}

/* Executes the instruction of one group that waits, together with the lanes @all. */
static void warp_join(struct dev_interp_warp *w, struct dev_interp_group *g, uint32_t all)
{
	const struct dev_interp_insn *at = warp_resume(w, g);

	w->is_released = true;
	w->others = all & ~g->mask;
	g->at = at->run.some(w, at);
	g->state = DEV_INTERP_GROUP_RUN;
	w->others = 0;
}

/*
 * Groups whose lanes wait for each other at several places of the code, or for lanes that have
 * ended, execute their instructions before any of them goes on: what they brought is then whole.
 */
static void warp_meet(struct dev_interp_warp *w)
{
	for (unsigned i = 0; i < w->n_groups; i++) {
		struct dev_interp_group g = w->groups[i];
		uint32_t all = g.mask;

		if (g.state != DEV_INTERP_GROUP_SYNC)
			continue;
		for (unsigned k = 0; k < w->n_groups; k++)
			if (is_partner(w, &g, &w->groups[k]))
				all |= w->groups[k].mask;
		if (g.members & w->live & ~all)
			continue;
		if (all == g.mask) {
			w->groups[i].state = DEV_INTERP_GROUP_RUN;
			continue;
		}
		for (unsigned k = 0; k < w->n_groups; k++)
			if (is_partner(w, &g, &w->groups[k]))
				warp_join(w, &w->groups[k], all);
	}
}

/* Return: where the chosen group goes on, or NULL if there is none that can run. */
static const struct dev_interp_insn *warp_schedule(struct dev_interp_warp *w, bool is_fair)
{
	struct dev_interp_group *best, g;

	if (w->n_groups > 1)
		warp_merge(w);
	warp_meet(w);
	best = warp_choose(w, is_fair);
	if (!best)
		return NULL;
	g = *best;
	*best = w->groups[--w->n_groups];
	/* what a group spent counts on while lanes part and meet, or two could spin for ever */
	if (!w->n_groups)
		w->budget = DEV_INTERP_SLICE;
	else if (w->is_alone || !w->budget)
		w->budget = DEV_INTERP_BUDGET;
	w->is_alone = !w->n_groups;
	warp_resume(w, &g);
	w->is_released = g.state == DEV_INTERP_GROUP_SYNC;
	for (unsigned i = 0; !is_fair && i < w->n_groups; i++) {
		const struct dev_interp_group *o = &w->groups[i];

		if (o->frame == g.frame && o->state != DEV_INTERP_GROUP_BARRIER && o->at > g.at &&
		    (!w->limit || o->at < w->limit))
			w->limit = o->at;
	}
	return g.at;
}

bool dev_interp_warp_is_waiting(const struct dev_interp_warp *w)
{
	for (unsigned i = 0; i < w->n_groups; i++)
		if (w->groups[i].state != DEV_INTERP_GROUP_BARRIER)
			return false;
	return true;
}

static bool is_whole(const struct dev_interp_warp *w)
{
	return w->n_groups == 1 && w->groups[0].state == DEV_INTERP_GROUP_RUN &&
	       w->groups[0].mask == DEV_INTERP_ALL;
}

/* The whole warp is one group: nothing to choose. Return: as dev_interp_warp_run(). */
static bool run_whole(struct dev_interp_warp *w)
{
	const struct dev_interp_insn *in;

	do {
		w->n_groups = 0;
		w->budget = DEV_INTERP_SLICE;
		w->is_alone = true;
		w->is_released = false;
		in = warp_resume(w, &w->groups[0]);
		while (in)
			in = in->run.all(w, in);
	} while (w->event == DEV_INTERP_EVENT_RESCHEDULE && is_whole(w));
	return w->event != DEV_INTERP_EVENT_FAULT;
}

bool dev_interp_warp_run(struct dev_interp_warp *w)
{
	const struct dev_interp_insn *in;
	bool is_fair = false;
	unsigned n_slices = 0;

	if (is_whole(w) && (!run_whole(w) || is_whole(w)))
		return w->event != DEV_INTERP_EVENT_FAULT;
	while ((in = warp_schedule(w, is_fair))) {
		if (w->mask == DEV_INTERP_ALL) {
			while (in)
				in = in->run.all(w, in);
		} else if (!w->limit) {
			while (in)
				in = in->run.some(w, in);
		} else {
			do {
				in = in->run.some(w, in);
			} while (in && in < w->limit);
			if (in) {
				dev_interp_warp_park(w, in);
				w->event = DEV_INTERP_EVENT_RESCHEDULE;
			}
		}
		if (w->event == DEV_INTERP_EVENT_FAULT)
			return false;
		is_fair = w->event == DEV_INTERP_EVENT_YIELD;
		/* one round of all groups, then the other warps */
		if (is_fair && ++n_slices > w->n_groups)
			return true;
	}
	return true;
}
