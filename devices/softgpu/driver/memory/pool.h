/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Pools: memory that is allocated and freed in the order of streams. A block that was freed stays
 * with its pool and may be used again
 *
 *   - in the stream that freed it, at once;
 *   - elsewhere, when that stream has come past the free, or by waiting for it.
 *
 *   USED ─free in a stream─▶ IDLE ─alloc─▶ USED
 *                              └─trim, and the stream has come past it─▶ given back to the card
 *
 * What a pool keeps beyond its threshold is given back whenever the program synchronises, and
 * everything that is idle when an allocation does not fit. Pools belong to a card and outlive
 * contexts.
 */

#include <sys/queue.h>

#include "softgpu/driver/card.h"
#include "softgpu/driver/execution/stream.h"
#include "softgpu/driver/object.h"

struct dev_block {
	TAILQ_ENTRY(dev_block) link;
	struct dev_pool *pool;
	uint64_t address;
	uint64_t bytes;		/* as the pool counts them */
	struct dev_point freed; /* IDLE: where in a stream; USED: nothing */
	bool is_idle;
};

struct dev_pool {
	struct dev_object object;
	struct dev_card *card; /* constant, as the next two */
	CUmemPoolProps props;
	bool is_default;
	uint64_t share_id; /* names it in all processes; 0: it is not shared; constant as well */
	bool is_imported;  /* another process's: has what that one shares; constant as well */
	/* the rest is guarded by the pools' mutex */
	TAILQ_HEAD(, dev_block) used, idle; /* idle: the one that was freed first, first */
	uint64_t attributes[CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1];
	uint8_t access[DEV_SETTINGS_DEVICES_MAX];
	bool is_destroyed; /* goes when its last block comes back */
	LIST_ENTRY(dev_pool) all;
};

CUresult dev_pool_new(struct dev_card *card, const CUmemPoolProps *props,
		      struct dev_pool **ret_pool);
void dev_pool_destroy(struct dev_pool *pool);
struct dev_pool *dev_pool_get(CUmemoryPool handle);

/* The pool that a card begins with, and the one that allocations without a pool come from. */
CUresult dev_pool_default(struct dev_card *card, struct dev_pool **ret_pool);
CUresult dev_pool_current(struct dev_card *card, struct dev_pool **ret_pool);
CUresult dev_pool_set_current(struct dev_card *card, struct dev_pool *pool);

/* Usable by whatever is submitted to @stream from now on. */
CUresult dev_pool_alloc(struct dev_pool *pool, uint64_t bytes, struct dev_stream *stream,
			uint64_t *ret_address);

/*
 * Frees the block at @address after what was submitted to @stream; NULL: everything that uses it
 * has ended. Return: NOT_FOUND where there is none.
 */
CUresult dev_pool_free(uint64_t address, struct dev_stream *stream);

/* Gives back idle blocks until not more than @keep_bytes are reserved. */
void dev_pool_trim(struct dev_pool *pool, uint64_t keep_bytes);

/* Gives back everything that is idle on @card. Return: whether that was anything. */
bool dev_pool_trim_card(struct dev_card *card);

/* The program has synchronised: pools give back what is beyond their thresholds. */
void dev_pool_synchronized(void);

CUresult dev_pool_attribute(struct dev_pool *pool, CUmemPool_attribute which, void *ret_value);
CUresult dev_pool_set_attribute(struct dev_pool *pool, CUmemPool_attribute which,
				const void *value);
CUresult dev_pool_set_access(struct dev_pool *pool, struct dev_card *card, uint8_t access);

/* For the files about pools. */
void dev_pool_lock(void);
void dev_pool_unlock(void);

/* Cards whose current pool it is fall back on the one that they began with. */
void dev_pool_not_current_locked(const struct dev_pool *pool);

/* Takes over a block that is in use, which the pool did not make. */
void dev_pool_adopt(struct dev_pool *pool, struct dev_block *block);

/* -- pool-share.c: pools of other processes ------------------------------------------------- */

/* A descriptor that names the pool. */
CUresult dev_pool_export(struct dev_pool *pool, int *ret_fd);
/* Such a pool allocates nothing. */
CUresult dev_pool_import(int fd, struct dev_pool **ret_pool);
CUresult dev_pool_export_block(uint64_t address, CUmemPoolPtrExportData *ret_data);
CUresult dev_pool_import_block(struct dev_pool *pool, const CUmemPoolPtrExportData *data,
			       uint64_t *ret_address);

/* The pool of the block at @address, or NULL. */
struct dev_pool *dev_pool_of(uint64_t address);
