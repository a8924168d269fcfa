/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A table of references (refs.h) that the program's threads share. Each function takes
 * slu_cuda.lock, so none is called with it.
 */

#include "cuda/refs.h"

struct slu_cuda_table {
	struct slu_refs refs; /* guarded by slu_cuda.lock */
	/* Constant; called with the lock: one reference more to a target, for the thread that found
	 * it. NULL: targets are not counted. */
	void (*hold_locked)(void *target);
};

enum {
	_SLU_CUDA_TABLE_E_SUCCESS,
	SLU_CUDA_TABLE_E_TAKEN, /* another reference covers one of the places */
};

/* Return: 0, or -ENOMEM. */
int slu_cuda_table_add(struct slu_cuda_table *table, struct slu_ref ref);

/* Adds it where no other is. Return: 0, SLU_CUDA_TABLE_E_TAKEN, or -ENOMEM. */
int slu_cuda_table_add_alone(struct slu_cuda_table *table, struct slu_ref ref);

/* The first reference that covers @at. Its target, unless it is NULL, is held for the caller. */
bool slu_cuda_table_find(struct slu_cuda_table *table, uint64_t at, struct slu_ref *ret_ref);

/* As slu_refs_overlaps(), slu_refs_retarget() and slu_refs_take(). */
bool slu_cuda_table_overlaps(struct slu_cuda_table *table, uint64_t at, uint64_t n);
void slu_cuda_table_retarget(struct slu_cuda_table *table, uint64_t at, void *target);
bool slu_cuda_table_take(struct slu_cuda_table *table, uint64_t at, uint64_t n,
			 struct slu_ref *ret_ref);
