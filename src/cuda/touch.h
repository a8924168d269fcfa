/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one call of the program touches, as its arguments say: bytes that it reads and writes, or a
 * launch whose kernel's PTX says it (kernels.h). Two things need it: data that no call wrote is
 * clean when it leaves (writes.h), and a call whose bytes are all known may pass the gate before
 * all memory of the program is present (early.h).
 *
 * Memory of the driver, of the host and managed memory may be among the bytes: it has no units.
 */

#include <stdint.h>

#include "cuda/kernels.h"

enum slu_cuda_touch_kind {
	SLU_CUDA_TOUCH_ANYTHING,
	SLU_CUDA_TOUCH_UNWRITTEN, /* writes nothing, and may read anything */
	SLU_CUDA_TOUCH_BYTES,
	SLU_CUDA_TOUCH_LAUNCH,
	SLU_CUDA_TOUCH_GRAPH, /* writes what its nodes say (recipe.h), and may read anything */
};

struct slu_cuda_touch {
	enum slu_cuda_touch_kind kind;
	struct slu_cuda_span {
		uint64_t address, bytes;
	} written, read;	       /* BYTES */
	struct slu_cuda_launch launch; /* LAUNCH */
	CUgraphExec exec;	       /* GRAPH */
};

/* @bytes of @from become those of @to. */
static inline struct slu_cuda_touch slu_cuda_touch_copy(uint64_t to, uint64_t from, uint64_t bytes)
{
	return (struct slu_cuda_touch){ .kind = SLU_CUDA_TOUCH_BYTES,
					.written = { to, bytes },
					.read = { from, bytes } };
}

/* Writes @n_rows times @row_bytes, @pitch apart. Widths that exceed 64 bits are written everywhere.
 */
struct slu_cuda_touch slu_cuda_touch_rows(uint64_t address, uint64_t pitch, uint64_t row_bytes,
					  uint64_t n_rows);
/* UINT64_MAX if the product exceeds 64 bits. */
uint64_t slu_cuda_touch_product(uint64_t a, uint64_t b);

/* ANYTHING if the launch has attributes that make it other work. */
struct slu_cuda_touch slu_cuda_touch_configured(const CUlaunchConfig *config, CUfunction function,
						void **params, void **extra);

/* Calls @tell for each unit at the bytes of @span; until it answers false, which is returned. */
struct slu_unit;
struct slu_cuda_device;

typedef bool slu_cuda_touch_tell(void *data, const struct slu_cuda_device *device,
				 struct slu_unit *unit);
bool slu_cuda_touch_units_locked(struct slu_cuda_span span, slu_cuda_touch_tell *tell, void *data);
