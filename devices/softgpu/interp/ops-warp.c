/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of a warp that exchange values. The forms with .sync name the lanes that take part; a
 * group that lacks some of them waits. Those without work on the lanes that happen to be there.
 */
#include "softgpu/interp/isa.h"

static uint64_t lane_of(const struct dev_interp_warp *w, uint32_t row, bool is_wide, unsigned i)
{
	return is_wide ? ((const uint64_t *)ROW(w, row))[i] : ((const uint32_t *)ROW(w, row))[i];
}

/*
 * Waits for the lanes that the row @members names in a .sync form. What lanes bring along is kept
 * for those that wait for them at another place of the code, where it is in other registers.
 */
static bool warp_gather(struct dev_interp_warp *w, const struct dev_interp_insn *in,
			uint32_t members, bool is_wide)
{
	bool is_vote = in->source->form->opcode == SLU_PTX_OP_vote;

	if (!slu_ptx_form_has(in->source->form, SLU_PTX_MOD_sync))
		return true;
	if (w->mask != DEV_INTERP_ALL && !w->is_released) {
		MASKED_LANES(w->mask)
		w->brought[i] = is_vote ? 0 : lane_of(w, in->a, is_wide, i);
		if (is_vote)
			w->brought_preds = (w->brought_preds & ~w->mask) |
					   (w->mask & (w->preds[in->s] ^ in->s_flip));
	}
	return dev_interp_flow_gather(w, in, ROW(w, members));
}

/* What a lane that takes part brings; nothing comes from others, which cards make a 0 of. */
static uint64_t brought_by(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
			   bool is_wide, unsigned lane)
{
	if (w->mask >> lane & 1)
		return lane_of(w, in->a, is_wide, lane);
	return w->others >> lane & 1 ? w->brought[lane] : 0;
}

static const struct dev_interp_insn *shfl_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *b = ROW(w, in->b), *c = ROW(w, in->c);
	uint32_t *d = ROW(w, in->d);
	uint32_t values[DEV_INTERP_LANES], in_range = 0;
	bool is_up = slu_ptx_form_has(form, SLU_PTX_MOD_up);
	bool is_down = slu_ptx_form_has(form, SLU_PTX_MOD_down);
	bool is_bfly = slu_ptx_form_has(form, SLU_PTX_MOD_bfly);

	if (!warp_gather(w, in, in->e, false))
		return NULL;
	MASKED_LANES(w->mask)
	{
		uint32_t segment = c[i] >> 8 & 31, clamp = c[i] & 31, by = b[i] & 31;
		uint32_t most = (i & segment) | (clamp & ~segment);
		uint32_t least = i & segment;
		int32_t from;
		bool is_in;

		if (is_up) {
			from = (int32_t)(i - by);
			is_in = from >= (int32_t)most;
		} else if (is_down) {
			from = (int32_t)(i + by);
			is_in = from <= (int32_t)most;
		} else if (is_bfly) {
			from = (int32_t)(i ^ by);
			is_in = from <= (int32_t)most;
		} else {
			from = (int32_t)(least | (by & ~segment));
			is_in = from <= (int32_t)most;
		}
		if (!is_in)
			from = (int32_t)i;
		values[i] = (uint32_t)brought_by(w, in, false, (unsigned)from);
		in_range |= (uint32_t)is_in << i;
	}
	MASKED_LANES(w->mask) d[i] = values[i];
	w->preds[in->p] = (w->preds[in->p] & ~w->mask) | in_range;
	return in + 1;
}

static const struct dev_interp_handler shfl = { shfl_run, shfl_run };

/* Lanes that are together may belong to several sets, each with a mask of its own. */
static const struct dev_interp_insn *vote_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *members = ROW(w, in->a);
	bool is_sync = slu_ptx_form_has(form, SLU_PTX_MOD_sync);
	bool is_ballot = slu_ptx_form_has(form, SLU_PTX_MOD_ballot);
	bool is_all = slu_ptx_form_has(form, SLU_PTX_MOD_all);
	bool is_any = slu_ptx_form_has(form, SLU_PTX_MOD_any);
	uint32_t *d = ROW(w, in->d);
	uint32_t votes, results = 0;

	if (!warp_gather(w, in, in->a, false))
		return NULL;
	votes = (w->mask & (w->preds[in->s] ^ in->s_flip)) | (w->others & w->brought_preds);
	MASKED_LANES(w->mask)
	{
		uint32_t voters = (w->mask | w->others) & (is_sync ? members[i] : DEV_INTERP_ALL);
		uint32_t ballot = voters & votes;
		bool result = is_all   ? ballot == voters
			      : is_any ? ballot != 0
				       : ballot == voters || !ballot;

		if (is_ballot)
			d[i] = ballot;
		results |= (uint32_t)result << i;
	}
	if (!is_ballot)
		w->preds[in->p] = (w->preds[in->p] & ~w->mask) | results;
	return in + 1;
}

