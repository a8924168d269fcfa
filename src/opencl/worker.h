/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Threads of ours for what the driver's threads must not do. A driver calls back on the very
 * threads that run its commands; the program's callbacks may call the layer, which may have to
 * wait for a copy, which needs those threads. So callbacks only leave a job here. Jobs begin in
 * the order in which they were left; one that waits does not keep the next from beginning, for
 * that may be what it waits for. The first thread begins with the first job.
 */

#include <sys/queue.h>

struct slu_worker_job {
	STAILQ_ENTRY(slu_worker_job) link;
	void (*run)(struct slu_worker_job *job); /* owns @job from here on */
};

/* Where no thread can be had the job runs here and now. */
void slu_worker_push(struct slu_worker_job *job);
