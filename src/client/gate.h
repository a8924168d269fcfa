/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The gate: one word a device, written under the client's lock only. With the gate open a call
 * costs two stores and a load: no call, no lock, no message.
 *
 * A thread publishes itself first (a plain store to its own cache line), then loads the word, and
 * withdraws after the driver's call has returned. The helper, closing, stores the word, issues
 * membarrier(PRIVATE_EXPEDITED), and waits until every slot is empty. Load-then-publish would let
 * launches through after a "complete" drain. Where membarrier is refused, and under TSan, the
 * publishing store and the load after it are sequentially consistent instead.
 *
 *   thread:  slot = device + 1 ; word open?  yes: call the driver ; slot = 0
 *                                            no:  slot = 0 ; wait ; again
 *   helper:  word = 0 ; membarrier ; until every slot != device + 1
 *
 * Writes: a call that knows which units it may write says so and vouches for that (client.h). The
 * helper compares the number of entries with the number of those that were vouched for: where both
 * rose by the same, nothing else can have been written.
 *
 * A thread may be inside for one device at a time. Entering twice (a driver's callback that calls
 * the API) is allowed and counted: the inner entry passes, for the outer one already holds the
 * helper back.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SLU_GATE_DEVICES_MAX 8

struct slu_gate_slot {
	_Atomic uint32_t
		inside; /* device + 1 while its thread is between enter and leave, else 0 */
	uint32_t depth; /* own thread only: entries inside the outermost one */
	_Atomic uint64_t n_entries; /* own thread only writes: calls that went through */
	/* own thread only writes: of these, the ones whose writes are all known, less the calls
	 * inside or outside of entries whose writes are not */
	_Atomic uint64_t n_vouched;
	struct slu_gate_slot
		*next;	       /* constant once the slot is in the list, and it never leaves it */
	_Atomic bool is_taken; /* guarded by the gate's lock, but for its thread giving it back */
} __attribute__((__aligned__(64)));

struct slu_gate {
	_Atomic uint32_t open[SLU_GATE_DEVICES_MAX]; /* 1: open. Written under the client's lock */
	/* 1: calls should tell what they write. Written under the client's lock, before it opens */
	_Atomic uint32_t wants_writes[SLU_GATE_DEVICES_MAX];
	bool has_membarrier; /* constant after slu_gate_init() */
};

#define SLU_GATE_API __attribute__((__visibility__("default")))

/* The process's gate, in libsluice-client.so. */
extern SLU_GATE_API struct slu_gate slu_gate_global;

/* Once a process, before any thread enters; again in a forked child. */
void slu_gate_init(bool allow_membarrier);

/* In the child of a fork: every thread but this one is gone, and so are their entries. */
void slu_gate_forked(void);

/* This thread's slot, made at first use and given back when the thread ends. Never NULL. */
SLU_GATE_API struct slu_gate_slot *slu_gate_slot_slow(void);

extern SLU_GATE_API __thread struct slu_gate_slot *slu_gate_slot_mine
	__attribute__((__tls_model__("initial-exec")));

/*
 * Return: true when inside (call the driver, then slu_gate_leave), false when the gate is shut
 * (the thread is not inside: wait, then try again).
 */
static inline bool slu_gate_try_enter(unsigned device)
{
	struct slu_gate_slot *slot = slu_gate_slot_mine;
	uint32_t is_open;

	if (__builtin_expect(!slot, 0))
		slot = slu_gate_slot_slow();
	if (__builtin_expect(slot->depth, 0)) {
		slot->depth++;
		return true;
	}
	if (__builtin_expect(slu_gate_global.has_membarrier, 1)) {
		atomic_store_explicit(&slot->inside, device + 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		is_open = atomic_load_explicit(&slu_gate_global.open[device], memory_order_acquire);
	} else {
		atomic_store_explicit(&slot->inside, device + 1, memory_order_seq_cst);
		is_open = atomic_load_explicit(&slu_gate_global.open[device], memory_order_seq_cst);
	}
	if (__builtin_expect(is_open, 1)) {
		slot->depth = 1;
		return true;
	}
	atomic_store_explicit(&slot->inside, 0, memory_order_release);
	return false;
}

/* Whether it is of use that calls tell what they write. */
static inline bool slu_gate_wants_writes(unsigned device)
{
	return atomic_load_explicit(&slu_gate_global.wants_writes[device], memory_order_relaxed);
}

static inline void slu_gate_count_vouched(struct slu_gate_slot *slot, uint64_t by)
{
	atomic_store_explicit(&slot->n_vouched,
			      atomic_load_explicit(&slot->n_vouched, memory_order_relaxed) + by,
			      memory_order_relaxed);
}

/* The call that this thread is inside for writes only what it told before; once a call. */
static inline void slu_gate_vouch(void)
{
	struct slu_gate_slot *slot = slu_gate_slot_mine;

	if (slot && slot->depth)
		slu_gate_count_vouched(slot, 1);
}

static inline void slu_gate_leave(void)
{
	struct slu_gate_slot *slot = slu_gate_slot_mine;

	if (__builtin_expect(--slot->depth, 0)) {
		/* not counted as an entry: takes its vouch back, or else the outer call's */
		slu_gate_count_vouched(slot, UINT64_MAX);
		return;
	}
	atomic_store_explicit(&slot->n_entries,
			      atomic_load_explicit(&slot->n_entries, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	atomic_store_explicit(&slot->inside, 0, memory_order_release);
}

/*
 * Enters without a look at the word: the context is dead, no memory can be touched any more, and
 * the program should get the error from its driver.
 */
void slu_gate_force_enter(unsigned device);

/* Whether this thread is between enter and leave. */
static inline bool slu_gate_is_inside(void)
{
	return slu_gate_slot_mine && slu_gate_slot_mine->depth;
}

/* -- the helper's side ------------------------------------------------------------------------ */

void slu_gate_set_wants_writes(unsigned device, bool wants_writes);

void slu_gate_open(unsigned device);

/* Shuts the word. New entries fail from the return of this call on; some may still be inside. */
void slu_gate_shut(unsigned device);

/* Whether no thread is inside for @device. Only after slu_gate_shut(). */
bool slu_gate_is_empty(unsigned device);

/*
 * For words of a front end that threads read inside the gate while it stays open. After a store and
 * slu_gate_fence(), every thread that enters sees the new value. slu_gate_is_past() returns whether
 * the threads that were inside for @device before have left: it waits for them for a moment and is
 * false if they do not leave.
 */
SLU_GATE_API void slu_gate_fence(void);
SLU_GATE_API bool slu_gate_is_past(unsigned device);

/* Calls that went through since the process began, all threads. */
SLU_GATE_API uint64_t slu_gate_n_entries(void);

/* Of these, the ones that were vouched for. Exact while no thread is inside. */
uint64_t slu_gate_n_vouched(void);

/* A call of this thread went past the gate, and nobody knows what it writes. */
SLU_GATE_API void slu_gate_unvouch(void);
