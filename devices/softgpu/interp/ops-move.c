/* SPDX-License-Identifier: Apache-2.0 */
/* Moves: between registers, packed and unpacked, between address spaces; predicates; clocks. */
#include <time.h>
#include <x86intrin.h>

#include "softgpu/interp/isa.h"

OP1(mov_32, uint32_t, uint32_t, uint32_t, uint32_t, a)
OP1(mov_64, uint64_t, uint64_t, uint64_t, uint64_t, a)

/* {a, b} of 16 or 32 bits each into one, and back */
#define PACK(name, RD, RS, n, bits)                                                       \
	static const struct dev_interp_insn *name##_run(struct dev_interp_warp *w,        \
							const struct dev_interp_insn *in) \
	{                                                                                 \
		RD *d = ROW(w, in->d);                                                    \
		const RS *s[n];                                                           \
                                                                                          \
		for (unsigned k = 0; k < n; k++)                                          \
			s[k] = ROW(w, in->x[k]);                                          \
		MASKED_LANES(w->mask)                                                     \
		{                                                                         \
			RD value = 0;                                                     \
                                                                                          \
			for (unsigned k = 0; k < n; k++)                                  \
				value |= (RD)s[k][i] << k * bits;                         \
			d[i] = value;                                                     \
		}                                                                         \
		return in + 1;                                                            \
	}                                                                                 \
	static const struct dev_interp_handler name = { name##_run, name##_run };
PACK(pack_8x2, uint32_t, uint32_t, 2, 8)
PACK(pack_8x4, uint32_t, uint32_t, 4, 8)
PACK(pack_16x2, uint32_t, uint32_t, 2, 16)
PACK(pack_16x4, uint64_t, uint32_t, 4, 16)
PACK(pack_32x2, uint64_t, uint32_t, 2, 32)

#define UNPACK(name, RS, n, bits)                                                         \
	static const struct dev_interp_insn *name##_run(struct dev_interp_warp *w,        \
							const struct dev_interp_insn *in) \
	{                                                                                 \
		const RS *s = ROW(w, in->a);                                              \
		uint32_t *d[n];                                                           \
                                                                                          \
		for (unsigned k = 0; k < n; k++)                                          \
			d[k] = ROW(w, in->x[k]);                                          \
		MASKED_LANES(w->mask)                                                     \
		{                                                                         \
			RS value = s[i];                                                  \
                                                                                          \
			for (unsigned k = 0; k < n; k++)                                  \
				d[k][i] = (uint32_t)(value >> k * bits) &                 \
					  (uint32_t)(UINT64_MAX >> (64 - bits));          \
		}                                                                         \
		return in + 1;                                                            \
	}                                                                                 \
	static const struct dev_interp_handler name = { name##_run, name##_run };
UNPACK(unpack_8x2, uint32_t, 2, 8)
UNPACK(unpack_8x4, uint32_t, 4, 8)
UNPACK(unpack_16x2, uint32_t, 2, 16)
UNPACK(unpack_16x4, uint64_t, 4, 16)
UNPACK(unpack_32x2, uint64_t, 2, 32)

const struct dev_interp_handler *DEV_ISA(move_bind_pack)(bool is_pack, unsigned n, unsigned size)
{
	switch (size / n) {
	case 1:
		return n == 2 ? (is_pack ? &pack_8x2 : &unpack_8x2)
			      : (is_pack ? &pack_8x4 : &unpack_8x4);
	case 2:
		return n == 2 ? (is_pack ? &pack_16x2 : &unpack_16x2)
			      : (is_pack ? &pack_16x4 : &unpack_16x4);
	case 4:
		return n == 2 ? (is_pack ? &pack_32x2 : &unpack_32x2) : NULL;
	default:
		return NULL;
	}
}

/* What is added to an address of a space to make it generic: a window's place; 0 for the rest. */
static uint64_t window_of(const struct dev_interp_warp *w, enum slu_ptx_space space, unsigned lane)
{
	const struct dev_interp_block *b = w->block;
	unsigned thread = w->index * DEV_INTERP_LANES + lane;

	if (space == SLU_PTX_SPACE_SHARED)
		return (uint64_t)(uintptr_t)b->shared;
	if (space == SLU_PTX_SPACE_LOCAL)
		return (uint64_t)(uintptr_t)b->local + thread * b->local_bytes;
	if (space == SLU_PTX_SPACE_PARAM)
		return (uint64_t)(uintptr_t)b->launch->params;
	return 0;
}

static const struct dev_interp_insn *cvta_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	const uint64_t *a = ROW(w, in->a);
	uint64_t *d = ROW(w, in->d);
	bool to = slu_ptx_form_has(form, SLU_PTX_MOD_to);

	MASKED_LANES(w->mask)
	{
		uint64_t window = window_of(w, form->space, i);

		d[i] = to ? a[i] - window : a[i] + window;
	}
	return in + 1;
}

static const struct dev_interp_handler cvta = { cvta_run, cvta_run };

