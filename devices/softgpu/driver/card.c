/* SPDX-License-Identifier: Apache-2.0 */

#include "base/fd.h"
#include "softgpu/driver/card.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/card-export.h"

#define TRAITS_MAGIC UINT64_C(0x6472614375506754)
#define SCRUB_CHUNK  (UINT64_C(1) << 18)

static_assert(sizeof(struct dev_card_shared) <= DEV_BOARD_USER_BYTES,
	      "the board's user space holds what cards share");

static uint16_t owner_of(const struct dev_card *card)
{
	return (uint16_t)(dev_board_slot(card->board) + 1);
}

static void card_reclaim(struct dev_board *board, unsigned slot, void *data)
{
	struct dev_card_shared *shared = dev_board_user(board);

	(void)data;
	dev_card_export_reclaim(board, shared, slot);
	for (unsigned i = 0; i < DEV_SETTINGS_GRANULES_MAX; i++)
		if (shared->owner[i] == slot + 1) {
			shared->owner[i] = DEV_CARD_OWNER_DIRTY;
			shared->stamp[i] = 0;
		}
	/* read without the lock as well */
	__atomic_and_fetch(&shared->compute.waiting[slot / 64], ~(UINT64_C(1) << (slot % 64)),
			   __ATOMIC_RELAXED);
	if (shared->compute.reserved_for == slot + 1)
		shared->compute.reserved_for = 0;
	if (shared->compute.holder == slot + 1) {
		shared->compute.holder = 0;
		shared->compute.n_running = 0;
	}
}

static int open_memory(const char *board_path, uint64_t bytes, bool is_new, int *ret_fd)
{
	slu_cleanup(slu_closep) int fd = -1;
	char path[PATH_MAX];
	int r;

	if (snprintf(path, sizeof(path), "%s.files", board_path) >= (int)sizeof(path) - 8)
		return slu_error(-ENAMETOOLONG);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return slu_error(-errno);
	strcat(path, "/memory");
	if (is_new)
		unlink(path);
	fd = slu_fd_lift(open(path, O_RDWR | O_CLOEXEC | (is_new ? O_CREAT | O_EXCL : 0), 0600));
	if (fd < 0)
		return slu_error(-errno);
	if (is_new) {
		r = slu_fd_may_hold(bytes);
		if (!r)
			r = -posix_fallocate(fd, 0, (off_t)bytes);
		if (r) {
			unlink(path);
			return slu_error(r);
		}
	}
	*ret_fd = slu_steal_fd(&fd);
	return 0;
}

static void write_traits(struct dev_card_traits *t, const struct dev_settings *s)
{
	t->in_alone = s->profile->in_alone / s->scale;
	t->in_both = s->profile->in_both / s->scale;
	t->out_alone = s->profile->out_alone / s->scale;
	t->out_both = s->profile->out_both / s->scale;
	t->pageable = s->profile->pageable / s->scale;
	t->fault_ns = s->profile->fault_ns;
	t->scale = s->scale;
	snprintf(t->profile, sizeof(t->profile), "%s", s->profile->name);
	__atomic_store_n(&t->magic, TRAITS_MAGIC, __ATOMIC_RELEASE);
}

static bool is_as_asked(const struct dev_card *card, const struct dev_settings *s)
{
	return !s->asks || (card->capacity_bytes == s->memory_bytes &&
			    card->granule_bytes == s->granule_bytes &&
			    !strcmp(card->shared->traits.profile, s->profile->name));
}

static int make_identity(const struct dev_settings *s, struct dev_board_identity *identity)
{
	*identity = (struct dev_board_identity){ .capacity_bytes = s->memory_bytes,
						 .granule_bytes = s->granule_bytes };
	if (s->memory_bytes / s->granule_bytes > DEV_SETTINGS_GRANULES_MAX)
		return slu_error(-EINVAL);
	if (s->profile->in_alone)
		snprintf(identity->name, sizeof(identity->name), "Sluice software %s (1/%u)",
			 s->profile->card, s->scale);
	else
		snprintf(identity->name, sizeof(identity->name), "%s", s->profile->card);
	if (getrandom(identity->uuid, sizeof(identity->uuid), 0) != sizeof(identity->uuid))
		return slu_error(-EIO);
	return 0;
}

