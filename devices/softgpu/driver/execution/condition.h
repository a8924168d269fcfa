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

struct dev_context;

struct dev_condition {
	struct dev_object object;
	unsigned n_refs; /* atomic */
	struct dev_context *context;
	unsigned value;	  /* atomic */
	unsigned initial; /* its value when a graph starts, if it @is_assigned */
	bool is_assigned;
	bool is_used; /* some branch looks at it */
};

struct dev_condition *dev_condition_new(struct dev_context *context, unsigned initial,
					bool is_assigned);
struct dev_condition *dev_condition_ref(struct dev_condition *condition);
void dev_condition_unref(struct dev_condition *condition);

CUgraphConditionalHandle dev_condition_handle(const struct dev_condition *condition);

/* Return: NULL where the handle is none. */
struct dev_condition *dev_condition_get(CUgraphConditionalHandle handle);

void dev_condition_set(struct dev_condition *condition, unsigned value);
unsigned dev_condition_value(const struct dev_condition *condition);