static bool is_constant(const struct dev_interp_block *b, uint64_t address)
{
	const struct slu_ptx_module *m = b->launch->module->ptx;

	for (unsigned i = 0; i < m->n_variables; i++)
		if (m->variables[i]->space == SLU_PTX_SPACE_CONST &&
		    address - b->launch->variables[i] < m->variables[i]->size)
			return true;
	return false;
}

/* A kernel's parameters count as global memory too; everything else lies in one space. */
static bool is_in_space(const struct dev_interp_block *b, enum slu_ptx_space space,
			uint64_t address)
{
	bool is_shared = address - (uint64_t)(uintptr_t)b->shared < b->shared_bytes;
	bool is_local = address - (uint64_t)(uintptr_t)b->local < b->local_bytes * b->n_threads;

	switch (space) {
	case SLU_PTX_SPACE_SHARED:
		return is_shared;
	case SLU_PTX_SPACE_LOCAL:
		return is_local;
	case SLU_PTX_SPACE_CONST:
		return is_constant(b, address);
	case SLU_PTX_SPACE_PARAM:
		return address - (uint64_t)(uintptr_t)b->launch->params <
		       b->launch->kernel->param_bytes;
	default:
		return !is_shared && !is_local && !is_constant(b, address);
	}
}

static const struct dev_interp_insn *isspacep_run(struct dev_interp_warp *w,
						  const struct dev_interp_insn *in)
{
	enum slu_ptx_space space = in->source->form->space;
	const uint64_t *a = ROW(w, in->a);
	uint32_t bits = 0;

	MASKED_LANES(w->mask)
	{
		if (is_in_space(w->block, space, a[i]))
			bits |= UINT32_C(1) << i;
	}
	w->preds[in->p] = (w->preds[in->p] & ~w->mask) | bits;
	return in + 1;
}

static const struct dev_interp_handler isspacep = { isspacep_run, isspacep_run };

const struct dev_interp_handler *DEV_ISA(move_bind)(const struct slu_ptx_form *form)
{
	bool is_64 = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 8;

	switch (form->opcode) {
	case SLU_PTX_OP_mov:
		return is_64 ? &mov_64 : &mov_32;
	case SLU_PTX_OP_cvta:
		return &cvta;
	case SLU_PTX_OP_isspacep:
		return &isspacep;
	default:
		return NULL;
	}
}

#define PRED(name, expr)                                                                  \
	static const struct dev_interp_insn *name##_run(struct dev_interp_warp *w,        \
							const struct dev_interp_insn *in) \
	{                                                                                 \
		uint32_t a = w->preds[in->s] ^ in->s_flip;                                \
		uint32_t b = w->preds[in->t] ^ in->t_flip;                                \
                                                                                          \
		(void)b;                                                                  \
		w->preds[in->p] = (w->preds[in->p] & ~w->mask) | ((expr)&w->mask);        \
		return in + 1;                                                            \
	}                                                                                 \
	static const struct dev_interp_handler name = { name##_run, name##_run };
PRED(pred_and, a &b)
PRED(pred_or, a | b)
PRED(pred_xor, a ^ b)
PRED(pred_not, ~a)
PRED(pred_mov, a)

const struct dev_interp_handler *DEV_ISA(move_bind_pred)(const struct slu_ptx_form *form)
{
	switch (form->opcode) {
	case SLU_PTX_OP_and:
		return &pred_and;
	case SLU_PTX_OP_or:
		return &pred_or;
	case SLU_PTX_OP_xor:
		return &pred_xor;
	case SLU_PTX_OP_not:
		return &pred_not;
	default:
		return &pred_mov;
	}
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#define CLOCK(name, R, value)                                                             \
	static const struct dev_interp_insn *name##_run(struct dev_interp_warp *w,        \
							const struct dev_interp_insn *in) \
	{                                                                                 \
		R *d = ROW(w, in->d);                                                     \
		R now = (R)(value);                                                       \
                                                                                          \
		MASKED_LANES(w->mask) d[i] = now;                                         \
		return in + 1;                                                            \
	}                                                                                 \
	static const struct dev_interp_handler name = { name##_run, name##_run };
CLOCK(clock_lo, uint32_t, __rdtsc())
CLOCK(clock_hi, uint32_t, __rdtsc() >> 32)
CLOCK(clock_64, uint64_t, __rdtsc())
CLOCK(timer_64, uint64_t, now_ns())
CLOCK(timer_lo, uint32_t, now_ns())
CLOCK(timer_hi, uint32_t, now_ns() >> 32)

const struct dev_interp_handler *DEV_ISA(move_bind_clock)(enum slu_ptx_sreg sreg)
{
	switch (sreg) {
	case SLU_PTX_SREG_CLOCK:
		return &clock_lo;
	case SLU_PTX_SREG_CLOCK_HI:
		return &clock_hi;
	case SLU_PTX_SREG_CLOCK64:
		return &clock_64;
	case SLU_PTX_SREG_GLOBALTIMER:
		return &timer_64;
	case SLU_PTX_SREG_GLOBALTIMER_LO:
		return &timer_lo;
	default:
		return &timer_hi;
	}
}
