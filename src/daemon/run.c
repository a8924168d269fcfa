/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/size.h"
#include "base/utf8.h"
#include "base/util.h"
#include "daemon/group.h"
#include "daemon/order.h"
#include "daemon/process.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/text.h"

/* A command that waits asks several times a second; one that was stopped may ask late. */
#define SILENCE_NS (10 * SLU_NS_PER_S)

static struct slu_run *run_find(const struct slu_server *server, uid_t uid, uint64_t wire)
{
	struct slu_run *run;

	TAILQ_FOREACH (run, &server->runs, link)
		if (wire && run->wire == wire && run->uid == uid)
			return run;
	return NULL;
}

const struct slu_run *slu_run_find(const struct slu_server *server, uid_t uid, uint64_t wire)
{
	return run_find(server, uid, wire);
}

unsigned slu_run_place(const struct slu_server *server, const struct slu_run *run,
		       unsigned *ret_waiting)
{
	const struct slu_run *other;
	unsigned n = 0, place = 0;

	TAILQ_FOREACH (other, &server->runs, link) {
		n += other->is_waiting;
		if (other == run)
			place = n;
	}
	*ret_waiting = n;
	return place;
}

static bool run_has_programs(const struct slu_server *server, const struct slu_run *run)
{
	const struct slu_group *group;

	LIST_FOREACH (group, &server->groups, entry)
		if (group->wire == run->wire && group->uid == run->uid)
			return true;
	return false;
}

static void run_free(struct slu_server *server, struct slu_run *run)
{
	TAILQ_REMOVE(&server->runs, run, link);
	free(run);
}

void slu_run_sweep(struct slu_server *server)
{
	uint64_t now_ns = slu_clock_now_ns();
	struct slu_run *run, *next;

	for (run = TAILQ_FIRST(&server->runs); run; run = next) {
		bool is_silent = run->is_waiting && now_ns > run->asked_ns + SILENCE_NS;

		next = TAILQ_NEXT(run, link);
		if (is_silent ||
		    (!slu_process_is(run->pid, run->start) && !run_has_programs(server, run)))
			run_free(server, run);
	}
}

void slu_run_clear(struct slu_server *server)
{
	struct slu_run *run;

	while ((run = TAILQ_FIRST(&server->runs)))
		run_free(server, run);
}

/* -- does it fit? ----------------------------------------------------------------------------- */

/* What programs own on the device, NULL: on all; @run: of its programs only, NULL: all. */
static uint64_t owned_bytes(const struct slu_server *server, const struct slu_device *device,
			    const struct slu_run *run)
{
	struct slu_program *program;
	uint64_t bytes = 0;

	LIST_FOREACH (program, &server->programs, entry) {
		struct slu_core_client_view c;

		if (run && (program->group->wire != run->wire || program->uid != run->uid))
			continue;
		if (!slu_core_view_client_of(server->core, program->id, &c))
			continue;
		for (unsigned d = 0; d < c.n_devices; d++)
			if (!device || c.devices[d] == device->number)
				bytes += SLU_MAX(c.wants[d].all_bytes,
						 c.device_accounts[d].held_bytes);
	}
	return bytes;
}

/*
 * What a run that waited has yet to allocate on the device. Nobody knows where before it has begun.
 * A run that did not wait has no promise: it could claim anything.
 */
static uint64_t missing_bytes(const struct slu_server *server, const struct slu_device *device,
			      const struct slu_run *run)
{
	uint64_t owned = owned_bytes(server, NULL, run);

	if (!run->is_admitted || (owned && !owned_bytes(server, device, run)))
		return 0;
	return slu_sub_floor(run->memory_bytes, owned);
}

/* … and what runs that were admitted have yet to allocate. */
static uint64_t promised_bytes(const struct slu_server *server, const struct slu_device *device)
{
	uint64_t bytes = owned_bytes(server, device, NULL);
	const struct slu_run *run;

	TAILQ_FOREACH (run, &server->runs, link)
		bytes += missing_bytes(server, device, run);
	return bytes;
}

static uint64_t present_bytes(const struct slu_server *server, const struct slu_device *device)
{
	struct slu_core_device_view v;

	slu_core_view_device(server->core, device->number, &v);
	return slu_sub_floor(v.usable_bytes, v.outsider_bytes + v.overhead_bytes);
}

