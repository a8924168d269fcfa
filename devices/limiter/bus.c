/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/util.h"
#include "limiter/bus.h"

enum job_state {
	JOB_WAITING,
	JOB_BOOKED,
	JOB_ENDED,
};

struct dev_limiter_job {
	TAILQ_ENTRY(dev_limiter_job) link; /* BOOKED: in timers, by end_ns */
	unsigned n_refs;
	enum job_state state;
	struct dev_limiter_device *device; /* constant */
	enum dev_board_engine engine;	   /* constant */
	uint64_t bytes, duration_ns;	   /* constant */
	unsigned n_pending;		   /* what it still waits for; its own enqueueing is one */
	uint64_t ready_ns;		   /* the latest of what it waited for */
	uint64_t end_ns;
	cl_event arrival; /* constant */

	/*
	 * The marker in front of it, or NULL; constant. Kept until the end: PoCL still uses an
	 * event that fails when its callbacks have run, and must not be the only one to hold it.
	 */
	cl_event marker;

	/* jobs that follow this one, each with a reference */
	struct dev_limiter_job **followers;
	size_t n_followers;
};

/* All of this, and every job's fields, guarded by dev_limiter_lock. */
static TAILQ_HEAD(timers, dev_limiter_job) timers = TAILQ_HEAD_INITIALIZER(timers);
static pthread_cond_t timers_changed;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
static pid_t thread_pid; /* 0: there is none; constant after thread_once */

static uint64_t duration_of(enum dev_board_engine engine, uint64_t bytes)
{
	uint64_t rate = dev_limiter_settings.bytes_per_s[engine];

	return rate ? (uint64_t)((double)bytes / (double)rate * (double)SLU_NS_PER_S) : 0;
}

void dev_limiter_bus_job_ref_locked(struct dev_limiter_job *job)
{
	job->n_refs++;
}

void dev_limiter_bus_job_unref_locked(struct dev_limiter_job *job)
{
	if (!job || --job->n_refs)
		return;
	free(job->followers);
	free(job);
}

uint64_t dev_limiter_bus_job_duration_ns(const struct dev_limiter_job *job)
{
	return job->duration_ns;
}

static void book_locked(struct dev_limiter_job *job)
{
	struct dev_limiter_job *other;

	job->end_ns = dev_board_book(job->device->board, job->engine, job->ready_ns,
				     job->duration_ns, job->bytes);
	job->state = JOB_BOOKED;
	TAILQ_FOREACH_REVERSE(other, &timers, timers, link)
	if (other->end_ns <= job->end_ns)
		break;
	if (other)
		TAILQ_INSERT_AFTER(&timers, other, job, link);
	else
		TAILQ_INSERT_HEAD(&timers, job, link);
	pthread_cond_signal(&timers_changed);
}

/* One of the things that @job waits for happened at @when_ns. */
static void ready_locked(struct dev_limiter_job *job, uint64_t when_ns)
{
	job->ready_ns = SLU_MAX(job->ready_ns, when_ns);
	if (!--job->n_pending)
		book_locked(job);
}

/* Without memory to note it, the job is booked too early; the data stay in order all the same. */
static void follow_locked(struct dev_limiter_job *job, struct dev_limiter_job *earlier)
{
	struct dev_limiter_job **more;

	if (earlier->state == JOB_ENDED) {
		job->ready_ns = SLU_MAX(job->ready_ns, earlier->end_ns);
		return;
	}
	more = reallocarray(earlier->followers, earlier->n_followers + 1, sizeof(*more));
	if (!more)
		return;
	earlier->followers = more;
	more[earlier->n_followers++] = job;
	job->n_refs++;
	job->n_pending++;
}

static void end_locked(struct dev_limiter_job *job)
{
	TAILQ_REMOVE(&timers, job, link);
	job->state = JOB_ENDED;
	for (size_t i = 0; i < job->n_followers; i++) {
		ready_locked(job->followers[i], job->end_ns);
		dev_limiter_bus_job_unref_locked(job->followers[i]);
	}
	job->n_followers = 0;
}

static void arrival_set(cl_event arrival)
{
	dev_limiter_driver.clSetUserEventStatus(arrival, CL_COMPLETE);
	dev_limiter_driver.clReleaseEvent(arrival);
}

