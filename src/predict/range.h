/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* From a set of addresses to a range of bytes. */

#include "predict/kernel.h"
#include "predict/value.h"

/*
 * @bytes at every address of @v plus @offset. Return: 0, or SLU_PREDICT_RANGE_E_WIDE if that is
 * all that a register could hold: then it is no answer.
 */
enum {
	_SLU_PREDICT_RANGE_E_SUCCESS,
	SLU_PREDICT_RANGE_E_WIDE,
};
int slu_predict_range_make(const struct slu_predict_scope *s, const struct slu_predict_value *v,
			   int64_t offset, uint32_t bytes, struct slu_predict_range *ret_range);

/* Calls @each for every piece of a range, at rising levels; stops where it says false. */
bool slu_predict_range_walk(const struct slu_predict_range *range,
			    bool (*each)(void *userdata, uint64_t address, uint64_t bytes),
			    void *userdata);
