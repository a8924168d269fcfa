/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sums and multiples of sets: most of what an evaluation does. The result is @space, filled in, or
 * an operand itself; @space is neither operand.
 */

#include "predict/value.h"

/* a + b */
const struct slu_predict_value *slu_predict_sum_add(struct slu_predict_scope *s,
						    const struct slu_predict_value *a,
						    const struct slu_predict_value *b,
						    struct slu_predict_value *space);
/* a - b */
const struct slu_predict_value *slu_predict_sum_sub(struct slu_predict_scope *s,
						    const struct slu_predict_value *a,
						    const struct slu_predict_value *b,
						    struct slu_predict_value *space);
/* a * k */
const struct slu_predict_value *slu_predict_sum_multiply(struct slu_predict_scope *s,
							 const struct slu_predict_value *a,
							 int64_t k,
							 struct slu_predict_value *space);
/* a * b */
const struct slu_predict_value *slu_predict_sum_product(struct slu_predict_scope *s,
							const struct slu_predict_value *a,
							const struct slu_predict_value *b,
							struct slu_predict_value *space);