static void *bus_run(void *data)
{
	(void)data;
	prctl(PR_SET_NAME, "sluice-limiter");
	prctl(PR_SET_TIMERSLACK, 1000);
	slu_lock_take(&dev_limiter_lock);
	for (;;) {
		struct dev_limiter_job *job = TAILQ_FIRST(&timers);
		struct timespec until;

		if (!job || job->end_ns > slu_clock_now_ns()) {
			if (job)
				until = slu_clock_timespec(job->end_ns);
			slu_lock_wait(&dev_limiter_lock, &timers_changed, job ? &until : NULL);
			continue;
		}
		end_locked(job);
		slu_lock_give(&dev_limiter_lock);
		arrival_set(job->arrival);
		if (job->marker)
			dev_limiter_driver.clReleaseEvent(job->marker);
		slu_lock_take(&dev_limiter_lock);
		dev_limiter_bus_job_unref_locked(job);
	}
	return NULL;
}

static void start_thread(void)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	pthread_t thread;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&timers_changed, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&thread, NULL, bus_run, NULL)) {
		thread_pid = getpid();
		pthread_detach(thread);
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void dev_limiter_bus_take(struct dev_limiter_device *device, enum dev_board_engine engine,
			  uint64_t bytes)
{
	uint64_t end_ns = dev_board_book(device->board, engine, slu_clock_now_ns(),
					 duration_of(engine, bytes), bytes);
	struct timespec until = slu_clock_timespec(end_ns);

	if (!duration_of(engine, bytes))
		return;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

/* Does @event still have to happen, and is it not one that failed? */
static bool is_open(cl_event event)
{
	cl_int status = CL_COMPLETE;

	if (dev_limiter_driver.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
					      sizeof(status), &status, NULL))
		return false;
	return status > CL_COMPLETE;
}

static struct dev_limiter_job *job_new(const struct dev_limiter_passage *p, cl_context context)
{
	struct dev_limiter_job *job = calloc(1, sizeof(*job));
	cl_int r;

	if (!job)
		return NULL;
	job->arrival = dev_limiter_driver.clCreateUserEvent(context, &r);
	if (!job->arrival) {
		free(job);
		return NULL;
	}
	job->n_refs = 1;
	job->n_pending = 1;
	job->device = p->device;
	job->engine = p->engine;
	job->bytes = p->bytes;
	job->duration_ns = duration_of(p->engine, p->bytes);
	return job;
}

/*
 * Finds out what a new job follows: jobs are remembered, for the rest a marker is put into the
 * queue. Return: whether the driver had nothing against it.
 */
static bool find_earlier(struct dev_limiter_passage *p, struct dev_limiter_queue_view *view)
{
	cl_event *others = p->list; /* not needed for anything else yet */
	cl_uint n_others = 0;

	for (cl_uint i = 0; i < p->n_wait; i++) {
		struct dev_limiter_job *job = dev_limiter_event_job(p->wait[i]);

		if (job)
			p->earlier[p->n_earlier++] = job;
		else if (is_open(p->wait[i]))
			others[n_others++] = p->wait[i];
	}
	if (view->last)
		p->earlier[p->n_earlier++] = slu_steal_ptr(view->last);
	if (!n_others && !view->needs_marker)
		return true;
	return !dev_limiter_driver.clEnqueueMarkerWithWaitList(
		p->queue, n_others, n_others ? others : NULL, &p->marker);
}

static void forget_earlier(struct dev_limiter_passage *p)
{
	slu_lock_take(&dev_limiter_lock);
	while (p->n_earlier)
		dev_limiter_bus_job_unref_locked(p->earlier[--p->n_earlier]);
	slu_lock_give(&dev_limiter_lock);
	free(p->earlier);
	p->earlier = NULL;
}

/* Without a job: the driver gets what the program gave. */
static void give_up(struct dev_limiter_passage *p)
{
	if (p->job) {
		arrival_set(p->job->arrival);
		free(slu_steal_ptr(p->job)); /* nobody else knows it */
	}
	if (p->marker)
		dev_limiter_driver.clReleaseEvent(p->marker);
	forget_earlier(p);
	free(slu_steal_ptr(p->list));
	p->marker = NULL;
}

static bool bus_prepare(struct dev_limiter_passage *p, struct dev_limiter_queue_view *view)
{
	pthread_once(&thread_once, start_thread);
	/* a forked child has no thread that would set the arrival */
	if (thread_pid != getpid())
		return false;
	p->list = calloc(p->n_wait + 1u, sizeof(*p->list));
	p->earlier = calloc(p->n_wait + 1u, sizeof(struct dev_limiter_job *));
	p->job = p->list && p->earlier ? job_new(p, view->context) : NULL;
	return p->job && find_earlier(p, view);
}

void dev_limiter_bus_begin(struct dev_limiter_passage *p, cl_command_queue queue,
			   enum dev_board_engine engine, uint64_t bytes, cl_bool blocking,
			   cl_uint n_wait, const cl_event *wait, cl_event *event)
{
	struct dev_limiter_queue_view view;

	*p = (struct dev_limiter_passage){
		.blocking = blocking,
		.n_wait = n_wait,
		.wait = wait,
		.event = event,
		.queue = queue,
		.engine = engine,
		.bytes = bytes,
		.was_blocking = blocking,
		.program_event = event,
	};
	if (!dev_limiter_queue_look(queue, &view))
		return;
	p->device = view.device;
	if (duration_of(engine, bytes) && !n_wait == !wait) {
		if (bus_prepare(p, &view)) {
			if (n_wait)
				memcpy(p->list, wait, n_wait * sizeof(*wait));
			p->list[n_wait] = p->job->arrival;
			p->wait = p->list;
			p->n_wait = n_wait + 1;
			p->blocking = CL_FALSE;
			p->event = blocking || event ? &p->own_event : NULL;
		} else {
			give_up(p);
		}
	}
	slu_lock_take(&dev_limiter_lock);
	dev_limiter_bus_job_unref_locked(view.last);
	slu_lock_give(&dev_limiter_lock);
}

static void CL_CALLBACK marker_is_done(cl_event marker, cl_int status, void *data)
{
	struct dev_limiter_job *job = data;

	(void)marker;
	(void)status; /* what failed makes the copy fail too: the driver sees to that */
	slu_lock_take(&dev_limiter_lock);
	ready_locked(job, slu_clock_now_ns());
	dev_limiter_bus_job_unref_locked(job);
	slu_lock_give(&dev_limiter_lock);
}

/* The driver has taken the copy: the job may be booked as soon as it is ready. */
static void bus_start(struct dev_limiter_passage *p)
{
	struct dev_limiter_job *job = slu_steal_ptr(p->job);
	cl_event marker = slu_steal_ptr(p->marker);

	/* without memory to note it: its profile will be the driver's */
	if (p->program_event)
		dev_limiter_event_add(p->own_event, job);
	dev_limiter_queue_note(p->queue, job);
	slu_lock_take(&dev_limiter_lock);
	for (cl_uint i = 0; i < p->n_earlier; i++)
		follow_locked(job, p->earlier[i]);
	job->marker = marker;
	if (marker) {
		job->n_refs++;
		job->n_pending++;
	}
	slu_lock_give(&dev_limiter_lock);
	forget_earlier(p);
	if (marker &&
	    dev_limiter_driver.clSetEventCallback(marker, CL_COMPLETE, marker_is_done, job))
		marker_is_done(marker, CL_COMPLETE, job);
	slu_lock_take(&dev_limiter_lock);
	ready_locked(job, slu_clock_now_ns());
	slu_lock_give(&dev_limiter_lock);
	free(slu_steal_ptr(p->list));
}

cl_int dev_limiter_bus_end(struct dev_limiter_passage *p, cl_int r)
{
	if (!p->job) {
		if (!r && p->device) {
			dev_limiter_queue_note(p->queue, NULL);
			dev_board_book(p->device->board, p->engine, slu_clock_now_ns(), 0,
				       p->bytes);
		}
		return r;
	}
	if (r) {
		give_up(p);
		return r;
	}
	bus_start(p);
	if (p->was_blocking)
		r = dev_limiter_driver.clWaitForEvents(1, &p->own_event);
	if (p->program_event && !r)
		*p->program_event = p->own_event;
	else if (p->own_event)
		dev_limiter_clReleaseEvent(p->own_event);
	return r;
}
