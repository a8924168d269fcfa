/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Slots and the bytes that processes hold.
 *
 * The lock on a slot's byte is the truth about who lives; what is written in the slot is only what
 * its owner said of itself. A slot whose byte nobody has locked is dead and is swept: first the
 * user's hook, then the account, last the mark that the slot is used. Whoever dies in the middle
 * of a sweep leaves a slot that is swept again.
 *
 * A handle without a hook leaves dead slots alone on a board where somebody wants one, and merely
 * does not count them. They are swept by the next process that can do it properly, at the latest
 * when an allocation does not fit.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "board/clock.h"
#include "board/layout.h"

#define LOOK_PATIENCE_NS (20 * SLU_NS_PER_MS)

static struct flock slot_lock(short type, unsigned slot)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = SLOT_LOCK_OFFSET + slot, .l_len = 1
	};
}

static bool is_alive_locked(struct dev_board *board, unsigned slot)
{
	struct flock lock = slot_lock(F_WRLCK, slot);

	if ((int)slot == board->slot)
		return true;
	/* alive unless known otherwise: nobody's bytes are taken away because a descriptor was
	 * lacking */
	if (dev_board_reopen_locked(board) || fcntl(board->fd, F_OFD_GETLK, &lock) < 0)
		return true;
	return lock.l_type != F_UNLCK;
}

static bool may_sweep(const struct dev_board *board)
{
	return board->reclaim || !board->file->wants_reclaim;
}

static void clear_locked(struct dev_board *board, unsigned slot)
{
	struct board_slot *s = &board->file->slots[slot];

	if (board->reclaim)
		board->reclaim(board, slot, board->reclaim_data);
	memset(s->late, 0, sizeof(s->late));
	board->file->accounts[slot] = (struct board_account){ 0 };
	__atomic_store_n(&s->is_used, 0, __ATOMIC_RELEASE);
}

void dev_board_sweep_locked(struct dev_board *board)
{
	if (!may_sweep(board))
		return;
	for (unsigned i = 0; i < DEV_BOARD_SLOTS_MAX; i++)
		if (board->file->slots[i].is_used && !is_alive_locked(board, i))
			clear_locked(board, i);
}

void dev_board_sweep_holder_locked(struct dev_board *board)
{
	if (!may_sweep(board))
		return;
	/* before the sweep, whose hook may take the lock again; if we die in it, it is set again */
	board->file->dead_holder = 0;
	dev_board_sweep_locked(board);
}

bool dev_board_accounts_are_sane(const struct board_file *file)
{
	uint64_t left = file->head.identity.capacity_bytes;

	for (unsigned i = 0; i < DEV_BOARD_SLOTS_MAX; i++) {
		const struct board_account *a = &file->accounts[i];

		if (file->slots[i].is_used > 1 || a->bytes > left ||
		    a->hidden_bytes > left - a->bytes)
			return false;
		left -= a->bytes + a->hidden_bytes;
		for (unsigned j = 0; j < SLOT_LATE_MAX; j++) {
			if (file->slots[i].late[j].bytes > left)
				return false;
			left -= file->slots[i].late[j].bytes;
		}
	}
	return true;
}

/* What a slot takes of the capacity. Late frees whose time has come are struck out. */
static uint64_t weight_locked(struct dev_board *board, unsigned slot, uint64_t now_ns)
{
	const struct board_account *a = &board->file->accounts[slot];
	struct board_slot *s = &board->file->slots[slot];
	uint64_t sum = a->bytes + a->hidden_bytes;

	if (!s->is_used)
		return 0;
	for (unsigned i = 0; i < SLOT_LATE_MAX; i++) {
		if (s->late[i].visible_ns <= now_ns)
			s->late[i].bytes = 0;
		sum += s->late[i].bytes;
	}
	return sum;
}

static uint64_t machine_now_ns(const struct dev_board *board)
{
	return dev_board_clock_to_machine(board->ahead_ns, slu_clock_now_ns());
}

static uint64_t used_locked(struct dev_board *board)
{
	uint64_t now_ns = machine_now_ns(board), sum = 0;

	for (unsigned i = 0; i < DEV_BOARD_SLOTS_MAX; i++)
		sum += weight_locked(board, i, now_ns);
	return sum;
}

