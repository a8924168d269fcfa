/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Threads of the layer for work that the driver's threads must not do. A driver calls back on the
 * very threads that run its commands; the program's callbacks may call the layer, which may have to
 * wait for a copy, which needs those threads. So callbacks only push a job here. Jobs start in
 * order; one that waits does not keep the next from starting, because it may wait for that one. The
 * first thread starts with the first job.
 */

#include <sys/queue.h>

struct slu_worker_job {
	STAILQ_ENTRY(slu_worker_job) link;
	void (*run)(struct slu_worker_job *job); /* owns @job from here on */
};

/* If no thread can be created, the job runs in the caller. */
void slu_worker_push(struct slu_worker_job *job);
