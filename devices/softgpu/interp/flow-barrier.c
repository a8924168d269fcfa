/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers of a block. A group that arrives is parked behind the instruction; the last one to
 * arrive, or lanes that end and are not waited for any more, let all of them go on.
 */
#include "softgpu/interp/code.h"

/* Writes what a bar.red gives to the lanes of a group that waited at it. */
static void barrier_deliver(struct dev_interp_group *g, const struct dev_interp_barrier *bar)
{
	const struct dev_interp_insn *in = g->at - 1;
	const struct slu_ptx_form *form = in->source->form;
	uint32_t bits;

	if (!slu_ptx_form_has(form, SLU_PTX_MOD_red))
		return;
	if (slu_ptx_form_has(form, SLU_PTX_MOD_popc)) {
		uint32_t *d = (uint32_t *)(g->frame->rows + in->d);

		for (uint32_t m = g->mask; m; m &= m - 1)
			d[__builtin_ctz(m)] = bar->n_true;
		return;
	}
	bits = slu_ptx_form_has(form, SLU_PTX_MOD_and) ? bar->n_true == bar->n_voted
						       : bar->n_true > 0;
	g->frame->preds[in->p] = (g->frame->preds[in->p] & ~g->mask) | (bits ? g->mask : 0);
}

static void barrier_release(struct dev_interp_block *b, unsigned id)
{
	for (unsigned i = 0; i < b->n_warps; i++)
		for (unsigned k = 0; k < b->warps[i].n_groups; k++) {
			struct dev_interp_group *g = &b->warps[i].groups[k];

			if (g->state != DEV_INTERP_GROUP_BARRIER || g->barrier != id)
				continue;
			barrier_deliver(g, &b->barriers[id]);
			g->state = DEV_INTERP_GROUP_RUN;
		}
	b->barriers[id] = (struct dev_interp_barrier){ 0 };
	b->met &= ~(UINT32_C(1) << id);
}

static void check_barrier(struct dev_interp_block *b, unsigned id)
{
	struct dev_interp_barrier *bar = &b->barriers[id];

	if (bar->arrived && bar->arrived >= (bar->expected ? bar->expected : b->n_live))
		barrier_release(b, id);
}

void dev_interp_barrier_check(struct dev_interp_block *b)
{
	for (uint32_t left = b->met; left; left &= left - 1)
		check_barrier(b, (unsigned)__builtin_ctz(left));
}

/* Do all warps of the team wait for the same, without a vote? */
static bool is_for_team(const struct dev_interp_warp *w, const struct dev_interp_insn *in)
{
	const uint32_t *id = (const uint32_t *)(w->rows + in->a);
	const uint32_t *count = (const uint32_t *)(w->rows + in->b);

	if (w->team > 1 && slu_ptx_form_has(in->source->form, SLU_PTX_MOD_red))
		return false;
	for (unsigned k = 1; k < w->team; k++)
		if (id[k * DEV_INTERP_STRIP / 4] != *id ||
		    count[k * DEV_INTERP_STRIP / 4] != *count)
			return false;
	return true;
}

static const struct dev_interp_insn *barrier_run(struct dev_interp_warp *w,
						 const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	unsigned lane = (unsigned)__builtin_ctz(w->mask);
	uint32_t id = ((const uint32_t *)(w->rows + in->a))[lane];
	uint32_t count = in->n > 1 ? ((const uint32_t *)(w->rows + in->b))[lane] : 0;
	bool is_arrive = slu_ptx_form_has(form, SLU_PTX_MOD_arrive);
	struct dev_interp_barrier *bar;
	unsigned n = w->team * (unsigned)__builtin_popcount(w->mask);

	if (!is_for_team(w, in))
		return dev_interp_team_part(w, in);
	if (id >= DEV_INTERP_N_BARRIERS)
		return dev_interp_fault(w, in, DEV_INTERP_FAULT_BARRIER, lane, id, 0, false);
	bar = &w->block->barriers[id];
	if (slu_ptx_form_has(form, SLU_PTX_MOD_red)) {
		uint32_t votes = w->mask & (w->preds[in->s] ^ in->s_flip);

		bar->n_true += (uint32_t)__builtin_popcount(votes);
		bar->n_voted += n;
	}
	bar->arrived += n;
	w->block->met |= UINT32_C(1) << id;
	bar->expected = count;
	if (!is_arrive) {
		struct dev_interp_group *g = dev_interp_warp_park(w, in + 1);

		g->state = DEV_INTERP_GROUP_BARRIER;
		g->barrier = id;
		w->event = DEV_INTERP_EVENT_RESCHEDULE;
	}
	check_barrier(w->block, id);
	return is_arrive ? in + 1 : NULL;
}

const struct dev_interp_handler dev_interp_barrier = { barrier_run, barrier_run, true };
