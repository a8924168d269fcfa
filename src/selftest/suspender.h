/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The driver's own suspend, as one act: takes everything that a process has on devices to the host,
 * or brings it back, from whatever state another caller left it in. For a process of the user's
 * own: the kernel decides by its rights whom it may act on.
 *
 *   RUNNING ─lock─▶ LOCKED ─checkpoint─▶ CHECKPOINTED        slu_suspender_suspend()
 *   RUNNING ◀─unlock─ LOCKED ◀─restore─ CHECKPOINTED         slu_suspender_resume()
 *
 * If a step of a suspend fails, the process is unlocked and goes on. If a restore fails, it stays
 * CHECKPOINTED.
 */

#include <stdbool.h>

/* The step after which a process that was brought back has its memory on the device. */
#define SLU_SUSPENDER_UNLOCK "cuCheckpointProcessUnlock"

struct slu_suspender_outcome {
	int error;	  /* the driver's, of the step that failed; 0: it is done */
	const char *step; /* … its call; NULL: the driver itself could not be used */
	const char *why;  /* … in words */
	bool is_away;	  /* nothing of the process is on a device */
};

/* @timeout_ms: how long work that was submitted may take. */
void slu_suspender_suspend(const char *driver, int pid, unsigned timeout_ms,
			   struct slu_suspender_outcome *ret_outcome);
void slu_suspender_resume(const char *driver, int pid, struct slu_suspender_outcome *ret_outcome);
