/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How handlers that know lines (line.h) are written: only their @all, for whole warps. */

#include "softgpu/interp/isa.h"
#include "softgpu/interp/line.h"

#define LINE(w, row) dev_interp_line((w)->lines, row)

#define HANDLER(name)                                                                      \
	static const struct dev_interp_insn *name##_all(struct dev_interp_warp *w,         \
							const struct dev_interp_insn *in); \
	static const struct dev_interp_handler name = { name##_all, NULL, true };          \
	static const struct dev_interp_insn *name##_all(struct dev_interp_warp *w,         \
							const struct dev_interp_insn *in)

#define ARE_LINES(kinds) ((kinds)&DEV_INTERP_LINE)