/* Return: whether @run fits on a device next to all that is there; if not, why. */
static bool run_fits(const struct slu_server *server, const struct slu_run *run, char *ret_why,
		     size_t size)
{
	struct slu_device *list[SLU_DEVICES_MAX];
	unsigned n = slu_order_list(server->devices, list);
	char need[SLU_SIZE_STRING_MAX], rest[SLU_SIZE_STRING_MAX];
	uint64_t most_bytes = 0;
	bool is_full = n > 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t present = present_bytes(server, list[i]);
		uint64_t promised = promised_bytes(server, list[i]);

		most_bytes = SLU_MAX(most_bytes, slu_sub_floor(present, promised));
		is_full &= promised > present;
	}
	if (!n || (!is_full && run->memory_bytes <= most_bytes))
		return true;
	if (run->memory_bytes)
		snprintf(ret_why, size, "it needs %s, and programs leave %s of the device",
			 slu_size_format(need, run->memory_bytes),
			 slu_size_format(rest, most_bytes));
	else
		snprintf(ret_why, size, "programs own all of the device");
	return false;
}

/* Whether some device is large enough when nothing else is there. */
static bool run_can_fit(const struct slu_server *server, uint64_t bytes)
{
	struct slu_device *list[SLU_DEVICES_MAX];
	unsigned n = slu_order_list(server->devices, list);

	for (unsigned i = 0; i < n; i++) {
		struct slu_core_device_view v;

		slu_core_view_device(server->core, list[i]->number, &v);
		if (bytes <= v.usable_bytes)
			return true;
	}
	return !n;
}

/* Return: whether it may start; if not, why. */
static bool run_may_start(struct slu_server *server, const struct slu_run *run, char *ret_why,
			  size_t size)
{
	const struct slu_run *other;
	int status;

	if (slu_program_may_join(server, run->uid, &status, ret_why, size))
		return false;
	TAILQ_FOREACH (other, &server->runs, link) {
		if (other == run)
			break;
		if (other->is_waiting) {
			snprintf(ret_why, size, "other runs came first");
			return false;
		}
	}
	return run_fits(server, run, ret_why, size);
}

/* -- entering --------------------------------------------------------------------------------- */

static unsigned runs_of(const struct slu_server *server, uid_t uid)
{
	const struct slu_run *run;
	unsigned n = 0;

	TAILQ_FOREACH (run, &server->runs, link)
		n += run->uid == uid;
	return n;
}

static int run_new(struct slu_server *server, const struct slu_run_wish *wish,
		   struct slu_run **ret_run)
{
	struct slu_run *run;
	uint64_t start;

	if (runs_of(server, wish->uid) >= server->config.user_groups_max)
		return SLU_RUN_E_MANY;
	if (slu_process_start(wish->pid, &start))
		return SLU_RUN_E_GONE;
	run = calloc(1, sizeof(*run));
	if (!run)
		return slu_error(-ENOMEM);
	*run = (struct slu_run){
		.wire = wish->wire,
		.uid = wish->uid,
		.pid = wish->pid,
		.start = start,
		.expect_ns = wish->expect_ns,
		.memory_bytes = wish->memory_bytes,
		.came_ns = slu_clock_now_ns(),
		.is_waiting = wish->waits,
	};
	slu_utf8_copy(run->name, sizeof(run->name), wish->name);
	slu_text_clean(run->name);
	TAILQ_INSERT_TAIL(&server->runs, run, link);
	*ret_run = run;
	return 0;
}

int slu_run_enter(struct slu_server *server, const struct slu_run_wish *wish,
		  const struct slu_run **ret_run)
{
	struct slu_run *run;
	int r;

	slu_run_sweep(server);
	if (wish->waits && !run_can_fit(server, wish->memory_bytes))
		return SLU_RUN_E_LARGE;
	run = run_find(server, wish->uid, wish->wire);
	if (!run) {
		r = run_new(server, wish, &run);
		if (r)
			return slu_fold(r);
	}
	run->asked_ns = slu_clock_now_ns();
	if (run->is_waiting && run_may_start(server, run, run->reason, sizeof(run->reason))) {
		run->is_waiting = false;
		run->is_admitted = true;
	}
	*ret_run = run;
	return 0;
}