int dev_board_attach(struct dev_board *board, const char *program)
{
	int r;

	dev_board_lock(board);
	if (board->slot >= 0) {
		dev_board_unlock(board);
		return slu_error(-EALREADY);
	}
	r = dev_board_reopen_locked(board);
	if (r) {
		dev_board_unlock(board);
		return slu_fold(r);
	}
	dev_board_sweep_locked(board);
	r = DEV_BOARD_E_NO_SLOT;
	for (unsigned i = 0; i < DEV_BOARD_SLOTS_MAX; i++) {
		struct board_slot *s = &board->file->slots[i];
		struct flock lock = slot_lock(F_WRLCK, i);

		if (s->is_used)
			continue;
		if (fcntl(board->fd, F_OFD_SETLK, &lock) < 0) {
			if (errno == EAGAIN || errno == EACCES)
				continue;
			r = slu_error(-errno);
			break;
		}
		board->badge_fd = dev_board_badge_take(board->namespace, &s->badge);
		s->who = ++board->file->last_who;
		snprintf(s->program, sizeof(s->program), "%s", program ? program : "");
		__atomic_store_n(&s->is_used, 1, __ATOMIC_RELEASE);
		board->slot = (int)i;
		r = 0;
		break;
	}
	dev_board_unlock(board);
	return r;
}

void dev_board_detach(struct dev_board *board)
{
	struct flock lock;

	dev_board_lock(board);
	if (board->slot >= 0) {
		unsigned slot = (unsigned)board->slot;

		/* without a hook the rest is left to somebody who has one */
		if (may_sweep(board))
			clear_locked(board, slot);
		board->slot = -1;
		lock = slot_lock(F_UNLCK, slot);
		fcntl(board->fd, F_OFD_SETLK, &lock);
		if (board->badge_fd >= 0)
			close(board->badge_fd);
		board->badge_fd = -1;
	}
	dev_board_unlock(board);
}

int dev_board_slot(const struct dev_board *board)
{
	return board->slot;
}

uint32_t dev_board_who(const struct dev_board *board)
{
	return board->slot < 0 ? 0 : board->file->slots[board->slot].who;
}

pid_t dev_board_slot_pid(struct dev_board *board, unsigned slot)
{
	const struct board_badge *badge;
	pid_t pid;

	if (slot >= DEV_BOARD_SLOTS_MAX)
		return 0;
	dev_board_lock(board);
	badge = &board->file->slots[slot].badge;
	dev_board_badge_pids(&badge, 1, board->namespace, &pid);
	dev_board_unlock(board);
	return pid;
}

bool dev_board_slot_is_alive(struct dev_board *board, unsigned slot)
{
	bool alive;

	if (slot >= DEV_BOARD_SLOTS_MAX)
		return false;
	dev_board_lock(board);
	alive = board->file->slots[slot].is_used && is_alive_locked(board, slot);
	dev_board_unlock(board);
	return alive;
}

void dev_board_on_death(struct dev_board *board,
			void (*reclaim)(struct dev_board *board, unsigned slot, void *data),
			void *data)
{
	dev_board_lock(board);
	board->reclaim = reclaim;
	board->reclaim_data = data;
	if (reclaim)
		board->file->wants_reclaim = 1;
	dev_board_sweep_locked(board);
	dev_board_unlock(board);
}

int dev_board_take(struct dev_board *board, uint64_t bytes, uint64_t hidden_bytes)
{
	uint64_t capacity = board->file->head.identity.capacity_bytes;
	int r = 0;

	dev_board_lock(board);
	if (board->slot < 0) {
		r = slu_error(-ENOTCONN);
	} else if (bytes > capacity || hidden_bytes > capacity - bytes) {
		r = DEV_BOARD_E_FULL;
	} else if (used_locked(board) > capacity - bytes - hidden_bytes) {
		dev_board_sweep_locked(board);
		if (used_locked(board) > capacity - bytes - hidden_bytes)
			r = DEV_BOARD_E_FULL;
	}
	if (!r) {
		board->file->accounts[board->slot].bytes += bytes;
		board->file->accounts[board->slot].hidden_bytes += hidden_bytes;
	}
	dev_board_unlock(board);
	return r;
}

