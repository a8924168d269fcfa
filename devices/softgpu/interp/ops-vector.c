/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors that other threads may read and write meanwhile: loads and stores that are strong
 * (.relaxed, .acquire, .release, .volatile) or go past the first cache. The ISA allows that a
 * vector of these comes in pieces, but cards move it at once, and programs rely on that:
 * single-pass scans keep a state and a value side by side and would take the value of one moment
 * for that of another. So what a lane reads or writes is one access of 2 to 16 bytes, all of which
 * this machine carries out at once where they are aligned. Other vectors are moved by ops-load.c
 * and ops-store.c, element by element, which is faster.
 */
#include "softgpu/interp/access.h"

/* places in a thread's own memory are only as aligned as a word; nobody else looks there */
typedef uint64_t pair __attribute__((vector_size(16), aligned(8), may_alias));
typedef uint64_t word64 __attribute__((may_alias));
typedef uint32_t word32 __attribute__((may_alias));
typedef uint16_t word16 __attribute__((may_alias));

union whole {
	uint8_t bytes[16];
	uint16_t of16;
	uint32_t of32;
	uint64_t of64;
	pair of128;
};

static inline union whole read_whole(const void *at, unsigned bytes)
{
	union whole v;

	switch (bytes) {
	case 2:
		v.of16 = __atomic_load_n((const word16 *)at, __ATOMIC_ACQUIRE);
		break;
	case 4:
		v.of32 = __atomic_load_n((const word32 *)at, __ATOMIC_ACQUIRE);
		break;
	case 8:
		v.of64 = __atomic_load_n((const word64 *)at, __ATOMIC_ACQUIRE);
		break;
	default:
		v.of128 = *(const volatile pair *)at;
		break;
	}
	return v;
}

static inline void write_whole(void *at, const union whole *v, unsigned bytes)
{
	switch (bytes) {
	case 2:
		__atomic_store_n((word16 *)at, v->of16, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((word32 *)at, v->of32, __ATOMIC_RELEASE);
		break;
	case 8:
		__atomic_store_n((word64 *)at, v->of64, __ATOMIC_RELEASE);
		break;
	default:
		*(volatile pair *)at = v->of128;
		break;
	}
}

static inline enum slu_ptx_type type_of(const struct dev_interp_insn *in)
{
	return (enum slu_ptx_type)in->source->form->types[0];
}

/* One element as its register has it: a narrow one is extended by its own sign. */
static inline uint64_t vector_element(const struct dev_interp_insn *in, const uint8_t *from,
				      unsigned size)
{
	enum slu_ptx_type type = type_of(in);
	uint64_t value = 0;

	memcpy(&value, from, size);
	if (slu_ptx_type_is_signed(type) && !slu_ptx_type_is_float(type) && size < 8)
		value = (uint64_t)((int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size));
	return in->is_half_row ? (uint16_t)value : value;
}

static const struct dev_interp_insn *load_some(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	unsigned n = in->n, size = slu_ptx_type_size(type_of(in));
	enum dev_interp_shape shape;
	struct dev_interp_places at;

	shape = DEV_ISA(memory_reach)(w, in, size * n, false, &at);
	if (shape == DEV_INTERP_SHAPE_FAULT)
		return NULL;
	MASKED_LANES(w->mask)
	{
		union whole v = read_whole(dev_interp_place_of(&at, shape, size * n, i), size * n);

		for (unsigned k = 0; k < n; k++) {
			uint64_t value = vector_element(in, v.bytes + k * size, size);

			if (in->is_wide_row)
				((uint64_t *)ROW(w, in->x[k]))[i] = value;
			else
				((uint32_t *)ROW(w, in->x[k]))[i] = (uint32_t)value;
		}
	}
	return in + 1;
}

static const struct dev_interp_insn *store_some(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	unsigned n = in->n, size = slu_ptx_type_size(type_of(in)),
		 row_bytes = in->is_wide_row ? 8 : 4;
	enum dev_interp_shape shape;
	struct dev_interp_places at;

	shape = DEV_ISA(memory_reach)(w, in, size * n, true, &at);
	if (shape == DEV_INTERP_SHAPE_FAULT)
		return NULL;
	MASKED_LANES(w->mask)
	{
		union whole v;

		for (unsigned k = 0; k < n; k++)
			memcpy(v.bytes + k * size, w->rows + in->x[k] + i * row_bytes, size);
		write_whole(dev_interp_place_of(&at, shape, size * n, i), &v, size * n);
	}
	return in + 1;
}

static const struct dev_interp_insn *load_all(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	dev_interp_line_need(w, in->a);
	for (unsigned k = 0; in->has_line_result && k < in->n; k++)
		dev_interp_line(w->lines, in->x[k])->kind = 0;
	return w->team > 1 ? dev_interp_team_each(w, in, load_some) : load_some(w, in);
}

static const struct dev_interp_insn *store_all(struct dev_interp_warp *w,
					       const struct dev_interp_insn *in)
{
	dev_interp_line_need(w, in->a);
	for (unsigned k = 0; k < in->n; k++)
		dev_interp_line_need(w, in->x[k]);
	return w->team > 1 ? dev_interp_team_each(w, in, store_some) : store_some(w, in);
}

const struct dev_interp_handler *DEV_ISA(vector_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler load = { load_all, load_some, true };
	static const struct dev_interp_handler store = { store_all, store_some, true };
	static const enum slu_ptx_modifier shared[] = {
		SLU_PTX_MOD_relaxed, SLU_PTX_MOD_acquire, SLU_PTX_MOD_release, SLU_PTX_MOD_volatile,
		SLU_PTX_MOD_cg,	     SLU_PTX_MOD_cv,	  SLU_PTX_MOD_wt,
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(shared); i++)
		if (form->vector > 1 && slu_ptx_form_has(form, shared[i]))
			return form->opcode == SLU_PTX_OP_st ? &store : &load;
	return NULL;
}
