/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/managed-block.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/watch.h"
#include "softgpu/driver/profile.h"

#define BATCH_PAGES 8u /* neighbours that a card's many threads fault on together */

uint64_t dev_managed_block_bytes(void)
{
	return dev_driver.window.granule_bytes;
}

unsigned dev_managed_block_pages(void)
{
	return (unsigned)(dev_managed_block_bytes() / dev_driver.window.page_bytes);
}

uint64_t dev_managed_block_address(const struct dev_managed *m, const struct dev_managed_block *b)
{
	return m->base + (uint64_t)(b - m->blocks) * dev_managed_block_bytes();
}

struct dev_managed_block *dev_managed_block_at(struct dev_managed *m, uint64_t address)
{
	return &m->blocks[(address - m->base) / dev_managed_block_bytes()];
}

/* Runs of set bits, lowest first: [@first, +@n) of @pages. */
#define EACH_RUN(pages, first, n)                                                         \
	for (uint32_t _rest = (pages), first, n;                                          \
	     _rest && (first = (uint32_t)__builtin_ctz(_rest), n = run_at(_rest, first)); \
	     _rest &= ~run_of(first, n))

static uint32_t run_at(uint32_t pages, uint32_t first)
{
	uint32_t rest = ~(pages >> first);

	/* above the highest page there are zeroes, but for a run that reaches bit 31 */
	return rest ? (uint32_t)__builtin_ctz(rest) : 32;
}

static uint32_t run_of(uint32_t first, uint32_t n)
{
	return (n == 32 ? UINT32_MAX : (1u << n) - 1) << first;
}

void dev_managed_block_set_access(const struct dev_managed *m, const struct dev_managed_block *b,
				  unsigned card, uint32_t pages, uint8_t access)
{
	uint64_t page = dev_driver.window.page_bytes;

	EACH_RUN(pages, first, n)
	dev_window_set_pages(&dev_driver.window, card,
			     dev_managed_block_address(m, b) + first * page, n * page, access);
}

void dev_managed_block_forget(const struct dev_managed *m, struct dev_managed_block *b)
{
	if (b->card != DEV_MANAGED_HOST)
		dev_managed_block_set_access(m, b, (unsigned)b->card, b->resident, 0);
	b->resident = 0;
	b->card = DEV_MANAGED_HOST;
}

/* Which pages of the block anybody has ever written; a page of the host's may hold several. */
static uint32_t find_populated(const struct dev_managed *m, const struct dev_managed_block *b)
{
	uint64_t page = dev_driver.window.page_bytes, os = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t begin = dev_managed_block_address(m, b), bytes = dev_managed_block_bytes();
	unsigned char is_there[DEV_SETTINGS_GRANULE_BYTES / 4096];
	uint32_t populated = 0;

	if (bytes / os > sizeof(is_there) || mincore((void *)(uintptr_t)begin, bytes, is_there) < 0)
		return UINT32_MAX;
	for (unsigned i = 0; i < dev_managed_block_pages(); i++)
		for (uint64_t at = i * page / os; at * os < (i + 1) * page; at++)
			populated |= (uint32_t)(is_there[at] & 1) << i;
	return populated;
}

/* Of the halves that hold @page the largest that is filled by more than @share percent. */
static uint32_t choose_half(uint32_t there, unsigned page, unsigned share)
{
	unsigned n = dev_managed_block_pages();
	uint32_t chosen = 0;

	for (unsigned size = 2; size <= n; size *= 2) {
		uint32_t half = run_of(page / size * size, size);
		unsigned filled = (unsigned)__builtin_popcount((there | chosen) & half);

		if (filled * 100 > share * size)
			chosen = half;
	}
	return chosen;
}

uint32_t dev_managed_block_choose(const struct dev_managed_block *b, unsigned page, unsigned share)
{
	uint32_t batch = run_of(page, SLU_MIN(BATCH_PAGES, dev_managed_block_pages() - page));

	if (share == 100)
		return 1u << page;
	return batch | choose_half(b->resident | batch, page, share);
}

uint64_t dev_managed_block_bring_in(const struct dev_managed *m, struct dev_managed_block *b,
				    uint32_t pages, uint8_t access, uint64_t start_ns)
{
	struct dev_card *card = &dev_driver.cards[b->card];
	uint64_t end_ns = start_ns, page = dev_driver.window.page_bytes, bytes;

	/* what was never written need not be moved; from then on the card writes as well */
	if (!b->resident)
		b->populated = find_populated(m, b);
	bytes = (uint64_t)__builtin_popcount(pages & b->populated & ~b->resident) * page;
	if (bytes)
		end_ns = dev_card_book(card, DEV_BOARD_ENGINE_IN, bytes, start_ns);
	EACH_RUN(pages & ~b->resident, first, n)
	dev_watch_drop(dev_managed_block_address(m, b) + first * page, n * page);
	b->resident |= pages;
	dev_managed_block_set_access(m, b, card->index, pages, access);
	return end_ns;
}

uint64_t dev_managed_block_put_out(const struct dev_managed *m, struct dev_managed_block *b,
				   uint64_t start_ns)
{
	struct dev_card *card = &dev_driver.cards[b->card];
	uint64_t end_ns = start_ns, page = dev_driver.window.page_bytes;

	if (!b->is_read_mostly && b->resident)
		end_ns = dev_card_book(card, DEV_BOARD_ENGINE_OUT,
				       (uint64_t)__builtin_popcount(b->resident) * page, start_ns);
	dev_card_give_managed(card, b->place);
	dev_managed_block_forget(m, b);
	return end_ns;
}

uint32_t dev_managed_block_touched(const struct dev_managed *m, const struct dev_managed_block *b,
				   struct dev_watch *watch)
{
	uint64_t page_bytes = dev_driver.window.page_bytes, begin = dev_managed_block_address(m, b);
	uint64_t step = SLU_MIN(page_bytes, (uint64_t)sysconf(_SC_PAGESIZE));
	uint32_t touched = 0;

	for (uint32_t left = b->resident; left; left &= left - 1) {
		unsigned page = (unsigned)__builtin_ctz(left);

		for (uint64_t at = 0; at < page_bytes && !(touched >> page & 1); at += step)
			if (dev_watch_is_touched(watch, begin + page * page_bytes + at))
				touched |= 1u << page;
	}
	return touched;
}

uint64_t dev_managed_block_to_host(const struct dev_managed *m, struct dev_managed_block *b,
				   uint32_t pages, unsigned share, uint64_t start_ns)
{
	struct dev_card *card = &dev_driver.cards[b->card];
	uint64_t page_bytes = dev_driver.window.page_bytes, ns = start_ns;

	for (uint32_t left = pages & b->resident; left; left &= b->resident) {
		unsigned page = (unsigned)__builtin_ctz(left);
		uint32_t on_host = (b->populated & ~b->resident) | 1u << page, moving = 1u << page;

		if (share != 100)
			moving |= choose_half(on_host, page, share) & b->resident;
		ns = dev_card_book(card, DEV_BOARD_ENGINE_OUT,
				   (uint64_t)__builtin_popcount(moving) * page_bytes,
				   ns + card->shared->traits.fault_ns);
		dev_managed_block_set_access(m, b, card->index, moving, 0);
		b->resident &= ~moving;
		b->populated |= moving;
	}
	if (!b->resident) {
		dev_card_give_managed(card, b->place);
		dev_managed_block_forget(m, b);
	}
	return ns;
}
