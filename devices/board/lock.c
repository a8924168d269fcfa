/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The board's lock: a word in the file between handles, a mutex of the handle between the threads
 * of a process.
 *
 * A robust mutex in the file would be the usual thing, but it knows its owner by the thread's
 * number in the thread's own pid namespace. Of two containers the first processes both are number
 * 1, so each would take the other's hold for its own, and the death of one would free what the
 * other has. So each handle has a *key*: a number whose lock byte in the file it holds for as long
 * as it is open. The word names the holder's key, and whoever waits for long asks the kernel
 * whether that key is still held.
 *
 *   FREE -> HELD   [dev_board_lock]     the word has our key, @holder is our slot + 1
 *   HELD -> FREE   [dev_board_unlock]   the word has no key, @holder is 0
 *   HELD -> HELD   [dev_board_lock]     of a dead one: @holder is still that one's; the lock of its
 *                                       slot went in the same instant as that of its key
 *
 * The word counts how often it was taken, so that a key that was dead when somebody looked, and has
 * a new owner since, is not taken for dead.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "board/layout.h"

#define LOOK_NS (2 * SLU_NS_PER_MS) /* how often a waiter looks whether the holder lives */

/* The word, from its lowest bit: key (16), whether somebody waits (1), how often it was taken. */
#define WORD_KEY   UINT64_C(0xffff)
#define WORD_WAIT  UINT64_C(0x10000)
#define WORD_TAKEN UINT64_C(0x20000)

static unsigned key_of(uint64_t word)
{
	return (unsigned)(word & WORD_KEY);
}

/* @word as @key has it when it took it. */
static uint64_t taken_by(uint64_t word, unsigned key)
{
	return ((word & ~WORD_KEY) | key) + WORD_TAKEN;
}

