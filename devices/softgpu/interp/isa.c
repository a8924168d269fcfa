/* SPDX-License-Identifier: Apache-2.0 */
/* The table of handlers of one machine; compiled once for each. */
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

const struct dev_interp_isa DEV_ISA(isa) = {
	.bind = {
		[SLU_PTX_FAMILY_INT] = DEV_ISA(bind_int),
		[SLU_PTX_FAMILY_FLOAT] = DEV_ISA(bind_float),
		[SLU_PTX_FAMILY_HALF] = DEV_ISA(bind_half),
		[SLU_PTX_FAMILY_WARP] = DEV_ISA(bind_warp),
		[SLU_PTX_FAMILY_ATOM] = DEV_ISA(bind_atomic),
		[SLU_PTX_FAMILY_CARRY] = DEV_ISA(bind_carry),
		[SLU_PTX_FAMILY_COPY] = DEV_ISA(bind_copy),
		[SLU_PTX_FAMILY_MATRIX] = DEV_ISA(bind_matrix),
		[SLU_PTX_FAMILY_PHASE] = DEV_ISA(bind_phase),
		[SLU_PTX_FAMILY_STACK] = DEV_ISA(bind_stack),
		[SLU_PTX_FAMILY_WORD] = DEV_ISA(bind_word),
		[SLU_PTX_FAMILY_VIDEO] = DEV_ISA(bind_video),
		[SLU_PTX_FAMILY_CMP] = DEV_ISA(bind_compare),
		[SLU_PTX_FAMILY_PRED] = DEV_ISA(bind_pred),
		[SLU_PTX_FAMILY_MOVE] = DEV_ISA(bind_move),
	},
	.bind_load = DEV_ISA(bind_load),
	.bind_store = DEV_ISA(bind_store),
	.bind_vector = DEV_ISA(bind_vector),
	.bind_cvt = DEV_ISA(bind_cvt),
	.bind_clock = DEV_ISA(bind_clock),
	.bind_pack = DEV_ISA(bind_pack),
	.readable = DEV_ISA(readable),
	.bind_line = DEV_ISA(bind_line),
	.spread = &DEV_ISA(spread),
};
