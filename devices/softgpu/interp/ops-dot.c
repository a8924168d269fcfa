/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of products of bytes and halves: dp4a, dp2a. */
#include "softgpu/interp/isa.h"

#define BYTE(x, k, T) ((int32_t)(T)((x) >> (k)*8))
#define DP4A(n, TA, TB)                                                                     \
	OP3(dp4a_##n, uint32_t, uint32_t, uint32_t, uint32_t,                               \
	    (uint32_t)(BYTE(a, 0, TA) * BYTE(b, 0, TB) + BYTE(a, 1, TA) * BYTE(b, 1, TB) +  \
		       BYTE(a, 2, TA) * BYTE(b, 2, TB) + BYTE(a, 3, TA) * BYTE(b, 3, TB)) + \
		    c)
DP4A(uu, uint8_t, uint8_t)
DP4A(us, uint8_t, int8_t)
DP4A(su, int8_t, uint8_t)
DP4A(ss, int8_t, int8_t)

#define HALF(x, k, T) ((int32_t)(T)((x) >> (k)*16))
#define DP2A(n, TA, TB)                                              \
	OP3(dp2a_lo_##n, uint32_t, uint32_t, uint32_t, uint32_t,     \
	    (uint32_t)(HALF(a, 0, TA##16_t) * BYTE(b, 0, TB##8_t) +  \
		       HALF(a, 1, TA##16_t) * BYTE(b, 1, TB##8_t)) + \
		    c)                                               \
	OP3(dp2a_hi_##n, uint32_t, uint32_t, uint32_t, uint32_t,     \
	    (uint32_t)(HALF(a, 0, TA##16_t) * BYTE(b, 2, TB##8_t) +  \
		       HALF(a, 1, TA##16_t) * BYTE(b, 3, TB##8_t)) + \
		    c)
DP2A(uu, uint, uint)
DP2A(us, uint, int)
DP2A(su, int, uint)
DP2A(ss, int, int)

#define HAS(m) slu_ptx_form_has(form, SLU_PTX_MOD_##m)

const struct dev_interp_handler *DEV_ISA(dot_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler *const dp4a[4] = { &dp4a_uu, &dp4a_us, &dp4a_su,
								  &dp4a_ss };
	static const struct dev_interp_handler *const lo[4] = { &dp2a_lo_uu, &dp2a_lo_us,
								&dp2a_lo_su, &dp2a_lo_ss };
	static const struct dev_interp_handler *const hi[4] = { &dp2a_hi_uu, &dp2a_hi_us,
								&dp2a_hi_su, &dp2a_hi_ss };
	unsigned k =
		(form->types[0] == SLU_PTX_TYPE_S32) * 2u + (form->types[1] == SLU_PTX_TYPE_S32);

	return form->opcode == SLU_PTX_OP_dp4a ? dp4a[k] : HAS(lo) ? lo[k] : hi[k];
}
