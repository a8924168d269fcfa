/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A condition of a graph: a number that kernels set (cudaGraphSetConditional) and that decides
 * which graphs a branch enters. The program knows it by a number, which kernels get as a parameter;
 * it lives as long as a graph or an executable one needs it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cuabi/cuda-min.h"
#include "softgpu/driver/object.h"

struct slu_context;

struct slu_condition {
	struct slu_object object;
	unsigned n_refs; /* atomic */
	struct slu_context *context;
	unsigned value;	  /* atomic */
	unsigned initial; /* its value when a graph starts, if it @is_assigned */
	bool is_assigned;
	bool is_used; /* some branch looks at it */
};

struct slu_condition *slu_condition_new(struct slu_context *context, unsigned initial,
					bool is_assigned);
struct slu_condition *slu_condition_ref(struct slu_condition *condition);
void slu_condition_unref(struct slu_condition *condition);

CUgraphConditionalHandle slu_condition_handle(const struct slu_condition *condition);

/* Return: NULL where the handle is none. */
struct slu_condition *slu_condition_get(CUgraphConditionalHandle handle);

void slu_condition_set(struct slu_condition *condition, unsigned value);
unsigned slu_condition_value(const struct slu_condition *condition);
