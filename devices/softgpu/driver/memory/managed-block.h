/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A block of managed memory: where each of its pages is, and what moves them. Everything here is
 * guarded by the lock of managed memory.
 */

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/driver/card.h"

struct dev_context;
struct dev_watch;

struct dev_managed_block {
	int8_t card;	     /* whose granule it has; DEV_MANAGED_HOST: none */
	int8_t preferred;    /* a card, HOST or NONE */
	int8_t prefetched;   /* where it was sent last; as above */
	uint8_t accessed_by; /* a bit a card; bit 7 is the host */
	bool is_read_mostly;
	struct dev_card_place place;
	uint32_t resident; /* a set bit: that page is on the card */
	uint32_t populated; /* … had been written when the first one came there, or went to the host
			     */
	uint32_t remote;    /* a set bit: some kernel uses it over the bus */
};

struct dev_managed {
	uint64_t base, bytes, mapped_bytes, id;
	struct dev_context *context;
	struct dev_managed_block blocks[];
};

void dev_managed_lock(void);
void dev_managed_unlock(void);

/* Return: the managed memory that holds @address, or NULL. */
struct dev_managed *dev_managed_find_locked(uint64_t address);

uint64_t dev_managed_block_bytes(void);
unsigned dev_managed_block_pages(void);
uint64_t dev_managed_block_address(const struct dev_managed *m, const struct dev_managed_block *b);
struct dev_managed_block *dev_managed_block_at(struct dev_managed *m, uint64_t address);

/* The blocks of [@address, +@bytes) one after the other. */
#define DEV_MANAGED_EACH_BLOCK(m, b, address, bytes)               \
	for (uint64_t _at = (address), _end = (address) + (bytes); \
	     _at < _end && (m = dev_managed_find_locked(_at)) &&   \
	     (b = dev_managed_block_at(m, _at));                   \
	     _at = dev_managed_block_address(m, b) + dev_managed_block_bytes())

/* Sets what @card may do with these pages of the block. */
void dev_managed_block_set_access(const struct dev_managed *m, const struct dev_managed_block *b,
				  unsigned card, uint32_t pages, uint8_t access);

/* The card has nothing of it any more; its granule is somebody else's, or given back. */
void dev_managed_block_forget(const struct dev_managed *m, struct dev_managed_block *b);

/* What a fault of a card on @page brings: its batch, and of the block as large a half as is filled
 * by more than @share percent then. */
uint32_t dev_managed_block_choose(const struct dev_managed_block *b, unsigned page, unsigned share);

/* Pages come to the card that has a granule for the block. Return: when they are there. */
uint64_t dev_managed_block_bring_in(const struct dev_managed *m, struct dev_managed_block *b,
				    uint32_t pages, uint8_t access, uint64_t start_ns);

/* All of it goes to the host, and the granule is given back. Return: when that has happened. */
uint64_t dev_managed_block_put_out(const struct dev_managed *m, struct dev_managed_block *b,
				   uint64_t start_ns);

/* Return: of the pages that are on a card, those that the host has touched since they came. */
uint32_t dev_managed_block_touched(const struct dev_managed *m, const struct dev_managed_block *b,
				   struct dev_watch *watch);

/* The host has touched @pages, and with them comes what dev_managed_block_choose() would bring the
 * other way. Return: when they are there. */
uint64_t dev_managed_block_to_host(const struct dev_managed *m, struct dev_managed_block *b,
				   uint32_t pages, unsigned share, uint64_t start_ns);
