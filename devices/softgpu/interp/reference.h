/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one lane of an instruction should give, written a second time and in another way than the
 * handlers: on wide integers and with the C library's rounding modes, by reading the form's text
 * alone. For tests.
 */

#include <stdbool.h>
#include <stdint.h>

#include "ptx/form.h"

struct dev_reference {
	uint64_t value; /* of the destination register, as wide as its type */
	bool p, q;	/* of predicates */
	bool any_nan;	/* the ISA leaves the bits of a NaN open */
	/* both 0: the bits must be equal; else the relative and absolute error that is allowed */
	double tolerance;
	double absolute;
};

/*
 * @in: the sources in order, predicates as 0 or 1. Return: false if the reference knows nothing
 * about the form.
 */
bool dev_reference_compute(const struct slu_ptx_form *form, const uint64_t in[4],
			   struct dev_reference *ret);

/*
 * What atom or red leaves where @old was, with the operands @b and @c. Return: false if the
 * reference knows nothing about the form.
 */
bool dev_reference_atomic(const struct slu_ptx_form *form, uint64_t old, uint64_t b, uint64_t c,
			  uint64_t *ret_new);

/*
 * What a video instruction leaves in its destination. The selectors are as the text has them
 * behind the register, ".b2", or "".
 */
struct dev_reference_video {
	const char *d, *a, *b;
	bool a_is_minus, b_is_minus, c_is_minus;
};
bool dev_reference_video(const struct slu_ptx_form *form, const struct dev_reference_video *text,
			 const uint32_t in[3], uint32_t *ret_value);
