/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ledger of a process: its addresses and their owners. It answers the program's questions about
 * addresses, so that the program never sees where the bytes are, and it finds the allocation to
 * free. Pure: it makes no driver call and takes no lock.
 *
 * A *range* is a reserved run of addresses that consists of *extents*, one driver handle and one
 * unit of placement each. A large allocation has a range of its own. Small ones (under a granule)
 * share a range of one extent, a *slab*; a slab is cut first-fit in pieces of 512 bytes, the
 * alignment that the genuine driver gives. A *segment* is a range that belongs to a memory pool.
 * The pool keeps its allocations (pool-space.h); the ledger has it as a slab that is never opened.
 *
 *   program's view    allocation  [base, base + bytes)       what cuMemAlloc returned
 *   our view          range       [base, base + n granules)  large: 1 allocation; slab: many
 *                     extent      [base, base + class)       moves as a whole
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/compare.h"

struct slu_cuda_handle;
struct slu_unit;
struct slu_ledger;
struct slu_range;

/* The genuine driver's alignment of small allocations. */
#define SLU_LEDGER_ALIGN 512

/* Extents are at most so many granules: the cost of mapping is a handle's, the cost of waste a
 * unit's. */
#define SLU_LEDGER_EXTENT_GRANULES_MAX 16

struct slu_extent {
	uint64_t address;	 /* constant */
	uint64_t bytes;		 /* constant; a multiple of the granule */
	struct slu_range *range; /* constant */
	struct slu_unit *unit;	 /* the client's; NULL until it is made, and when it ends */
	uint64_t handle; /* the driver's, while it is on the device or mapped; the back end's
			    business */
	void *cpu;	 /* where the CPU sees a mapped extent; the back end's business */
	struct slu_cuda_compared compared;
	uint64_t hinted; /* dead by the program's word up to this submission; 0: not (dead.h) */
	bool stays;	 /* on the device without a unit, so it does not move (vmm.h) */
};

enum slu_range_kind {
	SLU_RANGE_LARGE, /* one allocation, cut into extents */
	SLU_RANGE_WHOLE, /* one allocation that is one extent, whatever its size */
	SLU_RANGE_SLAB,	 /* shared by small allocations */
};

struct slu_range {
	uint64_t address, bytes;	/* constant; whole granules */
	void *device;			/* the front end's device; constant */
	void *context;			/* the context that owns it, or NULL; constant */
	struct slu_cuda_handle *handle; /* the program's handle of it (handle.h), or NULL */
	bool is_slab;
	bool is_open;	 /* a slab: may be cut. Set by the caller once its extent has its unit */
	void *pool;	 /* a segment of that pool, which knows what is allocated in it */
	size_t n_absent; /* a segment: extents that the pool gave back, without a unit */
	size_t n_allocations; /* live ones in it */
	size_t n_extents;
	struct slu_extent extents[]; /* in order of address, without gaps */
};

/* What the program sees. */
struct slu_allocation {
	uint64_t address, bytes; /* as asked for, not rounded */
	struct slu_range *range;
	uint64_t id;	/* stable, never used again: CU_POINTER_ATTRIBUTE_BUFFER_ID */
	bool is_ending; /* the program has freed it, behind what a stream does */
};

int slu_ledger_new(struct slu_ledger **ret_ledger);
void slu_ledger_free(struct slu_ledger *ledger);

/*
 * Adds the range that starts at @address, of whole granules, cut into extents. A slab begins
 * without allocations; the other kinds have one of @bytes.
 *
 * Return: 0, or -ENOMEM.
 */
int slu_ledger_add(struct slu_ledger *ledger, uint64_t address, uint64_t bytes,
		   uint64_t granule_bytes, enum slu_range_kind kind, void *device, void *context,
		   struct slu_range **ret_range);

/* Takes out a range; all allocations in it go. The caller has given its extents back. */
void slu_ledger_remove(struct slu_ledger *ledger, struct slu_range *range);

/*
 * Cuts @bytes from an open slab of @device and @context that has them free.
 * Return: 0, SLU_LEDGER_E_NO_SLAB (add one and ask again), or -ENOMEM.
 */
enum { _SLU_LEDGER_E_SUCCESS, SLU_LEDGER_E_NO_SLAB, SLU_LEDGER_E_UNKNOWN };

int slu_ledger_cut(struct slu_ledger *ledger, uint64_t bytes, void *device, void *context,
		   uint64_t *ret_address);

/*
 * Ends the allocation that begins at @address. *ret_empty is its range when nothing is left in
 * it (the caller gives it back and calls slu_ledger_remove()), else NULL.
 *
 * Return: 0, or SLU_LEDGER_E_UNKNOWN if no allocation of ours begins there.
 */
int slu_ledger_end(struct slu_ledger *ledger, uint64_t address, struct slu_range **ret_empty);

/*
 * The program has freed the allocation that begins at @address, and may not do so again.
 * Return: whether there was one to be freed.
 */
bool slu_ledger_begin_end(struct slu_ledger *ledger, uint64_t address);

/* The range that contains @address, or NULL. */
struct slu_range *slu_ledger_find_range(const struct slu_ledger *ledger, uint64_t address);

/* The first range that ends above @address, or NULL. */
struct slu_range *slu_ledger_find_range_from(const struct slu_ledger *ledger, uint64_t address);

/* An id for an allocation that the ledger does not keep. */
uint64_t slu_ledger_next_id(struct slu_ledger *ledger);

/* The allocation that contains @address, or NULL. Valid until the ledger changes. */
const struct slu_allocation *slu_ledger_find(const struct slu_ledger *ledger, uint64_t address);

/* Iterates over all ranges: *cursor starts at 0. Return: NULL at the end. */
struct slu_range *slu_ledger_next(const struct slu_ledger *ledger, size_t *cursor);
