/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/snapshot.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/fault.h"
#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/phys.h"

static uint64_t hidden_bytes[DEV_SETTINGS_DEVICES_MAX]; /* while TAKEN: to be taken again */

static void *make_space(uint64_t bytes, int protection)
{
	void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A step that can be ordered to fail. */
static int step_begin(void)
{
	uint64_t extra_ns;

	return dev_fault_next(DEV_FAULT_SUSPEND, &extra_ns) == DEV_FAULT_FAIL ? slu_error(-EIO) : 0;
}

/* Copies the memory of @phys, mapped for that, to its saved bytes, or back. */
static int phys_copy(const struct dev_phys *phys, bool is_out)
{
	uint8_t *at = make_space(phys->bytes, PROT_NONE);
	int r;

	if (!at)
		return slu_error(-ENOMEM);
	r = dev_phys_map(phys, at);
	if (!r)
		memcpy(is_out ? phys->saved : at, is_out ? at : phys->saved, phys->bytes);
	munmap(at, phys->bytes);
	return slu_fold(r);
}

static void phys_forget(struct dev_phys *phys)
{
	if (phys->saved)
		munmap(phys->saved, phys->bytes);
	phys->saved = NULL;
}

static int phys_save(struct dev_phys *phys)
{
	int r = step_begin();

	if (r)
		return slu_fold(r);
	phys->saved = make_space(phys->bytes, PROT_READ | PROT_WRITE);
	if (!phys->saved)
		return slu_error(-ENOMEM);
	return slu_fold(phys_copy(phys, true));
}

static void forget_all(void)
{
	for (struct dev_phys *phys = dev_phys_first(); phys; phys = dev_phys_next(phys))
		phys_forget(phys);
}

/* What goes over the bus takes its time. */
static void wait_for_bus(const uint64_t *bytes, enum dev_board_engine engine)
{
	uint64_t now_ns = slu_clock_now_ns(), end_ns = now_ns;

	for (unsigned i = 0; i < dev_driver.n_cards; i++)
		if (bytes[i])
			end_ns = SLU_MAX(end_ns, dev_card_book(&dev_driver.cards[i], engine,
							       bytes[i], now_ns));
	dev_card_sleep_until(end_ns);
}

static bool is_shared(void)
{
	for (unsigned i = 0; i < dev_driver.n_cards; i++)
		for (unsigned j = 0; j < DEV_CARD_EXPORTS_MAX; j++)
			if (dev_driver.cards[i].n_exported[j])
				return true;
	return false;
}

static int save_all(uint64_t *bytes)
{
	for (struct dev_phys *phys = dev_phys_first(); phys; phys = dev_phys_next(phys)) {
		int r = phys_save(phys);

		if (r)
			return slu_fold(r);
		bytes[phys->card->index] += phys->bytes;
	}
	return 0;
}

/* From here on the copies are the truth. */
static void leave_cards(void)
{
	for (struct dev_phys *phys = dev_phys_first(); phys; phys = dev_phys_next(phys))
		dev_card_give(phys->card, phys->n_granules, phys->granules);
	for (unsigned i = 0; i < dev_driver.n_cards; i++) {
		hidden_bytes[i] = dev_driver.cards[i].hidden_bytes;
		if (hidden_bytes[i])
			dev_card_give_hidden(&dev_driver.cards[i], hidden_bytes[i]);
	}
}

int dev_snapshot_take(void)
{
	uint64_t bytes[DEV_SETTINGS_DEVICES_MAX] = { 0 };
	int r;

	if (is_shared())
		return DEV_SNAPSHOT_E_SHARED;
	r = save_all(bytes);
	if (!r)
		r = step_begin();
	if (!r) {
		r = dev_window_blank(&dev_driver.window);
		if (r && dev_window_show(&dev_driver.window))
			return DEV_SNAPSHOT_E_LOST;
	}
	if (r) {
		forget_all();
		return slu_fold(r);
	}
	dev_managed_leave_cards_locked();
	leave_cards();
	wait_for_bus(bytes, DEV_BOARD_ENGINE_OUT);
	return 0;
}

/* -- and back --------------------------------------------------------------------------------- */

static int take_granules(struct dev_phys *phys)
{
	int r = step_begin();

	if (!r)
		r = dev_card_take(phys->card, phys->n_granules, phys->granules);
	return r;
}

static int take_hidden(unsigned card)
{
	int r = step_begin();

	if (!r && hidden_bytes[card])
		r = dev_card_take_hidden(&dev_driver.cards[card], hidden_bytes[card]);
	return r;
}

/* Gives back what was taken for a restore that cannot be ended: hidden bytes, all before @end. */
static void give_until(const struct dev_phys *end, unsigned n_hidden)
{
	for (struct dev_phys *phys = dev_phys_first(); phys != end; phys = dev_phys_next(phys))
		dev_card_give(phys->card, phys->n_granules, phys->granules);
	for (unsigned i = 0; i < n_hidden; i++)
		if (hidden_bytes[i])
			dev_card_give_hidden(&dev_driver.cards[i], hidden_bytes[i]);
}

static int take_all(void)
{
	struct dev_phys *phys;
	unsigned n_hidden = 0;
	int r = 0;

	while (n_hidden < dev_driver.n_cards && !r) {
		r = take_hidden(n_hidden);
		n_hidden += !r;
	}
	if (r) {
		give_until(dev_phys_first(), n_hidden);
		return r;
	}
	for (phys = dev_phys_first(); phys; phys = dev_phys_next(phys)) {
		r = take_granules(phys);
		if (r) {
			give_until(phys, n_hidden);
			return r;
		}
	}
	return 0;
}

static int fill_all(uint64_t *bytes)
{
	for (struct dev_phys *phys = dev_phys_first(); phys; phys = dev_phys_next(phys)) {
		int r = step_begin();

		if (!r)
			r = phys_copy(phys, false);
		if (r)
			return slu_fold(r);
		bytes[phys->card->index] += phys->bytes;
	}
	return 0;
}

int dev_snapshot_restore(void)
{
	uint64_t bytes[DEV_SETTINGS_DEVICES_MAX] = { 0 };
	int r = take_all();

	if (r)
		return r == DEV_CARD_E_FULL ? DEV_SNAPSHOT_E_FULL : slu_fold(r);
	r = fill_all(bytes);
	if (!r)
		r = step_begin();
	if (!r) {
		r = dev_window_show(&dev_driver.window);
		/* memory that is mapped must not become somebody else's */
		if (r && dev_window_blank(&dev_driver.window))
			return DEV_SNAPSHOT_E_LOST;
	}
	if (r) {
		give_until(NULL, dev_driver.n_cards);
		return slu_fold(r);
	}
	wait_for_bus(bytes, DEV_BOARD_ENGINE_IN);
	forget_all();
	return 0;
}
