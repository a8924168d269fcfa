/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pools between processes. A descriptor names the pool; each block that shall be seen is exported
 * by itself, as 64 bytes that are copied. What the other side gets is the memory under the block,
 * which it holds like any exported memory: it lives as long as somebody does.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/memory/pool.h"
#include "softgpu/driver/memory/ticket.h"

#define POOL_MAGIC UINT32_C(0x6c6f6f50)

struct pool_ticket {
	uint32_t magic;
	uint32_t card;
	uint64_t share_id;
	uint8_t uuid[16]; /* of the card */
};

struct block_ticket {
	struct dev_card_ticket memory;
	uint64_t share_id; /* of its pool */
	uint64_t offset;
	uint64_t bytes;
};

_Static_assert(sizeof(struct block_ticket) <= sizeof(CUmemPoolPtrExportData),
	       "an exported block has 64 bytes");

CUresult dev_pool_export(struct dev_pool *pool, int *ret_fd)
{
	struct pool_ticket ticket = { .magic = POOL_MAGIC,
				      .card = pool->card->number,
				      .share_id = pool->share_id };

	if (!pool->share_id || pool->is_imported)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(ticket.uuid, dev_board_identity(pool->card->board)->uuid, sizeof(ticket.uuid));
	return dev_ticket_write(&ticket, sizeof(ticket), ret_fd) ? CUDA_ERROR_OPERATING_SYSTEM
								 : CUDA_SUCCESS;
}

CUresult dev_pool_import(int fd, struct dev_pool **ret_pool)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	struct pool_ticket ticket;
	struct dev_card *card;
	CUresult result;

	if (dev_ticket_read(fd, sizeof(ticket), &ticket) || ticket.magic != POOL_MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev_driver_card_numbered(ticket.card, &card) ||
	    memcmp(ticket.uuid, dev_board_identity(card->board)->uuid, sizeof(ticket.uuid)))
		return CUDA_ERROR_INVALID_VALUE;
	props.location.id = (int)card->index;
	result = dev_pool_new(card, &props, ret_pool);
	if (result)
		return result;
	(*ret_pool)->share_id = ticket.share_id;
	(*ret_pool)->is_imported = true;
	return CUDA_SUCCESS;
}

CUresult dev_pool_export_block(uint64_t address, CUmemPoolPtrExportData *ret_data)
{
	const struct dev_pool *pool = dev_pool_of(address);
	struct block_ticket ticket = { 0 };
	const struct dev_mapping *m;
	const struct dev_alloc *a;
	int r = -EINVAL;

	if (!pool || !pool->share_id || pool->is_imported)
		return CUDA_ERROR_INVALID_VALUE;
	dev_driver_lock();
	a = dev_memory_find_locked(address);
	m = dev_window_mapping(&dev_driver.window, address);
	if (a && m && a->base == address) {
		r = dev_phys_export(m->phys);
		ticket.memory = m->phys->ticket;
		ticket.share_id = pool->share_id;
		ticket.offset = a->base - m->base;
		ticket.bytes = a->bytes;
	}
	dev_driver_unlock();
	if (r)
		return dev_driver_result(r);
	memset(ret_data, 0, sizeof(*ret_data));
	memcpy(ret_data->reserved, &ticket, sizeof(ticket));
	return CUDA_SUCCESS;
}

CUresult dev_pool_import_block(struct dev_pool *pool, const CUmemPoolPtrExportData *data,
			       uint64_t *ret_address)
{
	struct block_ticket ticket;
	struct dev_block *block;
	int r;

	memcpy(&ticket, data->reserved, sizeof(ticket));
	if (!pool->is_imported || ticket.share_id != pool->share_id || !ticket.bytes)
		return CUDA_ERROR_INVALID_VALUE;
	block = calloc(1, sizeof(*block));
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->pool = pool;
	block->bytes = ticket.bytes;
	r = dev_memory_import_block(pool->card, &ticket.memory, ticket.offset, ticket.bytes, block,
				    &block->address);
	if (r) {
		free(block);
		return r == -ENOENT ? CUDA_ERROR_INVALID_VALUE : dev_driver_result(r);
	}
	dev_pool_adopt(pool, block);
	*ret_address = block->address;
	return CUDA_SUCCESS;
}
