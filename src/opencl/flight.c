/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl/flight.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "base/util.h"
#include "opencl/command.h"
#include "opencl/fastpath.h"
#include "opencl/sweep.h"

#define LIMIT_MAX   (2 * SLU_FASTPATH_RUN_MAX)
#define LIMIT_BEGIN 8 /* of a queue that was idle, whatever its launches took before */

/* between two looks: half of what the oldest command should still take, and then a small part of a
 * launch */
#define PAUSE_SHARE  64
#define PAUSE_MIN_NS (50 * SLU_NS_PER_US)
#define PAUSE_MAX_NS (500 * SLU_NS_PER_US) /* where no other launch is at hand */

/* another queue's commands, which the driver keeps back, may be what this one waits for */
#define FLUSH_NS (20 * SLU_NS_PER_MS)
/* how long nothing may end before one more is let through; or so many times what they take */
#define PATIENCE_NS    SLU_NS_PER_S
#define PATIENCE_TIMES 4

static uint32_t flight_limit_now(const struct slu_flight *f)
{
	uint64_t n = LIMIT_BEGIN + 2 * (f->n_ended - f->n_at_begin);

	return (uint32_t)SLU_MIN((uint64_t)f->limit, n);
}

/* Four marks or more within the limit. */
static uint32_t flight_run_max(const struct slu_flight *f, bool is_managed)
{
	return is_managed ? flight_limit_now(f) / 4 : SLU_FASTPATH_RUN_MAX;
}

static void flight_set_run_max(struct slu_flight *f, bool is_managed)
{
	uint32_t run_max = flight_run_max(f, is_managed);

	if (atomic_load_explicit(&f->run_max, memory_order_relaxed) != run_max)
		atomic_store_explicit(&f->run_max, run_max, memory_order_relaxed);
}

void slu_flight_init(struct slu_flight *f, bool is_managed)
{
	*f = (struct slu_flight){ .limit = SLU_BACKLOG_UNKNOWN };
	flight_set_run_max(f, is_managed);
}

void slu_flight_add_locked(struct slu_command *command)
{
	struct slu_queue *queue = command->queue;
	struct slu_flight *f = &queue->flight;
	uint64_t now_ns = slu_device_is_managed(queue->device) ? slu_clock_now_ns() : 0;

	command->n_carried = 1 + atomic_exchange_explicit(&f->n_closed, 0, memory_order_relaxed);
	command->since_ns = command->n_carried == 1 ? now_ns : f->added_ns;
	f->added_ns = now_ns;
	f->n_in_flight += command->n_carried;
}

void slu_flight_end_locked(struct slu_command *command)
{
	struct slu_flight *f = &command->queue->flight;

	f->n_in_flight -= command->n_carried;
	f->n_ended += command->n_carried;
}

void slu_flight_learn(struct slu_flight *f, uint64_t n, uint64_t took_ns, bool is_exact)
{
	slu_backlog_learn(&f->backlog, n, took_ns, is_exact);
	f->limit = slu_backlog_limit(&f->backlog, LIMIT_MAX);
}

/* The oldest command that runs or may run without the host. */
static struct slu_command *queue_oldest_locked(struct slu_queue *queue)
{
	struct slu_command *command;

	TAILQ_FOREACH (command, &queue->commands, link)
		if (!slu_blockers_hold_locked(&command->blockers))
			return command;
		else if (!queue->is_out_of_order)
			return NULL;
	return NULL;
}

static bool flight_is_full_locked(const struct slu_flight *f, const struct slu_command *oldest)
{
	return f->n_in_flight >= flight_limit_now(f) ||
	       slu_clock_now_ns() > SLU_MAX(oldest->since_ns, f->came_ns) + SLU_BACKLOG_TARGET_NS;
}

/* Return: the command that must end before the queue takes another, or NULL. */
static struct slu_command *queue_oldest_in_the_way_locked(struct slu_queue *queue)
{
	struct slu_command *oldest = queue_oldest_locked(queue);

	return oldest && flight_is_full_locked(&queue->flight, oldest) ? oldest : NULL;
}

