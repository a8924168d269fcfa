/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The shape that a form of tex, tld4, suld and sust gives to what it reads: how many coordinates
 * there are, and what each of them is. In front of them stands the layer, where there are layers;
 * three are written as a vector of four, whose last element does not count.
 */

#include "ptx/operand.h"

struct slu_ptx_shape {
	uint8_t n_dims;	       /* coordinates without the layer: 1, 2 or 3; 0 for a query */
	uint8_t n_coordinates; /* elements of the vector */
	uint8_t n_gradients;   /* elements of a gradient's vector */
	bool is_layered;       /* the first coordinate is the layer */
	bool is_cube;	       /* the three others are a direction */
};

struct slu_ptx_shape slu_ptx_shape_of(const struct slu_ptx_form *form);

/* [object, coordinates], and a gradient. */
int slu_ptx_check_texture(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			  const struct slu_ptx_slot *slot, const struct slu_ptx_raw *raw);
int slu_ptx_check_gradient(struct slu_ptx_parser *p, const struct slu_ptx_form *form,
			   const struct slu_ptx_slot *slot, const struct slu_ptx_raw *raw);
