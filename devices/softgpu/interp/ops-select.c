/* SPDX-License-Identifier: Apache-2.0 */
/* One of two values: selp by a predicate, slct by a sign. */
#include "softgpu/interp/isa.h"

#define SELECT(name, R)                                                                    \
	static const struct dev_interp_insn *name##_all(struct dev_interp_warp *w,         \
							const struct dev_interp_insn *in)  \
	{                                                                                  \
		const R *a = ROW(w, in->a), *b = ROW(w, in->b);                            \
		R *d = ROW(w, in->d);                                                      \
		EVERY_STRIP                                                                \
		{                                                                          \
			uint32_t p = w->preds[in->s + k] ^ in->s_flip;                     \
                                                                                           \
			EVERY_LANE d[i] = p >> i & 1 ? a[i] : b[i];                        \
			NEXT_STRIP(a), NEXT_STRIP(b), NEXT_STRIP(d);                       \
		}                                                                          \
		return in + 1;                                                             \
	}                                                                                  \
	static const struct dev_interp_insn *name##_some(struct dev_interp_warp *w,        \
							 const struct dev_interp_insn *in) \
	{                                                                                  \
		const R *a = ROW(w, in->a), *b = ROW(w, in->b);                            \
		R *d = ROW(w, in->d);                                                      \
		uint32_t p = w->preds[in->s] ^ in->s_flip;                                 \
                                                                                           \
		MASKED_LANES(w->mask) d[i] = p >> i & 1 ? a[i] : b[i];                     \
		return in + 1;                                                             \
	}                                                                                  \
	static const struct dev_interp_handler name = { name##_all, name##_some, true };
SELECT(selp_32, uint32_t)
SELECT(selp_64, uint64_t)

/* slct: a where c is not negative, else b; a NaN is not, and neither is -0 */
#define CHOOSE(name, R, C)                                                                \
	static const struct dev_interp_insn *name##_run(struct dev_interp_warp *w,        \
							const struct dev_interp_insn *in) \
	{                                                                                 \
		const R *a = ROW(w, in->a), *b = ROW(w, in->b);                           \
		const C *c = ROW(w, in->c);                                               \
		R *d = ROW(w, in->d);                                                     \
                                                                                          \
		MASKED_LANES(w->mask) d[i] = c[i] >= 0 ? a[i] : b[i];                     \
		return in + 1;                                                            \
	}                                                                                 \
	static const struct dev_interp_handler name = { name##_run, name##_run };
CHOOSE(slct_32_s32, uint32_t, int32_t)
CHOOSE(slct_64_s32, uint64_t, int32_t)
CHOOSE(slct_32_f32, uint32_t, float)
CHOOSE(slct_64_f32, uint64_t, float)

const struct dev_interp_handler *DEV_ISA(select_bind)(const struct slu_ptx_form *form)
{
	bool is_64 = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) == 8;

	switch (form->opcode) {
	case SLU_PTX_OP_selp:
		return is_64 ? &selp_64 : &selp_32;
	case SLU_PTX_OP_slct:
		if (form->types[1] == SLU_PTX_TYPE_S32)
			return is_64 ? &slct_64_s32 : &slct_32_s32;
		return is_64 ? &slct_64_f32 : &slct_32_f32;
	default:
		return NULL;
	}
}
