/* SPDX-License-Identifier: Apache-2.0 */
/* The table of handlers of one machine; compiled once for each. */
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

const struct dev_interp_isa DEV_ISA(isa) = {
	.bind = {
		[SLU_PTX_FAMILY_INT] = DEV_ISA(int_bind),
		[SLU_PTX_FAMILY_FLOAT] = DEV_ISA(float_bind),
		[SLU_PTX_FAMILY_HALF] = DEV_ISA(half_bind),
		[SLU_PTX_FAMILY_WARP] = DEV_ISA(warp_bind),
		[SLU_PTX_FAMILY_ATOM] = DEV_ISA(atomic_bind),
		[SLU_PTX_FAMILY_CARRY] = DEV_ISA(carry_bind),
		[SLU_PTX_FAMILY_COPY] = DEV_ISA(copy_bind),
		[SLU_PTX_FAMILY_MATRIX] = DEV_ISA(matrix_bind),
		[SLU_PTX_FAMILY_PHASE] = DEV_ISA(phase_bind),
		[SLU_PTX_FAMILY_TEXTURE] = DEV_ISA(texture_bind),
		[SLU_PTX_FAMILY_SURFACE] = DEV_ISA(surface_bind),
		[SLU_PTX_FAMILY_STACK] = DEV_ISA(stack_bind),
		[SLU_PTX_FAMILY_WORD] = DEV_ISA(word_bind),
		[SLU_PTX_FAMILY_VIDEO] = DEV_ISA(video_bind),
		[SLU_PTX_FAMILY_CMP] = DEV_ISA(compare_bind),
		[SLU_PTX_FAMILY_PRED] = DEV_ISA(move_bind_pred),
		[SLU_PTX_FAMILY_MOVE] = DEV_ISA(move_bind),
	},
	.bind_load = DEV_ISA(load_bind),
	.bind_store = DEV_ISA(store_bind),
	.bind_vector = DEV_ISA(vector_bind),
	.bind_cvt = DEV_ISA(convert_bind),
	.bind_clock = DEV_ISA(move_bind_clock),
	.bind_pack = DEV_ISA(move_bind_pack),
	.readable = DEV_ISA(memory_readable),
	.bind_line = DEV_ISA(line_bind),
	.spread = &DEV_ISA(line_spread),
};