static const struct dev_interp_handler vote = { vote_run, vote_run };

static const struct dev_interp_insn *match_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	bool is_wide = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 8;
	bool is_all = slu_ptx_form_has(form, SLU_PTX_MOD_all);
	const uint32_t *members = ROW(w, in->b);
	uint32_t *d = ROW(w, in->d);
	uint32_t equal[DEV_INTERP_LANES], all = 0;

	if (!warp_gather(w, in, in->b, is_wide))
		return NULL;
	MASKED_LANES(w->mask)
	{
		uint64_t mine = lane_of(w, in->a, is_wide, i);
		uint32_t who = members[i] & (w->mask | w->others);

		equal[i] = 0;
		for (uint32_t m = who; m; m &= m - 1) {
			unsigned k = (unsigned)__builtin_ctz(m);

			if (brought_by(w, in, is_wide, k) == mine)
				equal[i] |= UINT32_C(1) << k;
		}
		if (is_all) {
			if (equal[i] == who)
				all |= UINT32_C(1) << i;
			else
				equal[i] = 0;
		}
	}
	MASKED_LANES(w->mask) d[i] = equal[i];
	if (is_all)
		w->preds[in->p] = (w->preds[in->p] & ~w->mask) | all;
	return in + 1;
}

static const struct dev_interp_handler match = { match_run, match_run };

/* Of what the lanes @who bring. */
static uint32_t warp_reduce(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
			    uint32_t who)
{
	const struct slu_ptx_form *form = in->source->form;
	bool is_signed = form->types[0] == SLU_PTX_TYPE_S32;
	uint32_t result = 0;
	bool is_first = true;

	MASKED_LANES(who)
	{
		uint32_t x = (uint32_t)brought_by(w, in, false, i);
		bool is_less = is_signed ? (int32_t)x < (int32_t)result : x < result;

		if (is_first)
			result = x;
		else if (slu_ptx_form_has(form, SLU_PTX_MOD_add))
			result += x;
		else if (slu_ptx_form_has(form, SLU_PTX_MOD_min))
			result = is_less ? x : result;
		else if (slu_ptx_form_has(form, SLU_PTX_MOD_max))
			result = is_less ? result : x;
		else if (slu_ptx_form_has(form, SLU_PTX_MOD_and))
			result &= x;
		else if (slu_ptx_form_has(form, SLU_PTX_MOD_or))
			result |= x;
		else
			result ^= x;
		is_first = false;
	}
	return result;
}

static const struct dev_interp_insn *redux_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const uint32_t *members = ROW(w, in->b);
	uint32_t *d = ROW(w, in->d), results[DEV_INTERP_LANES];

	if (!warp_gather(w, in, in->b, false))
		return NULL;
	for (uint32_t left = w->mask; left;) {
		uint32_t set = members[__builtin_ctz(left)], lanes = 0;
		uint32_t result = warp_reduce(w, in, set & (w->mask | w->others));

		MASKED_LANES(left)
		{
			if (members[i] != set)
				continue;
			results[i] = result;
			lanes |= UINT32_C(1) << i;
		}
		left &= ~lanes;
	}
	MASKED_LANES(w->mask) d[i] = results[i];
	return in + 1;
}

static const struct dev_interp_handler redux = { redux_run, redux_run };

static const struct dev_interp_insn *activemask_run(struct dev_interp_warp *w,
						    const struct dev_interp_insn *in)
{
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask) d[i] = w->mask;
	return in + 1;
}

static const struct dev_interp_handler activemask = { activemask_run, activemask_run };

const struct dev_interp_handler *DEV_ISA(warp_bind)(const struct slu_ptx_form *form)
{
	switch (form->opcode) {
	case SLU_PTX_OP_shfl:
		return &shfl;
	case SLU_PTX_OP_vote:
		return &vote;
	case SLU_PTX_OP_match:
		return &match;
	case SLU_PTX_OP_redux:
		return &redux;
	case SLU_PTX_OP_activemask:
		return &activemask;
	default:
		return NULL;
	}
}
