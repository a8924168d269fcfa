/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mbarrier: a barrier that lies in memory and has phases. A phase ends when as many have arrived as
 * were announced; who wants to wait asks whether the phase that it saw is over. The word is ours to
 * lay out:
 *
 *   bits 0 to 19    how many are still to come in this phase
 *   bits 20 to 39   how many come in each phase
 *   bit 63          the phase, 0 or 1
 */
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

#define HAS(m)	   slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define MOST	   ((UINT64_C(1) << 20) - 1)
#define PHASE	   (UINT64_C(1) << 63)
#define PENDING(w) ((w)&MOST)

static uint64_t word_of(uint64_t pending, uint64_t expected, uint64_t phase)
{
	return pending | expected << 20 | phase;
}

/* after @n arrivals, of which @n_dropped do not come again */
static uint64_t phase_arrived(uint64_t word, uint64_t n, uint64_t n_dropped)
{
	uint64_t expected = ((word >> 20 & MOST) - n_dropped) & MOST;
	uint64_t pending = (PENDING(word) - n) & MOST, phase = word & PHASE;

	return pending ? word_of(pending, expected, phase)
		       : word_of(expected, expected, phase ^ PHASE);
}

static void phase_arrive(uint64_t *p, uint64_t n, bool is_drop, uint64_t *ret_state)
{
	uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(p, &old, phase_arrived(old, n, is_drop ? n : 0), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	*ret_state = old;
}

static const struct dev_interp_insn *phase_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	bool is_test = HAS(test_wait), is_arrive = HAS(arrive) || HAS(arrive_drop);
	/* without .noinc a copy counts itself first, and then arrives */
	bool is_nothing = form->opcode == SLU_PTX_OP_cp && !HAS(noinc);
	bool has_count =
		is_arrive && form->opcode == SLU_PTX_OP_mbarrier && in->source->n_operands == 3;
	struct dev_interp_places at;
	enum dev_interp_shape shape = DEV_ISA(memory_reach)(w, in, 8, !is_test, &at);
	uint32_t bits = 0;

	if (shape == DEV_INTERP_SHAPE_FAULT)
		return NULL;
	MASKED_LANES(w->mask)
	{
		uint64_t *p = dev_interp_place_of(&at, shape, 8, i), state = 0;
		const uint32_t *counts = ROW(w, in->b);
		const uint64_t *states = ROW(w, in->b);

		if (is_test) {
			uint64_t seen =
				HAS(parity) ? (uint64_t)(counts[i] & 1) << 63 : states[i] & PHASE;

			state = __atomic_load_n(p, __ATOMIC_SEQ_CST);
			bits |= (uint32_t)((state & PHASE) != seen) << i;
		} else if (is_arrive && !is_nothing) {
			phase_arrive(p, has_count ? counts[i] & MOST : 1, HAS(arrive_drop), &state);
			if (form->opcode == SLU_PTX_OP_mbarrier)
				((uint64_t *)ROW(w, in->d))[i] = state;
		} else if (HAS(init)) {
			__atomic_store_n(p, word_of(counts[i] & MOST, counts[i] & MOST, 0),
					 __ATOMIC_SEQ_CST);
		}
	}
	if (is_test)
		w->preds[in->p] = (w->preds[in->p] & ~w->mask) | bits;
	return in + 1;
}

static const struct dev_interp_insn *count_run(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	const uint64_t *a = ROW(w, in->a);
	uint32_t *d = ROW(w, in->d);

	MASKED_LANES(w->mask) d[i] = (uint32_t)PENDING(a[i]);
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(phase_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler phase = { phase_run, phase_run };
	static const struct dev_interp_handler count = { count_run, count_run };

	return HAS(pending_count) ? &count : &phase;
}
