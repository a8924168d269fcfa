/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Mutexes with a rank, for code that runs inside other people's programs. A thread takes locks
 * in rising rank only, and waits for a condition with no lock but the condition's own; debug builds
 * check that, release builds are a plain mutex. No lock of ours is held while the genuine driver is
 * called: the macro through which a front end calls it has slu_lock_assert_none() in it.
 */

#include <assert.h>
#include <pthread.h>
#include <stdint.h>

enum slu_lock_rank {
	SLU_LOCK_FRONT = 1, /* a front end's tables of handles and allocations */
	SLU_LOCK_CLIENT,    /* the client: peer, units, movers */
	SLU_LOCK_GATE,	    /* the list of the gate's slots */
	SLU_LOCK_BACKEND,   /* what a back end keeps for its movers */
	SLU_LOCK_LEAF,	    /* held for a few instructions, takes nothing */
	_SLU_LOCK_RANK_MAX,
};

struct slu_lock {
	pthread_mutex_t mutex;
	enum slu_lock_rank rank; /* constant after init */
};

#define SLU_LOCK_INIT(r)                                        \
	{                                                       \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (r) \
	}

/*
 * How many locks of each rank this thread holds. The client library exports its table in builds
 * with assertions, and the front ends use that one: so a front end's lock that is held while the
 * client waits is seen.
 */
union slu_lock_held {
	unsigned char of_rank[8];
	uint64_t all; /* 0: none */
};

_Static_assert(_SLU_LOCK_RANK_MAX <= 8, "every rank has a count");

extern __thread union slu_lock_held slu_lock_held __attribute__((visibility("default")));

#ifdef NDEBUG

static inline void slu_lock_note(struct slu_lock *lock, int by)
{
	(void)lock;
	(void)by;
}

static inline void slu_lock_assert_none(void)
{
}

static inline void slu_lock_assert_only(const struct slu_lock *lock)
{
	(void)lock;
}

#else

static inline void slu_lock_note(struct slu_lock *lock, int by)
{
	assert(lock->rank < _SLU_LOCK_RANK_MAX);
	if (by > 0)
		for (int r = (int)lock->rank; r < _SLU_LOCK_RANK_MAX; r++)
			assert(!slu_lock_held.of_rank[r]);
	slu_lock_held.of_rank[lock->rank] = (unsigned char)(slu_lock_held.of_rank[lock->rank] + by);
}

static inline void slu_lock_assert_none(void)
{
	assert(!slu_lock_held.all);
}

static inline void slu_lock_assert_only(const struct slu_lock *lock)
{
	union slu_lock_held only = { .all = 0 };

	only.of_rank[lock->rank] = 1;
	assert(slu_lock_held.all == only.all);
}

#endif

static inline void slu_lock_init(struct slu_lock *lock, enum slu_lock_rank rank)
{
	pthread_mutex_init(&lock->mutex, NULL);
	lock->rank = rank;
}

static inline void slu_lock_deinit(struct slu_lock *lock)
{
	pthread_mutex_destroy(&lock->mutex);
}

static inline void slu_lock_take(struct slu_lock *lock)
{
	slu_lock_note(lock, 1);
	pthread_mutex_lock(&lock->mutex);
}

static inline void slu_lock_give(struct slu_lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
	slu_lock_note(lock, -1);
}

/*
 * As pthread_cond_timedwait with a CLOCK_MONOTONIC condition; NULL waits for ever. The thread may
 * hold locks of lower rank: only for the software GPU, whose contexts stay locked over a wait for
 * their streams, as those of the genuine driver do.
 */
static inline int slu_lock_wait_nested(struct slu_lock *lock, pthread_cond_t *cond,
				       const struct timespec *until)
{
	int r;

	slu_lock_note(lock, -1);
	r = until ? pthread_cond_timedwait(cond, &lock->mutex, until)
		  : pthread_cond_wait(cond, &lock->mutex);
	slu_lock_note(lock, 1);
	return r;
}

/* The same, for everybody else: with @lock and no other. */
static inline int slu_lock_wait(struct slu_lock *lock, pthread_cond_t *cond,
				const struct timespec *until)
{
	slu_lock_assert_only(lock);
	return slu_lock_wait_nested(lock, cond, until);
}
