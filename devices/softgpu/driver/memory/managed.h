/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Managed memory: one address for host and cards, pages that come to a card when a kernel touches
 * them and go when others need the memory. It is done as the vendor's driver does it, so that it is
 * the baseline to beat:
 *
 *   - a block is a granule (2 MiB, scaled), a page a 32nd of it (64 KiB, scaled);
 *   - a fault brings the pages of its batch, and of the block as much as the share of pages that
 *     are there by then recommends (a tree of halves; more than 51 % of a half brings all of it);
 *   - a block takes a whole granule of the card; on a full card the block of any process that
 *     faulted longest ago goes out first, and only then the new one comes in;
 *   - where none can be had, or the host is the preferred place, a page is used over the
 *     bus;
 *   - pages that the host touches go to the host, a fault of its own each, and by the same tree as
 *     much next to them as is mostly on the host by then.
 *
 * What is real: the memory of the card, in all processes together, and who has it; the faults, page
 * by page, of kernels and of the host. What is modelled: the bytes always lie in the host's memory,
 * where both sides find them at the same address; only the time of their way is taken. The host
 * itself therefore never waits in the middle of an access: what it has touched is found out
 * afterwards (watch.h), when a kernel or a copy starts, when somebody synchronises, and when the
 * memory is freed, and the time is taken there.
 *
 *   HOST ─fault, prefetch─▶ ON A CARD (some pages, a granule)
 *                                     ─evicted, prefetch to the host, touched by it─▶ HOST
 *
 * SLUICE_SOFTGPU_PREFETCH is the share in percent; 1 is what tuned systems use, 100 switches it
 * off.
 *
 * With SLUICE_SOFTGPU_PAGING_LOG=FILE each launch that met faults is a line there: PID FAULTS.
 *
 * Guarded by a mutex of its own, which is taken before the driver's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cuabi/cuda-min.h"
#include "softgpu/driver/card.h"

struct dev_context;

#define DEV_MANAGED_HOST (-1) /* in place of a card's number */
#define DEV_MANAGED_NONE (-2)

/* Return: 0, -errno. */
int dev_managed_alloc(struct dev_context *context, uint64_t bytes, unsigned flags,
		      uint64_t *ret_address);

/* Return: -ENOENT where no managed memory begins at @address. */
int dev_managed_free(uint64_t address);
void dev_managed_drop_context(struct dev_context *context);

/* What is known of the managed memory that holds @address. */
struct dev_managed_view {
	uint64_t base, bytes, id;
	struct dev_context *context;
	int card;	     /* where the page lies now; DEV_MANAGED_HOST */
	uint64_t page_bytes; /* how many bytes from @address on lie in the same page */
};
bool dev_managed_look(uint64_t address, struct dev_managed_view *ret_view);

/* What the host has touched since the last time goes to the host, which takes its time. */
void dev_managed_notice(void);

/* In front of a kernel on @card: what was taken away meanwhile is noticed. */
void dev_managed_begin(struct dev_card *card);

/* After a kernel on @card. Return: when the last of its faults has been served. */
uint64_t dev_managed_end(struct dev_card *card);

/* As dev_interp_memory.admit wants it; @card is a struct dev_card. */
bool dev_managed_admit(void *card, uint64_t page, uint8_t want);

/* Whether all of the range is managed memory. */
bool dev_managed_has(uint64_t address, uint64_t bytes);

/* Brings a range to a card, or to the host. Return: when that has happened, in the device's time.
 */
uint64_t dev_managed_prefetch(uint64_t address, uint64_t bytes, int where, uint64_t start_ns);

/* All of it goes to the host; with the lock of managed memory held. */
void dev_managed_leave_cards_locked(void);

CUresult dev_managed_advise(uint64_t address, uint64_t bytes, CUmem_advise advice, int where);

/* Return: what holds for the whole range; DEV_MANAGED_NONE where its parts differ. */
int dev_managed_attribute(uint64_t address, uint64_t bytes, CUmem_range_attribute which);
bool dev_managed_accessed_by(uint64_t address, uint64_t bytes, int where);