int dev_card_open(struct dev_card *card, unsigned number, const struct dev_settings *settings)
{
	struct dev_board_identity identity;
	char path[PATH_MAX];
	bool is_new;
	int r;

	*card = (struct dev_card){ .index = number, .number = number, .memory_fd = -1 };
	r = make_identity(settings, &identity);
	if (r)
		return slu_fold(r);
	r = dev_board_folder(path, sizeof(path) - 24);
	if (r)
		return slu_fold(r);
	sprintf(path + strlen(path), "/softgpu%u", number);
	r = dev_board_open(path, &identity, &card->board);
	if (r)
		return slu_fold(r);

	card->shared = dev_board_user(card->board);
	card->capacity_bytes = dev_board_identity(card->board)->capacity_bytes;
	card->granule_bytes = dev_board_identity(card->board)->granule_bytes;
	card->n_granules = (unsigned)(card->capacity_bytes / card->granule_bytes);
	card->context_bytes = settings->context_bytes;

	dev_board_user_lock(card->board);
	is_new = card->shared->traits.magic != TRAITS_MAGIC;
	r = open_memory(path, card->capacity_bytes, is_new, &card->memory_fd);
	if (!r && is_new)
		write_traits(&card->shared->traits, settings);
	dev_board_user_unlock(card->board);
	if (!r && !is_as_asked(card, settings))
		r = DEV_CARD_E_MISMATCH;
	if (r) {
		dev_card_close(card);
		return slu_fold(r);
	}
	dev_board_on_death(card->board, card_reclaim, NULL);
	return 0;
}

void dev_card_close(struct dev_card *card)
{
	if (card->memory_fd >= 0)
		close(card->memory_fd);
	dev_board_close(card->board);
	*card = (struct dev_card){ .memory_fd = -1 };
}

int dev_card_attach(struct dev_card *card)
{
	int r = 0;

	dev_board_user_lock(card->board);
	if (dev_board_slot(card->board) < 0)
		r = dev_board_attach(card->board, program_invocation_short_name);
	dev_board_user_unlock(card->board);
	return r == DEV_BOARD_E_NO_SLOT ? slu_error(-EUSERS) : slu_fold(r);
}

/* Finds @n free neighbours. Return: the first one's number, or -1. */
static int find_run_locked(const struct dev_card *card, unsigned n)
{
	const uint16_t *owner = card->shared->owner;
	unsigned length = 0;

	for (unsigned i = 0; i < card->n_granules; i++) {
		length = owner[i] == DEV_CARD_OWNER_FREE || owner[i] == DEV_CARD_OWNER_DIRTY
				 ? length + 1
				 : 0;
		if (length == n)
			return (int)(i - n + 1);
	}
	return -1;
}

static void take_locked(struct dev_card *card, unsigned n, uint16_t *granules, bool *is_dirty)
{
	uint16_t *owner = card->shared->owner;
	int run = find_run_locked(card, n);
	unsigned found = 0;

	for (unsigned i = run < 0 ? 0 : (unsigned)run; found < n; i++) {
		/* the board's account says that so many are free */
		assert(i < card->n_granules);
		if (owner[i] != DEV_CARD_OWNER_FREE && owner[i] != DEV_CARD_OWNER_DIRTY)
			continue;
		is_dirty[found] = owner[i] == DEV_CARD_OWNER_DIRTY;
		owner[i] = owner_of(card);
		granules[found++] = (uint16_t)i;
	}
}

/* For a process that may not write so far into a file. */
static int scrub_mapped(struct dev_card *card, uint64_t at)
{
	void *p = mmap(NULL, card->granule_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		       card->memory_fd, (off_t)at);

	if (p == MAP_FAILED)
		return slu_error(-errno);
	memset(p, 0, card->granule_bytes);
	munmap(p, card->granule_bytes);
	return 0;
}

