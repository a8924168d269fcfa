/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of a warp that exchange values. The forms with .sync name the lanes that take part; a
 * group that lacks some of them waits. Those without work on the lanes that happen to be there.
 */
#include "softgpu/interp/isa.h"

/* The operand that names the lanes: the last one of a .sync form. */
static bool gather(struct slu_interp_warp *w, const struct slu_interp_insn *in, uint32_t row)
{
	const uint32_t *members = ROW(w, row);

	if (!slu_ptx_form_has(in->source->form, SLU_PTX_MOD_sync))
		return true;
	return slu_interp_gather(w, in, members[__builtin_ctz(w->mask)]);
}

static const struct slu_interp_insn *shfl_run(struct slu_interp_warp *w,
					      const struct slu_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *a = ROW(w, in->a), *b = ROW(w, in->b), *c = ROW(w, in->c);
	uint32_t *d = ROW(w, in->d);
	uint32_t values[SLU_INTERP_LANES], in_range = 0;
	bool is_up = slu_ptx_form_has(form, SLU_PTX_MOD_up);
	bool is_down = slu_ptx_form_has(form, SLU_PTX_MOD_down);
	bool is_bfly = slu_ptx_form_has(form, SLU_PTX_MOD_bfly);

	if (!gather(w, in, in->e))
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
		values[i] = a[from & 31];
		in_range |= (uint32_t)is_in << i;
	}
	MASKED_LANES(w->mask) d[i] = values[i];
	w->preds[in->p] = (w->preds[in->p] & ~w->mask) | in_range;
	return in + 1;
}

static const struct slu_interp_handler shfl = { shfl_run, shfl_run };

static const struct slu_interp_insn *vote_run(struct slu_interp_warp *w,
					      const struct slu_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *members = ROW(w, in->a);
	uint32_t *d = ROW(w, in->d);
	uint32_t voters, ballot;
	bool result;

	if (!gather(w, in, in->a))
		return NULL;
	voters = w->mask;
	if (slu_ptx_form_has(form, SLU_PTX_MOD_sync))
		voters &= members[__builtin_ctz(w->mask)];
	ballot = voters & (w->preds[in->s] ^ in->s_flip);
	if (slu_ptx_form_has(form, SLU_PTX_MOD_ballot)) {
		MASKED_LANES(w->mask) d[i] = ballot;
		return in + 1;
	}
	result = slu_ptx_form_has(form, SLU_PTX_MOD_all)   ? ballot == voters
		 : slu_ptx_form_has(form, SLU_PTX_MOD_any) ? ballot != 0
							   : ballot == voters || !ballot;
	w->preds[in->p] = (w->preds[in->p] & ~w->mask) | (result ? w->mask : 0);
	return in + 1;
}

static const struct slu_interp_handler vote = { vote_run, vote_run };

static uint64_t lane_of(const struct slu_interp_warp *w, uint32_t row, bool is_wide, unsigned i)
{
	return is_wide ? ((const uint64_t *)ROW(w, row))[i] : ((const uint32_t *)ROW(w, row))[i];
}

static const struct slu_interp_insn *match_run(struct slu_interp_warp *w,
					       const struct slu_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	bool is_wide = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 8;
	bool is_all = slu_ptx_form_has(form, SLU_PTX_MOD_all);
	const uint32_t *members = ROW(w, in->b);
	uint32_t *d = ROW(w, in->d);
	uint32_t equal[SLU_INTERP_LANES], all = 0;

	if (!gather(w, in, in->b))
		return NULL;
	MASKED_LANES(w->mask)
	{
		uint64_t mine = lane_of(w, in->a, is_wide, i);
		uint32_t who = members[i] & w->mask;

		equal[i] = 0;
		for (uint32_t m = who; m; m &= m - 1) {
			unsigned k = (unsigned)__builtin_ctz(m);

			if (lane_of(w, in->a, is_wide, k) == mine)
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

static const struct slu_interp_handler match = { match_run, match_run };

static const struct slu_interp_insn *redux_run(struct slu_interp_warp *w,
					       const struct slu_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint32_t *a = ROW(w, in->a), *members = ROW(w, in->b);
	uint32_t *d = ROW(w, in->d);
	bool is_signed = form->types[0] == SLU_PTX_TYPE_S32;
	uint32_t result = 0, who;
	bool is_first = true;

	if (!gather(w, in, in->b))
		return NULL;
	who = w->mask & members[__builtin_ctz(w->mask)];
	MASKED_LANES(who)
	{
		uint32_t x = a[i];
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
	MASKED_LANES(w->mask) d[i] = result;
	return in + 1;
}

static const struct slu_interp_handler redux = { redux_run, redux_run };

static const struct slu_interp_insn *activemask_run(struct slu_interp_warp *w,
						    const struct slu_interp_insn *in)
{
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask) d[i] = w->mask;
	return in + 1;
}

static const struct slu_interp_handler activemask = { activemask_run, activemask_run };

const struct slu_interp_handler *SLU_ISA(bind_warp)(const struct slu_ptx_form *form)
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
