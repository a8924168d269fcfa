/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What follows from a comparison that is known to hold: for a value, and for a loop's turns. */

#include "predict/value.h"

/*
 * The members of @a for which `a relation b` can hold, as numbers of @type. If @keeps is set, the
 * result is ANY where these are not the members of @a themselves: whoever compares the result with
 * @a needs the same numbers, not the same modulo 2^bits. Return: as slu_predict_value_norm().
 */
const struct slu_predict_value *
slu_predict_relation_refine(struct slu_predict_scope *s, const struct slu_predict_value *a,
			    const struct slu_predict_value *b, enum slu_predict_relation relation,
			    struct slu_predict_type type, bool keeps,
			    struct slu_predict_value *space);

/*
 * A loop goes on after its k-th turn (from 0 on) only if `first + k * step relation bound`. Return:
 * 0 … the last k of a turn that can begin.
 */
struct slu_predict_value slu_predict_relation_turns(
	struct slu_predict_scope *s, const struct slu_predict_value *first,
	const struct slu_predict_value *step, const struct slu_predict_value *bound,
	enum slu_predict_relation relation, struct slu_predict_type type, bool is_bound_fixed);