static bool lock_exchange(uint64_t *word, uint64_t *was, uint64_t is)
{
	return __atomic_compare_exchange_n(word, was, is, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

/* The half of the word that has the key and whether somebody waits. */
static uint32_t *futex_of(uint64_t *word)
{
	return (uint32_t *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static struct flock key_lock(short type, unsigned key)
{
	return (struct flock){
		.l_type = type, .l_whence = SEEK_SET, .l_start = KEY_LOCK_OFFSET + key, .l_len = 1
	};
}

static bool is_alive(int fd, unsigned key)
{
	struct flock lock = key_lock(F_WRLCK, key);

	if (!key || key > BOARD_KEYS_MAX)
		return false;
	return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

/* Return: true with the word ours, false when @deadline_ns has passed. */
static bool take_word(struct dev_board *board, uint64_t deadline_ns)
{
	uint64_t *word = &board->file->lock, waits = 0;
	uint64_t was = __atomic_load_n(word, __ATOMIC_ACQUIRE);

	for (;;) {
		struct timespec patience = slu_clock_timespec(LOOK_NS);

		if (!key_of(was)) {
			/* there may be more who wait than the one who was woken */
			if (lock_exchange(word, &was, taken_by(was, board->key) | waits))
				return true;
			continue;
		}
		if (key_of(was) == board->key)
			return true; /* a thread of ours died with it */
		if (!(was & WORD_WAIT) && !lock_exchange(word, &was, was | WORD_WAIT))
			continue;
		was |= WORD_WAIT;
		waits = WORD_WAIT;
		/* one who may not wait learns at least of a dead holder */
		if (slu_clock_now_ns() >= deadline_ns)
			return !is_alive(board->fd, key_of(was)) &&
			       lock_exchange(word, &was, taken_by(was, board->key));
		if (syscall(SYS_futex, futex_of(word), FUTEX_WAIT, (uint32_t)was, &patience, NULL,
			    0) < 0 &&
		    errno == ETIMEDOUT && !is_alive(board->fd, key_of(was)) &&
		    lock_exchange(word, &was, taken_by(was, board->key)))
			return true;
		was = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	}
}

static void give_word(struct dev_board *board)
{
	uint64_t *word = &board->file->lock;
	uint64_t was = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (!lock_exchange(word, &was, was & ~(WORD_KEY | WORD_WAIT)))
		;
	if (was & WORD_WAIT)
		syscall(SYS_futex, futex_of(word), FUTEX_WAKE, 1, NULL, NULL, 0);
}

int dev_board_lock_init(struct dev_board *board)
{
	pthread_mutexattr_t attr;
	int r;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	r = pthread_mutex_init(&board->mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	board->depth = 0;
	board->key = 0;
	return -r;
}

void dev_board_lock_deinit(struct dev_board *board)
{
	pthread_mutex_destroy(&board->mutex);
}

static void note_death(struct board_file *file)
{
	if (file->holder)
		file->dead_holder = file->holder;
	file->holder = 0;
}

int dev_board_lock_key(int fd, struct dev_board *board)
{
	uint64_t *word = &board->file->lock, was;

	for (unsigned key = 1; key <= BOARD_KEYS_MAX; key++) {
		struct flock lock = key_lock(F_WRLCK, key);

		if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
			if (errno == EAGAIN || errno == EACCES)
				continue;
			return slu_error(-errno);
		}
		board->key = key;
		/* whoever had this key before us died with the lock: nobody else can see that now
		 */
		was = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		if (key_of(was) == key && lock_exchange(word, &was, taken_by(was, key))) {
			note_death(board->file);
			give_word(board);
		}
		return 0;
	}
	return slu_error(-EUSERS);
}

/* What is to be done by whoever has just got both halves. */
static void take_over(struct dev_board *board)
{
	struct board_file *file = board->file;

	if (!board->depth++)
		note_death(file);
	file->holder = (uint16_t)(board->slot + 1);
	if (file->dead_holder)
		dev_board_sweep_holder_locked(board);
}

/* @r is the mutex's word. A thread that died with it has left the other half to the process. */
static void take_mutex(struct dev_board *board, int r)
{
	if (r == EOWNERDEAD) {
		r = pthread_mutex_consistent(&board->mutex);
		board->depth = 0;
		board->file->holder = 0;
	}
	assert(!r);
}

/*
 * Whether the word is to be taken. A forked child that cannot open the file any more has no slot
 * and gets none; what it may still change is a timeline, and for that the mutex has to do.
 */
static bool needs_word(struct dev_board *board)
{
	return !board->depth && !dev_board_reopen_locked(board);
}

void dev_board_lock(struct dev_board *board)
{
	take_mutex(board, pthread_mutex_lock(&board->mutex));
	if (needs_word(board))
		take_word(board, UINT64_MAX);
	take_over(board);
}

bool dev_board_lock_within(struct dev_board *board, uint64_t patience_ns)
{
	uint64_t deadline_ns = slu_clock_now_ns() + patience_ns;
	struct timespec now, until;
	int r;

	/* by the wall clock, because the thread sanitizer knows no other lock with a limit */
	clock_gettime(CLOCK_REALTIME, &now);
	until = slu_clock_timespec((uint64_t)now.tv_sec * SLU_NS_PER_S + (uint64_t)now.tv_nsec +
				   patience_ns);
	r = pthread_mutex_timedlock(&board->mutex, &until);
	if (r == ETIMEDOUT)
		return false;
	take_mutex(board, r);
	if (needs_word(board) && !take_word(board, deadline_ns)) {
		pthread_mutex_unlock(&board->mutex);
		return false;
	}
	take_over(board);
	return true;
}

void dev_board_unlock(struct dev_board *board)
{
	if (!--board->depth) {
		board->file->holder = 0;
		/* not where it could not be taken */
		if (board->key &&
		    key_of(__atomic_load_n(&board->file->lock, __ATOMIC_RELAXED)) == board->key)
			give_word(board);
	}
	pthread_mutex_unlock(&board->mutex);
}