static int card_scrub(struct dev_card *card, uint16_t granule)
{
	static const unsigned char zeros[SCRUB_CHUNK];
	uint64_t at = granule * card->granule_bytes, end = at + card->granule_bytes;

	if (slu_fd_may_hold(end))
		return slu_fold(scrub_mapped(card, at));
	while (at < end) {
		ssize_t n =
			pwrite(card->memory_fd, zeros, SLU_MIN(SCRUB_CHUNK, end - at), (off_t)at);

		if (n < 0 && errno != EINTR)
			return slu_error(-errno);
		if (n > 0)
			at += (uint64_t)n;
	}
	return 0;
}

/*
 * Takes the managed granule that came in first away from its owner, who may be anybody. Its bytes
 * have to cross the bus. Return: whether there was one.
 */
static bool evict_locked(struct dev_card *card)
{
	struct dev_card_shared *shared = card->shared;
	unsigned first = card->n_granules, me = (unsigned)dev_board_slot(card->board);

	for (unsigned i = 0; i < card->n_granules; i++)
		if (shared->stamp[i] &&
		    (first == card->n_granules || shared->stamp[i] < shared->stamp[first]))
			first = i;
	if (first == card->n_granules)
		return false;
	if (shared->owner[first] != me + 1) {
		unsigned from = shared->owner[first] - 1u;

		shared->owner[first] = (uint16_t)(me + 1);
		dev_board_shift(card->board, from, me, card->granule_bytes);
	}
	shared->stamp[first] = 0;
	shared->owner[first] = DEV_CARD_OWNER_DIRTY;
	shared->n_evicted++;
	dev_board_give(card->board, card->granule_bytes, 0, 0);
	card->evicted_ns =
		dev_card_book(card, DEV_BOARD_ENGINE_OUT, card->granule_bytes, slu_clock_now_ns());
	return true;
}

static int take_bytes_locked(struct dev_card *card, uint64_t bytes, uint64_t hidden_bytes)
{
	int r;

	do
		r = dev_board_take(card->board, bytes, hidden_bytes);
	while (r == DEV_BOARD_E_FULL && bytes + hidden_bytes <= card->capacity_bytes &&
	       evict_locked(card));
	return r;
}

int dev_card_take_hidden(struct dev_card *card, uint64_t bytes)
{
	int r;

	dev_board_user_lock(card->board);
	r = take_bytes_locked(card, 0, bytes);
	if (!r)
		card->hidden_bytes += bytes;
	dev_board_user_unlock(card->board);
	return r == DEV_BOARD_E_FULL ? DEV_CARD_E_FULL : slu_fold(r);
}

void dev_card_give_hidden(struct dev_card *card, uint64_t bytes)
{
	dev_board_user_lock(card->board);
	assert(card->hidden_bytes >= bytes);
	card->hidden_bytes -= bytes;
	dev_board_give(card->board, 0, bytes, 0);
	dev_board_user_unlock(card->board);
}

static uint32_t next_stamp_locked(struct dev_card *card)
{
	return (uint32_t)++card->shared->n_brought;
}

int dev_card_take_managed(struct dev_card *card, struct dev_card_place *ret_place)
{
	bool is_dirty;
	int r;

	dev_board_user_lock(card->board);
	r = take_bytes_locked(card, card->granule_bytes, 0);
	if (!r) {
		take_locked(card, 1, &ret_place->granule, &is_dirty);
		ret_place->stamp = next_stamp_locked(card);
		card->shared->stamp[ret_place->granule] = ret_place->stamp;
	}
	dev_board_user_unlock(card->board);
	return r == DEV_BOARD_E_FULL ? DEV_CARD_E_FULL : slu_fold(r);
}

bool dev_card_has_managed(const struct dev_card *card, struct dev_card_place place)
{
	return place.stamp && card->shared->owner[place.granule] == owner_of(card) &&
	       card->shared->stamp[place.granule] == place.stamp;
}

bool dev_card_touch_managed(struct dev_card *card, struct dev_card_place *place)
{
	bool is_ours;

	dev_board_user_lock(card->board);
	is_ours = dev_card_has_managed(card, *place);
	if (is_ours) {
		place->stamp = next_stamp_locked(card);
		card->shared->stamp[place->granule] = place->stamp;
	}
	dev_board_user_unlock(card->board);
	return is_ours;
}

