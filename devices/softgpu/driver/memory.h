/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What cuMemAlloc() and the functions for host memory hand out, and what a pointer is.
 *
 * A large allocation is whole granules of its own; small ones share a granule (a slab) in steps of
 * 512 bytes. Host memory that is pinned, allocated by us or registered, is a list of ranges; every
 * change makes a new copy of the list for the kernels, so that a running one keeps its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/driver/driver.h"
#include "softgpu/interp/interp.h"

struct slu_context;
struct slu_slab;
struct slu_block;

/* Something with an address, as pointer queries see it. */
struct slu_alloc {
	uint64_t base;
	uint64_t bytes;		     /* as asked for */
	uint64_t mapped_bytes;	     /* of a large one: whole granules; 0 for a small one */
	struct slu_slab *slab;	     /* of a small one */
	struct slu_context *context; /* in which it was made; NULL: outlives contexts */
	struct slu_card *card;
	struct slu_block *block; /* of a pool; NULL: of none */
	uint64_t id;
};

struct slu_host {
	uint64_t base;
	uint64_t bytes;
	struct slu_context *context;
	unsigned flags;
	bool is_ours; /* allocated by us, not only registered */
	uint64_t id;
};

/* Return: 0, SLU_CARD_E_FULL, -errno. */
int slu_memory_alloc(struct slu_context *context, uint64_t bytes, uint64_t *ret_address);

/* As above, for a pool: belongs to @block and to no context. */
int slu_memory_alloc_block(struct slu_card *card, uint64_t bytes, struct slu_block *block,
			   uint64_t *ret_address);

/*
 * The same for what another process has shared: @bytes at @offset of what the ticket names.
 * Return: 0, -ENOENT where it is gone or not so large, -errno.
 */
int slu_memory_import_block(struct slu_card *card, const struct slu_card_ticket *ticket,
			    uint64_t offset, uint64_t bytes, struct slu_block *block,
			    uint64_t *ret_address);

/* Memory of the host, in the window, that no card may use yet; for managed memory. */
int slu_memory_map_host(uint64_t bytes, uint64_t *ret_address);
void slu_memory_unmap(uint64_t address, uint64_t bytes);

/* Frees the allocation that begins at @address. Return: 0, or -EINVAL where there is none. */
int slu_memory_free(uint64_t address);

/* Frees what was allocated in @context and not freed. */
void slu_memory_drop_context(struct slu_context *context);

/*
 * Lets kernels of @card reach what was and will be allocated in @context, or not any more.
 * Return: false where that is so already.
 */
bool slu_memory_set_peer(struct slu_context *context, struct slu_card *card, bool on);

/* Return: the allocation that holds @address, or NULL; with the driver's lock held. */
struct slu_alloc *slu_memory_find_locked(uint64_t address);
/* A number that no other allocation has or had. */
uint64_t slu_memory_new_id_locked(void);

/* -- memory-host.c -------------------------------------------------------------------------- */

struct slu_host *slu_memory_find_host_locked(uint64_t address);
/* Return: the first one that ends above @address, or NULL. */
const struct slu_span *slu_memory_host_from_locked(uint64_t address);

int slu_memory_host_alloc(struct slu_context *context, uint64_t bytes, unsigned flags,
			  void **ret_pointer);
/* Return: 0, -EEXIST where part of it is registered already. */
int slu_memory_host_register(struct slu_context *context, void *pointer, uint64_t bytes,
			     unsigned flags);
/* @is_ours: free what was allocated; else unregister. Return: 0, -EINVAL. */
int slu_memory_host_drop(void *pointer, bool is_ours);

/* The pinned ranges for a kernel; given back with unref. */
struct slu_memory_ranges {
	unsigned n_refs;
	size_t n;
	struct slu_interp_range ranges[];
};
struct slu_memory_ranges *slu_memory_ranges_ref(void);
void slu_memory_ranges_unref(struct slu_memory_ranges *ranges);

enum slu_memory_kind {
	SLU_MEMORY_PAGEABLE, /* not ours, as far as we know */
	SLU_MEMORY_PINNED,   /* host memory of any kind that the card reaches */
	SLU_MEMORY_DEVICE,
	SLU_MEMORY_INVALID, /* in the window, but not (wholly) usable by the card */
};

/*
 * What lies at @address, and how many of the following @bytes are of the same kind and mapping.
 * @card: for whom, where the memory belongs to no card; in device memory its own card.
 */
enum slu_memory_kind slu_memory_piece(struct slu_card *card, uint64_t address, uint64_t bytes,
				      uint8_t access, uint64_t *ret_bytes,
				      struct slu_card **ret_card);

/* Whether the whole range may be used so, and whether any of it is pageable. */
bool slu_memory_is_usable(struct slu_card *card, uint64_t address, uint64_t bytes, uint8_t access,
			  bool *ret_is_pageable);
