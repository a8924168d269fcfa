/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What each file of handlers gives to the table of its machine. */

#include "softgpu/interp/lanes.h"

const struct dev_interp_handler *DEV_ISA(bind_int)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_bits)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_dot)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_float)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_half)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_compare)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_select)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_pred)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_move)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_warp)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_atomic)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_carry)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_copy)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_matrix)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_matrix_move)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_phase)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_stack)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_word)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_video)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_load)(const struct slu_ptx_form *form,
						    const struct dev_interp_insn *in);
const struct dev_interp_handler *DEV_ISA(bind_store)(const struct slu_ptx_form *form,
						     const struct dev_interp_insn *in);
/* Return: NULL where bind_load() or bind_store() has the handler. */
const struct dev_interp_handler *DEV_ISA(bind_vector)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_cvt)(const struct slu_ptx_form *form, bool to_is_wide,
						   bool from_is_wide);
const struct dev_interp_handler *DEV_ISA(bind_clock)(enum slu_ptx_sreg sreg);
const struct dev_interp_handler *DEV_ISA(bind_pack)(bool is_pack, unsigned n, unsigned size);
const struct dev_interp_handler *DEV_ISA(bind_line)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bind_line_compare)(const struct slu_ptx_form *form);
extern const struct dev_interp_handler DEV_ISA(spread), DEV_ISA(convert_any), DEV_ISA(convert_pair);
