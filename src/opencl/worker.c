/* SPDX-License-Identifier: Apache-2.0 */

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "base/lock.h"
#include "opencl/worker.h"

#define THREADS_MAX 16

static struct {
	struct slu_lock lock; /* guards the rest */
	pthread_cond_t more;
	STAILQ_HEAD(, slu_worker_job) jobs;
	unsigned n_jobs;
	unsigned n_idle, n_threads;
	bool has_fork_handler;
} worker = {
	.lock = SLU_LOCK_INIT(SLU_LOCK_LEAF),
	.more = PTHREAD_COND_INITIALIZER,
	.jobs = STAILQ_HEAD_INITIALIZER(worker.jobs),
};

static void *worker_main(void *data)
{
	struct slu_worker_job *job;

	pthread_setname_np(pthread_self(), "sluice-cl");
	for (;;) {
		slu_lock_take(&worker.lock);
		worker.n_idle++;
		while (STAILQ_EMPTY(&worker.jobs))
			slu_lock_wait(&worker.lock, &worker.more, NULL);
		worker.n_idle--;
		job = STAILQ_FIRST(&worker.jobs);
		STAILQ_REMOVE_HEAD(&worker.jobs, link);
		worker.n_jobs--;
		slu_lock_give(&worker.lock);
		job->run(job);
	}
	return data;
}

/* The child has no such threads, and the jobs were the parent's. */
static void worker_forked(void)
{
	slu_lock_init(&worker.lock, SLU_LOCK_LEAF);
	pthread_cond_init(&worker.more, NULL);
	STAILQ_INIT(&worker.jobs);
	worker.n_jobs = worker.n_idle = worker.n_threads = 0;
}

static bool worker_start_locked(void)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (!worker.has_fork_handler)
		worker.has_fork_handler = pthread_atfork(NULL, NULL, worker_forked) == 0;
	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, worker_main, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r == 0;
}

void slu_worker_push(struct slu_worker_job *job)
{
	bool is_here = false;

	slu_lock_take(&worker.lock);
	if (worker.n_jobs >= worker.n_idle && worker.n_threads < THREADS_MAX)
		worker.n_threads += worker_start_locked();
	if (worker.n_threads) {
		STAILQ_INSERT_TAIL(&worker.jobs, job, link);
		worker.n_jobs++;
		pthread_cond_signal(&worker.more);
	} else {
		is_here = true;
	}
	slu_lock_give(&worker.lock);
	if (is_here)
		job->run(job);
}
