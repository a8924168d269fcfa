/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Mutexes with a rank, for code that runs inside other people's programs. A thread takes locks
 * in rising rank only; debug builds check that, release builds are a plain mutex. No lock of
 * ours is held while the genuine driver is called: slu_lock_assert_none() stands in front of
 * such calls.
 */

#include <assert.h>
#include <pthread.h>

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

/* How many locks of each rank this thread holds; one a process for each library linked with base.
 */
extern __thread unsigned char slu_lock_held[_SLU_LOCK_RANK_MAX];

#ifdef NDEBUG

static inline void slu_lock_note(struct slu_lock *lock, int by)
{
	(void)lock;
	(void)by;
}

static inline void slu_lock_assert_none(void)
{
}

#else

static inline void slu_lock_note(struct slu_lock *lock, int by)
{
	assert(lock->rank < _SLU_LOCK_RANK_MAX);
	if (by > 0)
		for (int r = (int)lock->rank; r < _SLU_LOCK_RANK_MAX; r++)
			assert(!slu_lock_held[r]);
	slu_lock_held[lock->rank] = (unsigned char)(slu_lock_held[lock->rank] + by);
}

static inline void slu_lock_assert_none(void)
{
	for (int r = 0; r < _SLU_LOCK_RANK_MAX; r++)
		assert(!slu_lock_held[r]);
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

/* As pthread_cond_timedwait with a CLOCK_MONOTONIC condition; NULL waits for ever. */
static inline int slu_lock_wait(struct slu_lock *lock, pthread_cond_t *cond,
				const struct timespec *until)
{
	int r;

	slu_lock_note(lock, -1);
	r = until ? pthread_cond_timedwait(cond, &lock->mutex, until)
		  : pthread_cond_wait(cond, &lock->mutex);
	slu_lock_note(lock, 1);
	return r;
}
