/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/compute.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"

#define WORDS	 SLU_ARRAY_SIZE(((struct dev_card_compute *)NULL)->waiting)
#define SLICE_NS SLU_NS_PER_MS
#define LOOK_NS	 (10 * SLU_NS_PER_MS) /* how often a waiter looks whether the holder lives */

static void wake_all(struct dev_card_compute *c)
{
	__atomic_add_fetch(&c->wake, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void wait_for_change(struct dev_card_compute *c, uint32_t seen)
{
	struct timespec patience = slu_clock_timespec(LOOK_NS);

	syscall(SYS_futex, &c->wake, FUTEX_WAIT, seen, &patience, NULL, 0);
}

/* Somebody whom we cannot see is taken to run: it lives, by its lock on the board. */
static bool is_stopped(pid_t pid)
{
	char path[32], line[512];
	const char *state;
	FILE *file;
	bool stopped = false;

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(line, sizeof(line), file)) {
		state = strrchr(line, ')');
		stopped = state && state[1] == ' ' && strchr("TtXZ", state[2]);
	}
	fclose(file);
	return stopped;
}

static void set_waiting(struct dev_card_compute *c, uint32_t who, bool on)
{
	uint64_t bit = UINT64_C(1) << ((who - 1) % 64);

	/* read without the lock as well */
	if (on)
		__atomic_or_fetch(&c->waiting[(who - 1) / 64], bit, __ATOMIC_RELAXED);
	else
		__atomic_and_fetch(&c->waiting[(who - 1) / 64], ~bit, __ATOMIC_RELAXED);
}

/* Of the word that @who, counted from 0, is in: the slots above it, or those below. */
static uint64_t part_of_word(const struct dev_card_compute *c, uint32_t who, bool is_above)
{
	uint64_t up_to = UINT64_MAX >> (63 - who % 64);

	return c->waiting[who / 64] & (is_above ? ~up_to : up_to >> 1);
}

/* Return: the next one that waits after @who in the order of slots, 0 if nobody else does. */
static uint32_t next_after(const struct dev_card_compute *c, uint32_t who)
{
	uint32_t first = (who - 1) / 64;

	for (uint32_t i = 0; i <= WORDS; i++) {
		uint32_t word = (first + i) % WORDS;
		uint64_t bits = c->waiting[word];

		if (i == 0 || i == WORDS)
			bits = part_of_word(c, who - 1, i == 0);
		if (bits)
			return word * 64 + (uint32_t)__builtin_ctzll(bits) + 1;
	}
	return 0;
}

/* Whether somebody waits for @context, which has the engine, or for the whole process. */
static bool is_waited_for(const struct dev_card *card, uint32_t me, uint64_t context)
{
	return next_after(&card->shared->compute, me) || (card->rival && card->rival != context);
}

static bool must_give_up(const struct dev_card *card, uint32_t me, uint64_t context,
			 uint64_t now_ns)
{
	return now_ns - card->shared->compute.since_ns > SLICE_NS &&
	       is_waited_for(card, me, context);
}

static void give_up(struct dev_card_compute *c, uint32_t me)
{
	c->holder = 0;
	c->reserved_for = next_after(c, me);
	wake_all(c);
}

/* Return: true when the engine is ours for one more kernel. */
static bool try_begin_locked(struct dev_card *card, uint32_t me, uint64_t context)
{
	struct dev_card_compute *c = &card->shared->compute;
	uint64_t now_ns = slu_clock_now_ns();

	if (c->holder == me && card->computing == context) {
		if (!must_give_up(card, me, context, now_ns)) {
			c->n_running++;
			return true;
		}
		if (!c->n_running)
			give_up(c, me);
		return false;
	}
	if (c->holder && c->n_running) {
		if (c->holder == me && !card->rival)
			__atomic_store_n(&card->rival, context, __ATOMIC_RELAXED);
		return false;
	}
	if (c->reserved_for && c->reserved_for != me)
		return false;
	if (card->rival && card->rival != context)
		return false;
	c->holder = me;
	c->n_running = 1;
	__atomic_store_n(&c->since_ns, now_ns, __ATOMIC_RELAXED);
	c->reserved_for = 0;
	card->computing = context;
	__atomic_store_n(&card->rival, 0, __ATOMIC_RELAXED);
	return true;
}

/* Somebody who cannot go on must not keep the others from it. */
static void pass_over_the_dead_locked(struct dev_card *card)
{
	struct dev_card_compute *c = &card->shared->compute;

	if (c->reserved_for && !dev_board_slot_is_alive(card->board, c->reserved_for - 1))
		set_waiting(c, c->reserved_for, false);
	/* whoever the engine was kept for had its chance for as long as we waited */
	c->reserved_for = 0;
	if (c->holder && (!dev_board_slot_is_alive(card->board, c->holder - 1) ||
			  is_stopped(dev_board_slot_pid(card->board, c->holder - 1)))) {
		c->holder = 0;
		c->n_running = 0;
	}
}

void dev_compute_begin(struct dev_card *card, uint64_t context)
{
	struct dev_card_compute *c = &card->shared->compute;
	uint32_t me = (uint32_t)dev_board_slot(card->board) + 1;
	uint64_t looked_ns = slu_clock_now_ns();

	dev_board_user_lock(card->board);
	card->n_begin++;
	while (!try_begin_locked(card, me, context)) {
		uint32_t seen = __atomic_load_n(&c->wake, __ATOMIC_SEQ_CST);

		set_waiting(c, me, true);
		dev_board_user_unlock(card->board);
		wait_for_change(c, seen);
		dev_board_user_lock(card->board);
		if (slu_clock_now_ns() - looked_ns > LOOK_NS) {
			pass_over_the_dead_locked(card);
			looked_ns = slu_clock_now_ns();
		}
	}
	if (!--card->n_begin)
		set_waiting(c, me, false);
	dev_board_user_unlock(card->board);
}

bool dev_compute_is_asked_for(struct dev_card *card, uint64_t context)
{
	struct dev_card_compute *c = &card->shared->compute;
	uint32_t me = (uint32_t)dev_board_slot(card->board) + 1;
	uint64_t since_ns = __atomic_load_n(&c->since_ns, __ATOMIC_RELAXED),
		 waiting = __atomic_load_n(&card->rival, __ATOMIC_RELAXED);
	bool is_asked;

	for (unsigned i = 0; i < WORDS; i++)
		waiting |= __atomic_load_n(&c->waiting[i], __ATOMIC_RELAXED);
	if (!waiting || slu_clock_now_ns() - since_ns <= SLICE_NS)
		return false;
	dev_board_user_lock(card->board);
	/* who was stopped, and passed over, does not have it any more */
	is_asked = c->holder != me || card->computing != context ||
		   must_give_up(card, me, context, slu_clock_now_ns());
	dev_board_user_unlock(card->board);
	return is_asked;
}

void dev_compute_end(struct dev_card *card, uint64_t context, uint64_t start_ns)
{
	struct dev_card_compute *c = &card->shared->compute;
	uint32_t me = (uint32_t)dev_board_slot(card->board) + 1;
	uint64_t now_ns = slu_clock_now_ns();

	dev_board_user_lock(card->board);
	dev_board_book(card->board, DEV_BOARD_ENGINE_COMPUTE, start_ns, now_ns - start_ns, 0);
	/* if we were stopped, others passed over us */
	if (c->holder == me && card->computing == context && c->n_running) {
		c->n_running--;
		if (!c->n_running && must_give_up(card, me, context, now_ns))
			give_up(c, me);
		else if (!c->n_running && is_waited_for(card, me, context))
			wake_all(c);
	}
	dev_board_user_unlock(card->board);
}
