/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/interp/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/queue.h>

/* however many processors there are */
#define MAX_THREADS 256

struct job {
	void (*work)(void *userdata, unsigned index);
	void *userdata;
	unsigned n_wanted; /* helpers that may still join */
	unsigned n_joined; /* the last one's index */
	unsigned n_inside;
	pthread_cond_t is_empty; /* n_inside became 0 */
	TAILQ_ENTRY(job) link;
};

/* everything below is guarded by lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_wanted = PTHREAD_COND_INITIALIZER;
static TAILQ_HEAD(, job) jobs = TAILQ_HEAD_INITIALIZER(jobs);
static unsigned n_threads;
static unsigned n_idle;

static struct job *find_job(void)
{
	struct job *job;

	TAILQ_FOREACH (job, &jobs, link)
		if (job->n_wanted)
			return job;
	return NULL;
}

static void *helper_main(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "softgpu-helper");
	pthread_mutex_lock(&lock);
	for (;;) {
		struct job *job = find_job();
		unsigned index;

		if (!job) {
			n_idle++;
			pthread_cond_wait(&is_wanted, &lock);
			n_idle--;
			continue;
		}
		job->n_wanted--;
		job->n_inside++;
		index = ++job->n_joined;
		pthread_mutex_unlock(&lock);
		job->work(job->userdata, index);
		pthread_mutex_lock(&lock);
		if (!--job->n_inside)
			pthread_cond_signal(&job->is_empty);
	}
	return NULL;
}

/* Helpers that cannot be started are done without. */
static void start_locked(unsigned n)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;

	if (!n || pthread_attr_init(&attr))
		return;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; n && n_threads < MAX_THREADS; n--, n_threads++)
		if (pthread_create(&thread, &attr, helper_main, NULL))
			break;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
}

static void begin_anew(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&is_wanted, NULL);
	TAILQ_INIT(&jobs);
	n_threads = n_idle = 0;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, begin_anew);
}

void dev_interp_pool_run(unsigned n_helpers, void (*work)(void *userdata, unsigned index),
			 void *userdata)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct job job = {
		.work = work,
		.userdata = userdata,
		.n_wanted = n_helpers,
		.is_empty = PTHREAD_COND_INITIALIZER,
	};

	if (!n_helpers) {
		work(userdata, 0);
		return;
	}
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&lock);
	TAILQ_INSERT_TAIL(&jobs, &job, link);
	if (n_threads < n_helpers)
		start_locked(n_helpers - n_threads);
	for (unsigned i = 0; i < n_helpers && i < n_idle; i++)
		pthread_cond_signal(&is_wanted);
	pthread_mutex_unlock(&lock);
	work(userdata, 0);
	pthread_mutex_lock(&lock);
	TAILQ_REMOVE(&jobs, &job, link);
	while (job.n_inside)
		pthread_cond_wait(&job.is_empty, &lock);
	pthread_mutex_unlock(&lock);
	pthread_cond_destroy(&job.is_empty);
}
