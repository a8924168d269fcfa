/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams: neighbouring warps of a block that are whole and at the same instruction of the kernel
 * run in step, led by the first of them. What an instruction costs beside its arithmetic is then
 * paid once for all, which is most of what short instructions cost.
 *
 *   alone -> team    [form]   all at the same place; their lines become one where they go on from
 *                             warp to warp, and rows where they do not
 *   team  -> alone   [part]   a branch or a guard that they do not agree about, a call
 *   team  -> alone   [end]    the warps have ended
 *
 * While there is a team its leader's group stands for all of them; the others have none, so that
 * nobody runs them. The team's lines are the leader's. Handlers that know teams do their work for
 * leader->team strips; those that do not are called for one warp after the other, or the team
 * parts in front of them if they decide where a warp goes on. Blocks whose teams part again and
 * again do without.
 */
#include "softgpu/interp/line.h"

/* partings that are borne in the beginning, and for each block that has begun */
#define PATIENCE	   64u
#define PATIENCE_PER_BLOCK 4u

static struct dev_interp_line *line_of(const struct dev_interp_warp *w, uint32_t row)
{
	return dev_interp_line(w->root->lines, row);
}

/* Do the lines of @n warps, seen as one, go on from warp to warp? */
static bool goes_on(const struct dev_interp_warp *w, unsigned n, uint32_t row, uint8_t *ret_kind)
{
	const struct dev_interp_line *first = line_of(w, row);
	uint8_t kind = first->kind;

	if (!(kind & DEV_INTERP_LINE))
		return false;
	for (unsigned k = 1; k < n; k++) {
		const struct dev_interp_line *line = line_of(&w[k], row);

		if (!(line->kind & DEV_INTERP_LINE) || line->step != first->step ||
		    line->jump != first->jump || line->base != dev_interp_line_base(first, k))
			return false;
		kind |= line->kind;
	}
	*ret_kind = kind;
	return true;
}

static unsigned size_of_team(const struct dev_interp_warp *w)
{
	unsigned n_whole = w->block->n_threads / DEV_INTERP_LANES;
	unsigned n = n_whole > w->index ? n_whole - w->index : 0;

	return n < DEV_INTERP_TEAM ? n : DEV_INTERP_TEAM;
}

void dev_interp_team_init(struct dev_interp_block *b)
{
	const struct dev_interp_code *code = b->code;
	uint8_t kind;

	b->patience = PATIENCE;
	b->may_team = b->n_warps > 1;
	for (unsigned i = 0; i < b->n_warps; i += DEV_INTERP_TEAM) {
		const struct dev_interp_warp *w = &b->warps[i];

		for (uint32_t k = 0; b->may_team && k < code->n_fills; k++)
			if (code->fills[k].kind == DEV_INTERP_FILL_SREG &&
			    line_of(w, code->fills[k].row)->kind &&
			    !goes_on(w, size_of_team(w), code->fills[k].row, &kind))
				b->may_team = false;
	}
}

void dev_interp_team_begin(struct dev_interp_block *b)
{
	b->patience = SLU_MIN(b->patience + PATIENCE_PER_BLOCK, PATIENCE);
}

static bool is_ready(const struct dev_interp_warp *w, const struct dev_interp_group *like)
{
	const struct dev_interp_group *g = &w->groups[0];

	return w->n_groups == 1 && g->state == DEV_INTERP_GROUP_RUN && g->mask == DEV_INTERP_ALL &&
	       g->frame == w->root && g->at == like->at;
}

static void join_lines(struct dev_interp_warp *w, unsigned n)
{
	const struct dev_interp_code *code = w->block->code;
	bool is_new = w->groups[0].at == code->insns;

	for (uint32_t i = 0; i < code->n_liners; i++) {
		uint32_t row = code->liners[i].row;
		uint8_t kind = 0;

		/* at the beginning of the kernel registers hold nothing yet */
		if (!is_new && !goes_on(w, n, row, &kind))
			for (unsigned k = 0; k < n; k++)
				dev_interp_line_materialize(w[k].root->lines, w[k].root->rows, row,
							    1);
		line_of(w, row)->kind = kind;
	}
}

void dev_interp_team_form(struct dev_interp_warp *w)
{
	unsigned n = size_of_team(w);

	if (w->index % DEV_INTERP_TEAM || n < 2 || !w->block->patience)
		return;
	for (unsigned k = 0; k < n; k++)
		if (!is_ready(&w[k], &w->groups[0]))
			return;
	join_lines(w, n);
	w->team = n;
	for (unsigned k = 1; k < n; k++) {
		w[k].n_groups = 0;
		w[k].frame = w[k].root;
		w[k].rows = w[k].root->rows;
		w[k].lines = w[k].root->lines;
		w[k].preds = w[k].root->preds;
		w[k].mask = DEV_INTERP_ALL;
		w[k].is_released = false;
	}
}

static void part_lines(struct dev_interp_warp *w)
{
	const struct dev_interp_code *code = w->block->code;

	for (uint32_t i = 0; i < code->n_liners; i++) {
		const struct dev_interp_line *first = line_of(w, code->liners[i].row);

		for (unsigned k = 1; k < w->team; k++) {
			struct dev_interp_line *line = line_of(&w[k], code->liners[i].row);

			line->base = dev_interp_line_base(first, k);
			line->step = first->step;
			line->jump = first->jump;
			line->kind = first->kind;
		}
	}
}

const struct dev_interp_insn *dev_interp_team_part(struct dev_interp_warp *w,
						   const struct dev_interp_insn *at)
{
	part_lines(w);
	for (unsigned k = 0; k < w->team; k++) {
		w[k].root->has_lines = true;
		dev_interp_warp_park(&w[k], at);
	}
	w->team = 1;
	w->block->patience -= w->block->patience > 0;
	w->event = DEV_INTERP_EVENT_RESCHEDULE;
	return NULL;
}

const struct dev_interp_insn *
dev_interp_team_each(struct dev_interp_warp *w, const struct dev_interp_insn *in,
		     const struct dev_interp_insn *(*some)(struct dev_interp_warp *,
							   const struct dev_interp_insn *))
{
	for (unsigned k = 0; k < w->team; k++)
		if (!some(&w[k], in)) {
			w->event = w[k].event;
			return NULL;
		}
	return in + 1;
}

static const struct dev_interp_insn *team_each(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	return w->team > 1 ? dev_interp_team_each(w, in, in->run.some) : in->alone(w, in);
}

static const struct dev_interp_insn *team_part(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	return w->team > 1 ? dev_interp_team_part(w, in) : in->alone(w, in);
}

void dev_interp_team_bind(struct dev_interp_insn *in, bool is_flow)
{
	if (in->run.knows_teams)
		return;
	in->alone = in->run.all;
	in->run.all = is_flow ? team_part : team_each;
	in->run.knows_teams = true;
}
