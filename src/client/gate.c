/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Slots are handed out from a fixed table first, so that an ordinary program costs no memory, then
 * from pages of our own. They are never freed: the list only grows and can be walked without a
 * lock while threads come and go.
 */

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/util.h"
#include "client/gate.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif

/* TSan cannot see what membarrier orders. */
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define MEMBARRIER_IS_USABLE false
#else
#define MEMBARRIER_IS_USABLE true
#endif

#define N_FIRST_SLOTS 64
#define N_TRIES_PAST  64

struct slu_gate slu_gate_global;
__thread struct slu_gate_slot *slu_gate_slot_mine;

static struct slu_lock slots_lock = SLU_LOCK_INIT(SLU_LOCK_GATE);
static struct slu_gate_slot first_slots[N_FIRST_SLOTS];
static struct slu_gate_slot *spare_slots;     /* guarded by slots_lock: the rest of the last page */
static unsigned n_first_used;		      /* guarded by slots_lock */
static unsigned n_spare;		      /* guarded by slots_lock */
static _Atomic(struct slu_gate_slot *) slots; /* grows under slots_lock, read by any thread */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key; /* constant after key_once */

static int gate_membarrier(int command)
{
	return (int)syscall(__NR_membarrier, command, 0, 0);
}

void slu_gate_init(bool allow_membarrier)
{
	int saved = errno;

	slu_gate_global.has_membarrier =
		MEMBARRIER_IS_USABLE && allow_membarrier &&
		gate_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
	errno = saved;
}

static void slot_give_back(void *data)
{
	struct slu_gate_slot *slot = data;

	slu_gate_slot_mine = NULL;
	/* a thread that ends inside may have vouched for a call that never counts as an entry */
	if (slot->depth)
		slu_gate_count_vouched(slot, UINT64_MAX - 1);
	slot->depth = 0;
	atomic_store_explicit(&slot->inside, 0, memory_order_release);
	atomic_store_explicit(&slot->is_taken, false, memory_order_release);
}

static void slot_make_key(void)
{
	has_key = pthread_key_create(&key, slot_give_back) == 0;
}

static struct slu_gate_slot *slot_fresh_locked(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (n_first_used < N_FIRST_SLOTS)
		return &first_slots[n_first_used++];
	if (!n_spare) {
		spare_slots = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		if (spare_slots == MAP_FAILED)
			return NULL;
		n_spare = (unsigned)(page / sizeof(*spare_slots));
	}
	return &spare_slots[--n_spare];
}

static struct slu_gate_slot *slot_take(void)
{
	struct slu_gate_slot *slot;

	slu_lock_take(&slots_lock);
	for (slot = atomic_load(&slots); slot; slot = slot->next)
		if (!atomic_load_explicit(&slot->is_taken, memory_order_acquire))
			break;
	if (!slot) {
		slot = slot_fresh_locked();
		if (slot) {
			slot->next = atomic_load(&slots);
			atomic_store(&slots, slot);
		}
	}
	if (slot)
		atomic_store_explicit(&slot->is_taken, true, memory_order_relaxed);
	slu_lock_give(&slots_lock);
	return slot;
}

struct slu_gate_slot *slu_gate_slot_slow(void)
{
	struct slu_gate_slot *slot;
	int saved = errno;

	pthread_once(&key_once, slot_make_key);
	/*
	 * Without a slot the thread could not be seen inside; the end of another thread may free
	 * one.
	 */
	while (!(slot = slot_take()))
		sched_yield();
	slu_gate_slot_mine = slot;
	if (has_key)
		pthread_setspecific(key, slot);
	errno = saved;
	return slot;
}

void slu_gate_forked(void)
{
	slu_lock_init(&slots_lock, SLU_LOCK_GATE);
	for (struct slu_gate_slot *s = atomic_load(&slots); s; s = s->next) {
		if (s == slu_gate_slot_mine)
			continue;
		s->depth = 0;
		atomic_store(&s->inside, 0);
		atomic_store(&s->is_taken, false);
	}
	slu_gate_init(slu_gate_global.has_membarrier);
}

void slu_gate_force_enter(unsigned device)
{
	struct slu_gate_slot *slot = slu_gate_slot_mine;

	if (!slot)
		slot = slu_gate_slot_slow();
	if (!slot->depth++)
		atomic_store(&slot->inside, device + 1);
}

void slu_gate_set_wants_writes(unsigned device, bool wants_writes)
{
	atomic_store_explicit(&slu_gate_global.wants_writes[device], wants_writes,
			      memory_order_relaxed);
}

void slu_gate_open(unsigned device)
{
	atomic_store_explicit(&slu_gate_global.open[device], 1, memory_order_seq_cst);
}

void slu_gate_shut(unsigned device)
{
	int saved = errno;

	atomic_store_explicit(&slu_gate_global.open[device], 0, memory_order_seq_cst);
	if (slu_gate_global.has_membarrier)
		gate_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	errno = saved;
}

bool slu_gate_is_empty(unsigned device)
{
	for (struct slu_gate_slot *s = atomic_load(&slots); s; s = s->next)
		if (atomic_load_explicit(&s->inside, memory_order_seq_cst) == device + 1)
			return false;
	return true;
}

void slu_gate_fence(void)
{
	int saved = errno;

	atomic_thread_fence(memory_order_seq_cst);
	if (slu_gate_global.has_membarrier)
		gate_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	errno = saved;
}

static bool slot_is_still_inside(const struct slu_gate_slot *s, unsigned device, uint64_t n_entries)
{
	return atomic_load_explicit(&s->inside, memory_order_seq_cst) == device + 1 &&
	       atomic_load_explicit(&s->n_entries, memory_order_relaxed) == n_entries;
}

bool slu_gate_is_past(unsigned device)
{
	for (struct slu_gate_slot *s = atomic_load(&slots); s; s = s->next) {
		uint64_t n = atomic_load_explicit(&s->n_entries, memory_order_relaxed);
		unsigned n_tries = 0;

		while (s != slu_gate_slot_mine && slot_is_still_inside(s, device, n)) {
			if (++n_tries > N_TRIES_PAST)
				return false;
			sched_yield();
		}
	}
	return true;
}

uint64_t slu_gate_n_entries(void)
{
	uint64_t n = 0;

	for (struct slu_gate_slot *s = atomic_load(&slots); s; s = s->next)
		n += atomic_load_explicit(&s->n_entries, memory_order_relaxed);
	return n;
}

uint64_t slu_gate_n_vouched(void)
{
	uint64_t n = 0;

	for (struct slu_gate_slot *s = atomic_load(&slots); s; s = s->next)
		n += atomic_load_explicit(&s->n_vouched, memory_order_relaxed);
	return n;
}

void slu_gate_unvouch(void)
{
	struct slu_gate_slot *slot = slu_gate_slot_mine;

	slu_gate_count_vouched(slot ? slot : slu_gate_slot_slow(), UINT64_MAX);
}
