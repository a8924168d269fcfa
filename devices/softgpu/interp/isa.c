/* SPDX-License-Identifier: Apache-2.0 */
/* The table of handlers of one machine; compiled once for each. */
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

const struct slu_interp_isa SLU_ISA(isa) = {
	.bind = {
		[SLU_PTX_FAMILY_INT] = SLU_ISA(bind_int),
		[SLU_PTX_FAMILY_FLOAT] = SLU_ISA(bind_float),
		[SLU_PTX_FAMILY_HALF] = SLU_ISA(bind_half),
		[SLU_PTX_FAMILY_WARP] = SLU_ISA(bind_warp),
		[SLU_PTX_FAMILY_ATOM] = SLU_ISA(bind_atomic),
		[SLU_PTX_FAMILY_CARRY] = SLU_ISA(bind_carry),
		[SLU_PTX_FAMILY_COPY] = SLU_ISA(bind_copy),
		[SLU_PTX_FAMILY_MATRIX] = SLU_ISA(bind_matrix),
		[SLU_PTX_FAMILY_PHASE] = SLU_ISA(bind_phase),
		[SLU_PTX_FAMILY_STACK] = SLU_ISA(bind_stack),
		[SLU_PTX_FAMILY_WORD] = SLU_ISA(bind_word),
		[SLU_PTX_FAMILY_VIDEO] = SLU_ISA(bind_video),
		[SLU_PTX_FAMILY_CMP] = SLU_ISA(bind_compare),
		[SLU_PTX_FAMILY_PRED] = SLU_ISA(bind_pred),
		[SLU_PTX_FAMILY_MOVE] = SLU_ISA(bind_move),
	},
	.bind_load = SLU_ISA(bind_load),
	.bind_store = SLU_ISA(bind_store),
	.bind_vector = SLU_ISA(bind_vector),
	.bind_cvt = SLU_ISA(bind_cvt),
	.bind_clock = SLU_ISA(bind_clock),
	.bind_pack = SLU_ISA(bind_pack),
	.readable = SLU_ISA(readable),
	.bind_line = SLU_ISA(bind_line),
	.spread = &SLU_ISA(spread),
};
