/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A process that another one may suspend by its pid: cuCheckpointProcessLock() and the calls beside
 * it. All device memory goes to memory of the host and comes back under the same addresses.
 *
 *   RUNNING ──lock──▶ LOCKED ──checkpoint──▶ CHECKPOINTED
 *      ▲               │  ▲                      │
 *      └────unlock─────┘  └───────restore────────┘
 *
 *  RUNNING:       calls pass.                          * the gate is open
 *  LOCKED:        calls wait, no work is queued.       * the restore thread holds the locks
 *  CHECKPOINTED:  … and nothing of it is on a card.    * every card's memory is in a snapshot
 *  FAILED:        neither could be had: calls wait for ever.
 *
 * A step that fails leaves the process in the state before it; a lock that is not had in time
 * leaves it RUNNING. FAILED needs a second failure while the first one is undone.
 *
 * Each process has a restore thread that carries out what others ask. It listens at a socket whose
 * name, in the kernel's abstract namespace, tells the process, so that nothing is left behind by a
 * process that ends. It holds the lock of managed memory, the driver's and the queues' lock from
 * lock to unlock: what the interface says of its own locks. Who may ask is who may send the process
 * a signal; both sides check it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cuabi/cuda-min.h"

/* -- suspend.c: on the restore thread only, but for pass() ----------------------------------- */

/* In front of each call: waits while the process is suspended. */
void dev_suspend_pass(void);

CUprocessState dev_suspend_state(void);

/*
 * Waits for the work that was submitted. @go_on is asked now and then; false ends the wait.
 * Return: CUDA_SUCCESS, ILLEGAL_STATE, NOT_READY where it ended early.
 */
CUresult dev_suspend_lock(bool (*go_on)(void *data), void *data);

/* Return: CUDA_SUCCESS, ILLEGAL_STATE, NOT_SUPPORTED with memory that other processes share. */
CUresult dev_suspend_checkpoint(void);

/*
 * @pairs: the card that each of the process's cards becomes; none: each becomes itself.
 * Return: CUDA_SUCCESS, ILLEGAL_STATE, OUT_OF_MEMORY where a card has too little free,
 * INVALID_VALUE where the pairs lack a card, NOT_SUPPORTED where one becomes another.
 */
CUresult dev_suspend_restore(const CUcheckpointGpuPair *pairs, unsigned n_pairs);
CUresult dev_suspend_unlock(void);

/* -- suspend-thread.c ------------------------------------------------------------------------ */

#define DEV_SUSPEND_PAIRS_MAX 8

enum dev_suspend_verb {
	DEV_SUSPEND_STATE,
	DEV_SUSPEND_THREAD,
	DEV_SUSPEND_LOCK,
	DEV_SUSPEND_CHECKPOINT,
	DEV_SUSPEND_RESTORE,
	DEV_SUSPEND_UNLOCK,
};

/* One packet each way. */
struct dev_suspend_request {
	uint32_t verb;
	uint32_t timeout_ms; /* of a lock; 0: none */
	uint32_t n_pairs;
	CUcheckpointGpuPair pairs[DEV_SUSPEND_PAIRS_MAX];
};

struct dev_suspend_reply {
	uint32_t result;
	uint32_t state;
	int32_t thread;
};

/* Starts the restore thread. Without one the process runs as well, and cannot be suspended. */
void dev_suspend_thread_start(void);

/* A forked child has no such thread; without the socket nobody waits for one. */
void dev_suspend_thread_forget(void);

/* -- suspend-ask.c ---------------------------------------------------------------------------- */

/* A place for a socket's name, and the name of process @pid. Return: its length, or -errno. */
#define DEV_SUSPEND_NAME_MAX 64
int dev_suspend_name(pid_t pid, char ret_name[static DEV_SUSPEND_NAME_MAX]);

/*
 * Asks the process @pid.
 * Return: its answer; INVALID_VALUE where it is no process with a driver, OPERATING_SYSTEM where
 * the kernel would not let us send it a signal.
 */
CUresult dev_suspend_ask(int pid, const struct dev_suspend_request *request,
			 struct dev_suspend_reply *ret_reply);
