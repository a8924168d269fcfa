/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atom and red. Blocks run on several threads and the memory may be shared with the host, so
 * every lane is one atomic operation of the CPU; floats go through compare and swap. Scopes and
 * orders are all treated as the strongest.
 */
#include "softgpu/interp/half.h"
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

enum operation {
	ADD,
	MIN,
	MAX,
	AND,
	OR,
	XOR,
	INC,
	DEC,
	EXCH,
	CAS,
};

static enum operation operation_of(const struct slu_ptx_form *form)
{
	static const struct {
		enum slu_ptx_modifier modifier;
		enum operation operation;
	} rows[] = {
		{ SLU_PTX_MOD_add, ADD }, { SLU_PTX_MOD_min, MIN }, { SLU_PTX_MOD_max, MAX },
		{ SLU_PTX_MOD_and, AND }, { SLU_PTX_MOD_or, OR },   { SLU_PTX_MOD_xor, XOR },
		{ SLU_PTX_MOD_inc, INC }, { SLU_PTX_MOD_dec, DEC }, { SLU_PTX_MOD_exch, EXCH },
		{ SLU_PTX_MOD_cas, CAS },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		if (slu_ptx_form_has(form, rows[i].modifier))
			return rows[i].operation;
	return EXCH;
}

static uint32_t add_f32(uint32_t a, uint32_t b)
{
	float x, y;

	memcpy(&x, &a, 4);
	memcpy(&y, &b, 4);
	x += y;
	memcpy(&a, &x, 4);
	/* the one NaN that f32 results are */
	return x != x ? 0x7fffffff : a;
}

static uint64_t add_f64(uint64_t a, uint64_t b)
{
	double x, y;

	memcpy(&x, &a, 8);
	memcpy(&y, &b, 8);
	x += y;
	memcpy(&a, &x, 8);
	return a;
}

static uint16_t add_f16(uint16_t a, uint16_t b)
{
	return dev_half_from_double((double)dev_half_to_float(a, false) +
					    (double)dev_half_to_float(b, false),
				    DEV_HALF_NEAREST);
}

static uint16_t add_bf16(uint16_t a, uint16_t b)
{
	return dev_bf16_from_double(
		dev_half_sum((double)dev_bf16_to_float(a), (double)dev_bf16_to_float(b)),
		DEV_HALF_NEAREST);
}

static uint64_t combine_32(enum operation op, enum slu_ptx_type type, uint32_t old, uint32_t b)
{
	bool is_less = type == SLU_PTX_TYPE_S32 ? (int32_t)b < (int32_t)old : b < old;

	switch (op) {
	case ADD:
		if (type == SLU_PTX_TYPE_F32)
			return add_f32(old, b);
		if (type == SLU_PTX_TYPE_F16X2)
			return (uint32_t)add_f16((uint16_t)old, (uint16_t)b) |
			       (uint32_t)add_f16((uint16_t)(old >> 16), (uint16_t)(b >> 16)) << 16;
		if (type == SLU_PTX_TYPE_BF16X2)
			return (uint32_t)add_bf16((uint16_t)old, (uint16_t)b) |
			       (uint32_t)add_bf16((uint16_t)(old >> 16), (uint16_t)(b >> 16)) << 16;
		return old + b;
	case MIN:
		return is_less ? b : old;
	case MAX:
		return is_less ? old : b;
	case AND:
		return old & b;
	case OR:
		return old | b;
	case XOR:
		return old ^ b;
	case INC:
		return old >= b ? 0 : old + 1;
	case DEC:
		return old == 0 || old > b ? b : old - 1;
	default:
		return b;
	}
}

static uint64_t combine_64(enum operation op, enum slu_ptx_type type, uint64_t old, uint64_t b)
{
	bool is_less = type == SLU_PTX_TYPE_S64 ? (int64_t)b < (int64_t)old : b < old;

	switch (op) {
	case ADD:
		return type == SLU_PTX_TYPE_F64 ? add_f64(old, b) : old + b;
	case MIN:
		return is_less ? b : old;
	case MAX:
		return is_less ? old : b;
	case AND:
		return old & b;
	case OR:
		return old | b;
	case XOR:
		return old ^ b;
	default:
		return b;
	}
}

static uint64_t apply_16(void *at, enum operation op, enum slu_ptx_type type, uint16_t b,
			 uint16_t c)
{
	uint16_t *p = at, old = __atomic_load_n(p, __ATOMIC_RELAXED), next;

	do {
		next = op == CAS		   ? (old == b ? c : old)
		       : type == SLU_PTX_TYPE_BF16 ? add_bf16(old, b)
						   : add_f16(old, b);
	} while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return old;
}

static uint64_t apply_32(void *at, enum operation op, enum slu_ptx_type type, uint32_t b,
			 uint32_t c)
{
	uint32_t *p = at, old, next;

	if (op == ADD && !slu_ptx_type_is_float(type))
		return __atomic_fetch_add(p, b, __ATOMIC_SEQ_CST);
	if (op == EXCH)
		return __atomic_exchange_n(p, b, __ATOMIC_SEQ_CST);
	if (op == CAS) {
		old = b;
		__atomic_compare_exchange_n(p, &old, c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return old;
	}
	old = __atomic_load_n(p, __ATOMIC_RELAXED);
	do {
		next = (uint32_t)combine_32(op, type, old, b);
	} while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return old;
}

static uint64_t apply_64(void *at, enum operation op, enum slu_ptx_type type, uint64_t b,
			 uint64_t c)
{
	uint64_t *p = at, old, next;

	if (op == CAS) {
		old = b;
		__atomic_compare_exchange_n(p, &old, c, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return old;
	}
	old = __atomic_load_n(p, __ATOMIC_RELAXED);
	do {
		next = combine_64(op, type, old, b);
	} while (!__atomic_compare_exchange_n(p, &old, next, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return old;
}

static const struct dev_interp_insn *atomic_run(struct dev_interp_warp *w,
						const struct dev_interp_insn *in)
{
	const struct slu_ptx_form *form = in->source->form;
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	enum operation op = operation_of(form);
	unsigned size = slu_ptx_type_size(type);
	struct dev_interp_places at;
	enum dev_interp_shape shape;

	/* an atomic access wants both rights */
	shape = DEV_ISA(memory_reach)(w, in, size, false, &at);
	if (shape != DEV_INTERP_SHAPE_FAULT)
		shape = DEV_ISA(memory_reach)(w, in, size, true, &at);
	if (shape == DEV_INTERP_SHAPE_FAULT)
		return NULL;
	MASKED_LANES(w->mask)
	{
		void *p = dev_interp_place_of(&at, shape, size, i);

		if (size == 8) {
			const uint64_t *b = ROW(w, in->b), *c = ROW(w, in->c);

			((uint64_t *)ROW(w, in->d))[i] = apply_64(p, op, type, b[i], c[i]);
		} else {
			const uint32_t *b = ROW(w, in->b), *c = ROW(w, in->c);

			((uint32_t *)ROW(w, in->d))[i] =
				(uint32_t)(size == 2 ? apply_16(p, op, type, (uint16_t)b[i],
								(uint16_t)c[i])
						     : apply_32(p, op, type, b[i], c[i]));
		}
	}
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(atomic_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler atomic = { atomic_run, atomic_run };

	(void)form;
	return &atomic;
}
