/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The device's addresses: one window of this process's address space, the same for all cards,
 * reserved once. The CPU's memory management plays the card's: mapping physical memory at an
 * address is mmap(), and it is done in two places. The view has the bytes of every address as the
 * cards see them; nobody but kernels and copies knows where it is. At the address itself the
 * program finds the host's memory, and of a card's memory nothing, as with a real card. (That the
 * program's own accesses leave traces in other page tables than the cards' is what watch.h needs.)
 * Beside the view each card has a table with one byte a page (a granule has 32, where they are not
 * too small) that says what its kernels and copies may do there; nothing is touched without a look
 * at it.
 *
 *   reserved ─map─▶ mapped, access none ─set access─▶ mapped, usable ─unmap─▶ reserved
 *
 * By the driver's rules: a mapping is a whole handle at offset 0; unmap takes whole mappings and
 * waits for nobody; after a new map the access rights start from none. Work that runs meanwhile
 * finds the access byte cleared, and, for the instant between its look and its access, harmless
 * memory instead of a hole.
 *
 * Everything here is guarded by the driver's lock, but for the tables (bytes, read at any time)
 * and dev_window_enter/leave.
 */

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/driver/memory/phys.h"
#include "softgpu/driver/memory/spans.h"
#include "softgpu/driver/settings.h"

enum {
	DEV_WINDOW_READ = 1 << 0,
	DEV_WINDOW_WRITE = 1 << 1,
};

struct dev_mapping {
	uint64_t base;
	struct dev_phys *phys;
	uint8_t access[DEV_SETTINGS_DEVICES_MAX];
	bool is_host_readable, is_host_writable;
};

struct dev_window {
	uint64_t base, bytes; /* constant after init */
	uint8_t *view;
	uint64_t granule_bytes;
	uint64_t page_bytes;
	unsigned shift; /* of a page */
	unsigned n_cards;
	uint8_t *access[DEV_SETTINGS_DEVICES_MAX]; /* one byte a page */
	unsigned n_host;	       /* mappings of the host's memory that a card may use */
	struct dev_spans reservations; /* data: the reservation's own address */
	struct dev_spans mappings;     /* data: struct dev_mapping */
	unsigned n_inside;	       /* kernels and copies under way; atomic */
};

enum {
	_DEV_WINDOW_E_SUCCESS,
	DEV_WINDOW_E_INVALID, /* not so: overlaps, is not reserved, is only a part, … */
	DEV_WINDOW_E_FULL,    /* so many addresses are not free */
};

int dev_window_init(struct dev_window *window, uint64_t granule_bytes, unsigned n_cards);

static inline bool dev_window_has(const struct dev_window *window, uint64_t address)
{
	return address - window->base < window->bytes;
}

/* Where a card finds what is at @address, which may also be one of the host's own. */
static inline void *dev_window_place(const struct dev_window *window, uint64_t address)
{
	return dev_window_has(window, address) ? window->view + (address - window->base)
					       : (void *)(uintptr_t)address;
}

int dev_window_reserve(struct dev_window *window, uint64_t bytes, uint64_t align, uint64_t hint,
		       uint64_t *ret_address);
int dev_window_release(struct dev_window *window, uint64_t address, uint64_t bytes);

/* Maps the whole of @phys and takes a reference to it. */
int dev_window_map(struct dev_window *window, uint64_t address, struct dev_phys *phys);
int dev_window_unmap(struct dev_window *window, uint64_t address, uint64_t bytes);

/* Sets what card @card may do (−1: what the host may do) in a range of whole mappings. */
int dev_window_set_access(struct dev_window *window, uint64_t address, uint64_t bytes, int card,
			  uint8_t access);

/* Sets what card @card may do in whole pages, whatever is mapped there. */
void dev_window_set_pages(struct dev_window *window, unsigned card, uint64_t address,
			  uint64_t bytes, uint8_t access);

/* Whether all bytes of the range may be used so by card @card. Needs no lock. */
bool dev_window_may(const struct dev_window *window, unsigned card, uint64_t address,
		    uint64_t bytes, uint8_t access);

/*
 * Takes the memory of cards away from all addresses, and shows it there again; what cards may do
 * stays as it is, so nothing may run meanwhile. Return: 0, or -errno with part of it done.
 */
int dev_window_blank(struct dev_window *window);
int dev_window_show(struct dev_window *window);

/* Return: the mapping that holds @address, or NULL. */
struct dev_mapping *dev_window_mapping(const struct dev_window *window, uint64_t address);

/* Around everything that touches device memory. */
void dev_window_enter(struct dev_window *window);
void dev_window_leave(struct dev_window *window);