/* Sets how long runs may be. Return: whether a command may go on at once. */
static bool flight_adjust(struct slu_queue *queue)
{
	bool is_managed = slu_device_is_managed(queue->device), may_submit;
	struct slu_flight *f = &queue->flight;

	slu_layer_take();
	if (is_managed && !f->n_in_flight &&
	    slu_clock_now_ns() > f->added_ns + SLU_BACKLOG_TARGET_NS)
		f->n_at_begin = f->n_ended;
	flight_set_run_max(f, is_managed);
	may_submit = !is_managed || !queue_oldest_in_the_way_locked(queue);
	slu_layer_give();
	return may_submit;
}

enum look {
	MAY_SUBMIT, /* or there is nothing to wait for */
	HAS_ENDED,
	IS_UNDER_WAY,
};

static enum look flight_look(struct slu_queue *queue, bool is_exact, uint64_t *ret_remaining_ns)
{
	struct slu_flight *f = &queue->flight;
	uint64_t n_before, since_ns = 0, due_ns = 0, now_ns, n;
	struct slu_command *oldest;

	slu_layer_take();
	n_before = f->n_ended;
	oldest = queue_oldest_in_the_way_locked(queue);
	if (oldest) {
		since_ns = SLU_MAX(oldest->since_ns, f->came_ns);
		due_ns = since_ns + oldest->n_carried * f->backlog.cost_ns;
	}
	slu_layer_give();
	if (!oldest)
		return MAY_SUBMIT;

	slu_sweep_queue(queue, true);
	now_ns = slu_clock_now_ns();
	slu_layer_take();
	n = f->n_ended - n_before;
	if (n) {
		slu_flight_learn(f, n, slu_sub_floor(now_ns, since_ns), is_exact);
		f->came_ns = now_ns;
	}
	slu_layer_give();
	*ret_remaining_ns = slu_sub_floor(due_ns, now_ns);
	return n ? HAS_ENDED : IS_UNDER_WAY;
}

/* Launches that are shorter than a pause are looked at without one, for as long as one. */
static void flight_pause(uint64_t cost_ns, uint64_t remaining_ns, uint64_t waited_ns)
{
	uint64_t max_ns =
		cost_ns < SLU_BACKLOG_PAIRED_NS ? SLU_BACKLOG_TARGET_NS / 2 : PAUSE_MAX_NS;
	uint64_t part_ns = SLU_MAX(cost_ns / PAUSE_SHARE, PAUSE_MIN_NS);
	uint64_t ns = SLU_MAX(remaining_ns / 2, part_ns);
	struct timespec time = slu_clock_timespec(SLU_MIN(ns, max_ns));

	if (cost_ns < PAUSE_MIN_NS && waited_ns < PAUSE_MIN_NS)
		sched_yield();
	else
		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL); /* leaves errno alone */
}

static uint64_t flight_cost_ns(struct slu_queue *queue)
{
	uint64_t cost_ns;

	slu_layer_take();
	cost_ns = queue->flight.backlog.cost_ns;
	slu_layer_give();
	return cost_ns;
}

void slu_flight_wait(struct slu_queue *queue, void (*before)(void *data), void *data)
{
	uint64_t began_ns = 0, remaining_ns, waited_ns, cost_ns;
	bool has_paused = false, has_flushed = false;
	enum look seen;

	if (flight_adjust(queue))
		return;
	while ((seen = flight_look(queue, has_paused, &remaining_ns)) != MAY_SUBMIT) {
		if (seen == HAS_ENDED) {
			has_paused = false;
			began_ns = 0;
			continue;
		}
		if (before)
			before(data);
		before = NULL;
		cost_ns = flight_cost_ns(queue);
		if (!began_ns)
			began_ns = slu_clock_now_ns();
		waited_ns = slu_clock_now_ns() - began_ns;
		if (waited_ns > SLU_MAX(PATIENCE_TIMES * cost_ns, PATIENCE_NS))
			return;
		if (waited_ns > FLUSH_NS && !has_flushed) {
			slu_queue_flush_all();
			has_flushed = true;
		}
		flight_pause(cost_ns, remaining_ns, waited_ns);
		has_paused = true;
	}
	flight_adjust(queue);
}