void dev_card_give_managed(struct dev_card *card, struct dev_card_place place)
{
	dev_board_user_lock(card->board);
	if (dev_card_has_managed(card, place)) {
		card->shared->stamp[place.granule] = 0;
		card->shared->owner[place.granule] = DEV_CARD_OWNER_DIRTY;
		dev_board_give(card->board, card->granule_bytes, 0, 0);
	}
	dev_board_user_unlock(card->board);
}

int dev_card_take(struct dev_card *card, unsigned n, uint16_t *ret_granules)
{
	slu_cleanup(slu_freep) bool *is_dirty = calloc(n, sizeof(*is_dirty));
	slu_cleanup(slu_freep) uint16_t *granules = calloc(n, sizeof(*granules));
	int r;

	if (!is_dirty || !granules)
		return slu_error(-ENOMEM);
	dev_board_user_lock(card->board);
	r = take_bytes_locked(card, n * card->granule_bytes, 0);
	if (!r)
		take_locked(card, n, granules, is_dirty);
	dev_board_user_unlock(card->board);
	if (r)
		return r == DEV_BOARD_E_FULL ? DEV_CARD_E_FULL : slu_fold(r);

	for (unsigned i = 0; i < n && !r; i++)
		if (is_dirty[i])
			r = card_scrub(card, granules[i]);
	if (r) {
		dev_card_give(card, n, granules);
		return slu_fold(r);
	}
	memcpy(ret_granules, granules, n * sizeof(*granules));
	return 0;
}

void dev_card_give(struct dev_card *card, unsigned n, const uint16_t *granules)
{
	dev_board_user_lock(card->board);
	for (unsigned i = 0; i < n; i++) {
		assert(card->shared->owner[granules[i]] == owner_of(card));
		card->shared->owner[granules[i]] = DEV_CARD_OWNER_DIRTY;
	}
	dev_board_give(card->board, n * card->granule_bytes, 0, 0);
	dev_board_user_unlock(card->board);
}

uint64_t dev_card_free_bytes(struct dev_card *card)
{
	return slu_sub_floor(card->capacity_bytes, dev_board_true_used(card->board));
}

uint64_t dev_card_book(struct dev_card *card, enum dev_board_engine engine, uint64_t bytes,
		       uint64_t earliest_ns)
{
	struct dev_card_shared *shared = card->shared;
	const struct dev_card_traits *t = &shared->traits;
	struct dev_bus_rate in = { t->in_alone, t->in_both }, out = { t->out_alone, t->out_both };
	struct dev_board_engine_view in_view, out_view;
	uint64_t end_ns, duration_ns;

	dev_board_user_lock(card->board);
	dev_board_look_engine(card->board, DEV_BOARD_ENGINE_IN, &in_view);
	dev_board_look_engine(card->board, DEV_BOARD_ENGINE_OUT, &out_view);
	if (engine == DEV_BOARD_ENGINE_IN)
		duration_ns = dev_bus_book(&shared->in, &in, in_view.free_at_ns, &shared->out, &out,
					   out_view.free_at_ns,
					   SLU_MAX(earliest_ns, in_view.free_at_ns), bytes);
	else
		duration_ns = dev_bus_book(&shared->out, &out, out_view.free_at_ns, &shared->in,
					   &in, in_view.free_at_ns,
					   SLU_MAX(earliest_ns, out_view.free_at_ns), bytes);
	end_ns = dev_board_book(card->board, engine, earliest_ns, duration_ns, bytes);
	dev_board_user_unlock(card->board);
	return end_ns;
}

uint64_t dev_card_slice_bytes(const struct dev_card *card, enum dev_board_engine engine)
{
	const struct dev_card_traits *t = &card->shared->traits;
	uint64_t bandwidth = engine == DEV_BOARD_ENGINE_IN ? t->in_alone : t->out_alone;

	return bandwidth ? SLU_MAX(bandwidth / 1000, UINT64_C(4096)) : UINT64_MAX;
}

void dev_card_sleep_until(uint64_t ns)
{
	struct timespec t = slu_clock_timespec(ns);

	if (ns <= slu_clock_now_ns())
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}
