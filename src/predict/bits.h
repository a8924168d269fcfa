/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Operations on the bits of registers. Operands need not be normalised. */

#include "predict/value.h"

struct slu_predict_value slu_predict_bits_and(struct slu_predict_scope *s,
					      const struct slu_predict_value *a,
					      const struct slu_predict_value *b, unsigned bits);
struct slu_predict_value slu_predict_bits_or(struct slu_predict_scope *s,
					     const struct slu_predict_value *a,
					     const struct slu_predict_value *b, unsigned bits);
struct slu_predict_value slu_predict_bits_xor(struct slu_predict_scope *s,
					      const struct slu_predict_value *a,
					      const struct slu_predict_value *b, unsigned bits);
/* a * 2^b; nothing remains of a shift by the width or more. Return: as sums (sum.h). */
const struct slu_predict_value *slu_predict_bits_shl(struct slu_predict_scope *s,
						     const struct slu_predict_value *a,
						     const struct slu_predict_value *b,
						     unsigned bits,
						     struct slu_predict_value *space);
/* @a is normalised; a shift by the width or more leaves the sign */
struct slu_predict_value slu_predict_bits_shr(struct slu_predict_scope *s,
					      const struct slu_predict_value *a,
					      const struct slu_predict_value *b, unsigned bits);
