/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How handlers that know lines (line.h) are written: only their @all, for whole warps. */

#include "softgpu/interp/isa.h"
#include "softgpu/interp/line.h"

#define LINE(w, row) slu_interp_line((w)->lines, row)

#define HANDLER(name)                                                                      \
	static const struct slu_interp_insn *name##_all(struct slu_interp_warp *w,         \
							const struct slu_interp_insn *in); \
	static const struct slu_interp_handler name = { name##_all, NULL, true };          \
	static const struct slu_interp_insn *name##_all(struct slu_interp_warp *w,         \
							const struct slu_interp_insn *in)

#define ARE_LINES(kinds) ((kinds)&SLU_INTERP_LINE)
