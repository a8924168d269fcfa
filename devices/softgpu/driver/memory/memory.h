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

struct dev_arena;
struct dev_context;
struct dev_slab;
struct dev_block;

/* Something with an address, as pointer queries see it. */
struct dev_alloc {
	uint64_t base;
	uint64_t bytes;		     /* as asked for */
	uint64_t mapped_bytes;	     /* of a large one: whole granules; 0 for a small one */
	struct dev_slab *slab;	     /* of a small one */
	struct dev_arena *arena;     /* of a graph's, which has neither; NULL: of none */
	struct dev_context *context; /* in which it was made; NULL: outlives contexts */
	struct dev_card *card;
	struct dev_block *block; /* of a pool; NULL: of none */
	uint64_t id;
};

struct dev_host {
	uint64_t base;
	uint64_t bytes;
	struct dev_context *context;
	unsigned flags;
	bool is_ours; /* allocated by us, not only registered */
	uint64_t id;
};

/* Return: 0, DEV_CARD_E_FULL, -errno. */
int dev_memory_alloc(struct dev_context *context, uint64_t bytes, uint64_t *ret_address);

/* As above, for a pool: belongs to @block and to no context. */
int dev_memory_alloc_block(struct dev_card *card, uint64_t bytes, struct dev_block *block,
			   uint64_t *ret_address);

/*
 * Addresses for a graph, whose memory comes with the first use of the arena.
 * Return: 0, DEV_CARD_E_FULL where the card is smaller, -errno.
 */
int dev_memory_alloc_later(struct dev_card *card, uint64_t bytes, struct dev_arena **ret_arena,
			   uint64_t *ret_address);

/*
 * The same for what another process has shared: @bytes at @offset of what the ticket names.
 * Return: 0, -ENOENT where it is gone or not so large, -errno.
 */
int dev_memory_import_block(struct dev_card *card, const struct dev_card_ticket *ticket,
			    uint64_t offset, uint64_t bytes, struct dev_block *block,
			    uint64_t *ret_address);

/* Memory of the host, in the window, that no card may use yet; for managed memory. */
int dev_memory_map_host(uint64_t bytes, uint64_t *ret_address);
void dev_memory_unmap(uint64_t address, uint64_t bytes);

/* Frees the allocation that begins at @address. Return: 0, or -EINVAL where there is none. */
int dev_memory_free(uint64_t address);

/* Frees what was allocated in @context and not freed. */
void dev_memory_drop_context(struct dev_context *context);

/*
 * Lets kernels of @card reach what was and will be allocated in @context, or not any more.
 * Return: false where that is so already.
 */
bool dev_memory_set_peer(struct dev_context *context, struct dev_card *card, bool on);

/* Return: the allocation that holds @address, or NULL; with the driver's lock held. */
struct dev_alloc *dev_memory_find_locked(uint64_t address);
/* A number that no other allocation has or had. */
uint64_t dev_memory_new_id_locked(void);

/* -- memory-host.c -------------------------------------------------------------------------- */

struct dev_host *dev_memory_find_host_locked(uint64_t address);
/* Return: the first one that ends above @address, or NULL. */
const struct dev_span *dev_memory_host_from_locked(uint64_t address);

int dev_memory_host_alloc(struct dev_context *context, uint64_t bytes, unsigned flags,
			  void **ret_pointer);
/* Return: 0, -EEXIST where part of it is registered already. */
int dev_memory_host_register(struct dev_context *context, void *pointer, uint64_t bytes,
			     unsigned flags);
/* @is_ours: free what was allocated; else unregister. Return: 0, -EINVAL. */
int dev_memory_host_drop(void *pointer, bool is_ours);

/* The pinned ranges for a kernel; given back with unref. */
struct dev_memory_ranges {
	unsigned n_refs;
	size_t n;
	struct dev_interp_range ranges[];
};
struct dev_memory_ranges *dev_memory_ranges_ref(void);
void dev_memory_ranges_unref(struct dev_memory_ranges *ranges);

enum dev_memory_kind {
	DEV_MEMORY_PAGEABLE, /* not ours, as far as we know */
	DEV_MEMORY_PINNED,   /* host memory of any kind that the card reaches */
	DEV_MEMORY_DEVICE,
	DEV_MEMORY_INVALID, /* in the window, but not (wholly) usable by the card */
};

/*
 * What lies at @address, and how many of the following @bytes are of the same kind and mapping.
 * @card: for whom, where the memory belongs to no card; in device memory its own card.
 */
enum dev_memory_kind dev_memory_piece(struct dev_card *card, uint64_t address, uint64_t bytes,
				      uint8_t access, uint64_t *ret_bytes,
				      struct dev_card **ret_card);

/* Whether the whole range may be used so, and whether any of it is pageable. */
bool dev_memory_is_usable(struct dev_card *card, uint64_t address, uint64_t bytes, uint8_t access,
			  bool *ret_is_pageable);

/* Whether that will be so when a graph is launched, whose memory comes with the launch. */
bool dev_memory_will_be_usable(struct dev_card *card, uint64_t address, uint64_t bytes,
			       uint8_t access, bool *ret_is_pageable);
