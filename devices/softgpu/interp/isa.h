/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What each file of handlers gives to the table of its machine. */

#include "softgpu/interp/lanes.h"

const struct dev_interp_handler *DEV_ISA(int_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(bits_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(dot_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(float_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(half_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(compare_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(select_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(move_bind_pred)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(move_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(warp_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(atomic_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(carry_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(copy_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(matrix_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(matrix_move_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(phase_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(texture_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(surface_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(stack_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(word_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(video_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(load_bind)(const struct slu_ptx_form *form,
						    const struct dev_interp_insn *in);
const struct dev_interp_handler *DEV_ISA(store_bind)(const struct slu_ptx_form *form,
						     const struct dev_interp_insn *in);
/* Return: NULL where bind_load() or bind_store() has the handler. */
const struct dev_interp_handler *DEV_ISA(vector_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(convert_bind)(const struct slu_ptx_form *form,
						       bool to_is_wide, bool from_is_wide);
const struct dev_interp_handler *DEV_ISA(move_bind_clock)(enum slu_ptx_sreg sreg);
const struct dev_interp_handler *DEV_ISA(move_bind_pack)(bool is_pack, unsigned n, unsigned size);
const struct dev_interp_handler *DEV_ISA(line_bind)(const struct slu_ptx_form *form);
const struct dev_interp_handler *DEV_ISA(line_compare_bind)(const struct slu_ptx_form *form);
extern const struct dev_interp_handler DEV_ISA(line_spread), DEV_ISA(convert_any),
	DEV_ISA(convert_pair), DEV_ISA(texture_query);