static void be_late(struct board_slot *s, uint64_t bytes, uint64_t visible_ns, uint64_t now_ns)
{
	struct board_late *latest = &s->late[0];

	for (unsigned i = 0; i < SLOT_LATE_MAX; i++) {
		struct board_late *l = &s->late[i];

		if (!l->bytes || l->visible_ns <= now_ns) {
			*l = (struct board_late){ .visible_ns = visible_ns, .bytes = bytes };
			return;
		}
		if (l->visible_ns > latest->visible_ns)
			latest = l;
	}
	/* no line is free: these become visible together with the last ones */
	latest->bytes += bytes;
	latest->visible_ns = SLU_MAX(latest->visible_ns, visible_ns);
}

void dev_board_give(struct dev_board *board, uint64_t bytes, uint64_t hidden_bytes,
		    uint64_t visible_ns)
{
	dev_board_lock(board);
	if (board->slot >= 0) {
		struct board_account *a = &board->file->accounts[board->slot];
		uint64_t now_ns = machine_now_ns(board);

		visible_ns = dev_board_clock_to_machine(board->ahead_ns, visible_ns);
		assert(a->bytes >= bytes && a->hidden_bytes >= hidden_bytes);
		if (visible_ns > now_ns && bytes + hidden_bytes)
			be_late(&board->file->slots[board->slot], bytes + hidden_bytes, visible_ns,
				now_ns);
		a->bytes -= bytes;
		a->hidden_bytes -= hidden_bytes;
	}
	dev_board_unlock(board);
}

void dev_board_shift(struct dev_board *board, unsigned from, unsigned to, uint64_t bytes)
{
	struct board_account *accounts = board->file->accounts;

	dev_board_lock(board);
	assert(accounts[from].bytes >= bytes);
	/* in this order the sum never is too large, wherever somebody dies */
	accounts[from].bytes -= bytes;
	accounts[to].bytes += bytes;
	dev_board_unlock(board);
}

static void look_at_pids_locked(struct dev_board *board, const struct board_badge *const *badges,
				struct dev_board_view *view)
{
	pid_t pids[DEV_BOARD_SLOTS_MAX];

	dev_board_badge_pids(badges, view->n_slots, board->namespace, pids);
	for (unsigned i = 0; i < view->n_slots; i++)
		view->slots[i].pid = pids[i];
}

int dev_board_look(struct dev_board *board, struct dev_board_view *ret_view)
{
	return dev_board_look_within(board, LOOK_PATIENCE_NS, ret_view);
}

int dev_board_look_within(struct dev_board *board, uint64_t patience_ns,
			  struct dev_board_view *ret_view)
{
	const struct board_badge *badges[DEV_BOARD_SLOTS_MAX];
	int r;

	if (!dev_board_lock_within(board, patience_ns))
		return DEV_BOARD_E_BUSY;
	r = dev_board_reopen_locked(board);
	if (r) {
		dev_board_unlock(board);
		return slu_fold(r);
	}
	dev_board_sweep_locked(board);
	*ret_view = (struct dev_board_view){
		.capacity_bytes = board->file->head.identity.capacity_bytes,
	};
	for (unsigned i = 0; i < DEV_BOARD_SLOTS_MAX; i++) {
		const struct board_slot *s = &board->file->slots[i];
		struct dev_board_slot_view *v = &ret_view->slots[ret_view->n_slots];

		if (!s->is_used || !is_alive_locked(board, i))
			continue;
		badges[ret_view->n_slots] = &s->badge;
		v->who = s->who;
		memcpy(v->program, s->program, sizeof(v->program));
		v->program[sizeof(v->program) - 1] = '\0';
		v->bytes = board->file->accounts[i].bytes;
		ret_view->used_bytes += v->bytes;
		ret_view->overhead_bytes += board->file->accounts[i].hidden_bytes;
		ret_view->n_slots++;
	}
	look_at_pids_locked(board, badges, ret_view);
	dev_board_unlock(board);
	return 0;
}

uint64_t dev_board_true_used(struct dev_board *board)
{
	uint64_t now_ns = machine_now_ns(board), sum = 0;

	dev_board_lock(board);
	dev_board_sweep_locked(board);
	for (unsigned i = 0; i < DEV_BOARD_SLOTS_MAX; i++)
		if (board->file->slots[i].is_used && is_alive_locked(board, i))
			sum += weight_locked(board, i, now_ns);
	dev_board_unlock(board);
	return sum;
}
