/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of program.h: how a process becomes a program: by HELLO, for the first time or again, or
 * by its line in the roster. A HELLO is checked, its devices are acquired, all or none, and only
 * then is anything changed: a rejected HELLO leaves what was known of the process as it was.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "daemon/group.h"
#include "daemon/process.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/session.h"
#include "daemon/text.h"

static void release_devices(struct slu_server *server, struct slu_program_device *devices,
			    unsigned n)
{
	for (unsigned d = 0; d < n; d++)
		slu_devices_release(server->devices, devices[d].device);
}

static int join_refuse(int errno_value, const char *why, int *ret_status, char *ret_why,
		       size_t size)
{
	*ret_status = errno_value;
	snprintf(ret_why, size, "%s", why);
	return SLU_PROGRAM_E_REFUSED;
}

static int refuse_limit(int r, const char *what, int *ret_status, char *ret_why, size_t size)
{
	if (r < 0)
		return slu_fold(r);
	*ret_status = EUSERS;
	snprintf(ret_why, size, "%s too many %s in the daemon.",
		 r == SLU_LIMITS_E_USER ? "you have" : "there are", what);
	return SLU_PROGRAM_E_REFUSED;
}

int slu_program_may_join(struct slu_server *server, uid_t uid, int *ret_status, char *ret_why,
			 size_t size)
{
	static const struct {
		enum slu_limits_kind kind;
		const char *what;
	} rows[] = {
		{ SLU_LIMITS_PROGRAMS, "programs" },
		{ SLU_LIMITS_GROUPS, "groups of programs" },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_charge charge;
		int r = slu_charge_take(server->limits, uid, rows[i].kind, 1, &charge);

		slu_charge_give(&charge);
		if (r)
			return refuse_limit(r, rows[i].what, ret_status, ret_why, size);
	}
	return 0;
}

#define NAMED_TWICE "the program named a device twice."

static const char *hello_fault(const struct slu_msg_hello *hello)
{
	if (!hello->n_devices)
		return "the program named no device.";
	if (hello->pinned_held_bytes > SLU_SERVER_BYTES_MAX ||
	    hello->pageable_held_bytes > SLU_SERVER_BYTES_MAX ||
	    hello->disk_held_bytes > SLU_SERVER_BYTES_MAX)
		return "the program claims to hold more than a device can have.";
	for (unsigned d = 0; d < hello->n_devices; d++) {
		const struct slu_hello_device *device = &hello->devices[d];

		if (device->held_bytes > device->total_bytes ||
		    device->all_bytes > SLU_SERVER_BYTES_MAX ||
		    device->min_bytes > SLU_SERVER_BYTES_MAX ||
		    device->largest_bytes > SLU_SERVER_BYTES_MAX)
			return "the program claims to hold more than a device can have.";
		for (unsigned e = 0; e < d; e++)
			if (!memcmp(device->uuid, hello->devices[e].uuid, sizeof(device->uuid)))
				return NAMED_TWICE;
	}
	return NULL;
}

/* Acquires all or none. */
static int acquire_devices(struct slu_server *server, uint64_t now_ns,
			   const struct slu_hello_device *hello, unsigned n,
			   struct slu_program_device *ret_devices, int *ret_status, char *ret_why,
			   size_t size)
{
	for (unsigned d = 0; d < n; d++) {
		struct slu_hello_device named = hello[d];
		int r;

		slu_text_clean(named.name);
		slu_text_clean(named.pci);
		ret_devices[d] = (struct slu_program_device){
			.epoch = hello[d].epoch,
			.hears_present = hello[d].hears_present,
		};
		r = slu_devices_acquire(server->devices, now_ns, &named, &ret_devices[d].device,
					ret_status, ret_why, size);
		if (r) {
			release_devices(server, ret_devices, d);
			return r == SLU_DEVICES_E_REFUSED ? SLU_PROGRAM_E_REFUSED : slu_fold(r);
		}
		/* several UUIDs may be one card (find_known()) */
		for (unsigned e = 0; e < d; e++)
			if (ret_devices[e].device == ret_devices[d].device) {
				release_devices(server, ret_devices, d + 1);
				return join_refuse(EINVAL, NAMED_TWICE, ret_status, ret_why, size);
			}
	}
	return 0;
}

/*
 * The HELLO for the core: a program that could map the rest of its memory, but may not by its
 * settings, needs all of it on the device.
 */
static struct slu_msg_hello as_settings_allow(const struct slu_program *program,
					      const struct slu_msg_hello *hello)
{
	struct slu_msg_hello copy = *hello;
	struct slu_config_program own;

	slu_program_settings(program, &own);
	for (unsigned d = 0; d < copy.n_devices && !slu_config_may_map(&own); d++)
		if (copy.devices[d].mode == SLU_MODE_MAPPED)
			copy.devices[d].mode = SLU_MODE_ALL;
	return copy;
}

static bool maps_if_larger(const struct slu_program *program)
{
	struct slu_config_program own;

	slu_program_settings(program, &own);
	return !strcmp(own.allow_mapped, "auto");
}

/* Tells the core and the roster of a program whose devices and group are known. */
static int program_enroll(struct slu_program *program, uint64_t now_ns,
			  const struct slu_msg_hello *hello)
{
	struct slu_msg_hello allowed = as_settings_allow(program, hello);
	struct slu_core_join join = {
		.client = program->id,
		.user = program->uid,
		.group = program->group->id,
		.name = program->name,
		.hello = &allowed,
		.priority = slu_program_priority(program),
		.expect_ns = slu_program_expect_ns(program),
		.is_checked = program->server->options.is_system,
		.maps_if_larger = maps_if_larger(program),
	};
	struct slu_core_orphan charges = { .n_devices = program->n_devices };
	int r;

	for (unsigned d = 0; d < program->n_devices; d++)
		join.devices[d] = program->devices[d].device->number;
	slu_backing_bounds(&program->server->backing, program->pid, program->uid, &join.bounds);
	/* reserves its line; the core writes the charges that it believes */
	r = program->slot < 0 ? slu_program_write(program, &charges) : 0;
	return r ? slu_fold(r) : slu_fold(slu_core_hello(program->server->core, now_ns, &join));
}

/* Creates program and group of an unknown process. */
static int program_admit(struct slu_session *session, const struct slu_msg_hello *hello,
			 uint64_t start, int pidfd, struct slu_program **ret_program,
			 int *ret_status, char *ret_why, size_t size)
{
	struct slu_program *program = NULL;
	int r;

	r = slu_program_new(session->server, session->pid, start, session->uid, pidfd, &program);
	if (r)
		return refuse_limit(r, "programs", ret_status, ret_why, size);
	strcpy(program->name, hello->program);
	if (!program->name[0])
		slu_process_name(session->pid, program->name, sizeof(program->name));
	slu_text_clean(program->name);
	r = slu_group_join(session->server, session->uid, hello->group, 0, &program->group);
	if (r) {
		slu_program_free(program);
		return refuse_limit(r, "groups of programs", ret_status, ret_why, size);
	}
	*ret_program = program;
	return 0;
}

/* The process behind @session, known or new. */
static int program_identify(struct slu_session *session, const struct slu_msg_hello *hello,
			    struct slu_program **ret_program, int *ret_status, char *ret_why,
			    size_t size)
{
	struct slu_program *program = slu_program_find_pid(session->server, session->pid);
	uint64_t start;
	int pidfd;

	if (session->pid <= 0)
		return join_refuse(ESRCH, "the daemon cannot see the program's process.",
				   ret_status, ret_why, size);
	pidfd = slu_process_open_peer(slu_channel_fd(session->channel), session->pid);
	if (pidfd < 0 || slu_process_start(session->pid, &start)) {
		if (pidfd >= 0)
			close(pidfd);
		return join_refuse(ESRCH, "the program that connected has ended.", ret_status,
				   ret_why, size);
	}
	/*
	 * the pid was reused before we heard of the death of its last process: on_death is under
	 * way
	 */
	if (!program || program->start != start)
		return slu_fold(program_admit(session, hello, start, pidfd, ret_program, ret_status,
					      ret_why, size));
	close(pidfd);
	if (program->uid != session->uid)
		return join_refuse(EPERM, "the program joined as another user before.", ret_status,
				   ret_why, size);
	*ret_program = program;
	return 0;
}

/* A turn from before a restart or a lost connection. */
static void note_adopted(struct slu_program *program, uint64_t now_ns,
			 const struct slu_msg_hello *hello)
{
	struct slu_timeline *timeline = program->server->timeline;
	struct slu_timeline_who who;

	slu_program_who(program, &who);
	for (unsigned d = 0; d < program->n_devices; d++) {
		struct slu_program_device *own = &program->devices[d];

		if (!slu_core_has_turn(program->server->core, program->id, d))
			own->epoch = (struct slu_epoch){};
		if (slu_epoch_is_none(own->epoch))
			continue;
		own->turn = slu_timeline_granted(timeline, now_ns, &who, own->device->number,
						 own->epoch);
		if (hello->devices[d].gate_is_open)
			slu_timeline_ready(timeline, now_ns, own->turn);
	}
}

static pid_t find_helper(pid_t pid)
{
	static const char *const names[] = { SLU_WIRE_HELPER, SLU_WIRE_HELPER_ALONE };

	return slu_process_find_thread(pid, names, SLU_ARRAY_SIZE(names));
}

int slu_program_join(struct slu_session *session, const struct slu_msg_hello *hello,
		     int *ret_status, char *ret_why, size_t size)
{
	struct slu_server *server = session->server;
	struct slu_program_device devices[SLU_WIRE_DEVICES_MAX] = {};
	uint64_t now_ns = slu_clock_now_ns();
	struct slu_program *program = NULL;
	const char *fault;
	int r;

	fault = hello_fault(hello);
	if (fault)
		return join_refuse(EINVAL, fault, ret_status, ret_why, size);
	r = acquire_devices(server, now_ns, hello->devices, hello->n_devices, devices, ret_status,
			    ret_why, size);
	if (r)
		return slu_fold(r);
	r = program_identify(session, hello, &program, ret_status, ret_why, size);
	if (r) {
		release_devices(server, devices, hello->n_devices);
		return slu_fold(r);
	}

	if (program->session)
		slu_session_close(program->session);
	for (unsigned d = 0; d < program->n_devices; d++)
		slu_timeline_end(server->timeline, now_ns, program->devices[d].turn,
				 "the program joined again");
	release_devices(server, program->devices, program->n_devices);
	memcpy(program->devices, devices, sizeof(devices));
	program->n_devices = hello->n_devices;
	program->session = session;
	program->is_orphan = false;
	program->helper = find_helper(program->pid);
	session->program = program;
	r = program_enroll(program, now_ns, hello);
	if (r) {
		session->program = NULL;
		program->session = NULL;
		slu_core_dead(server->core, now_ns, program->id);
		slu_roster_drop(server->roster, program->slot);
		slu_program_free(program);
		if (r == -ENOSPC)
			return join_refuse(ENOSPC, "the daemon serves as many programs as it can.",
					   ret_status, ret_why, size);
		return slu_fold(r);
	}
	note_adopted(program, now_ns, hello);
	slu_server_wake(server);
	slu_server_population_changed(server);
	return 0;
}

/*
 * The devices that the line names, as far as they are available: it leaves out a device that
 * another daemon has taken meanwhile, or that is gone. The line in the roster keeps all of them, so
 * nothing is forgotten if the device comes back before the program.
 */
static int revive_devices(struct slu_program *program, const struct slu_roster_line *line,
			  struct slu_core_orphan *orphan)
{
	uint64_t now_ns = slu_clock_now_ns();

	for (unsigned d = 0; d < line->n_devices; d++) {
		const struct slu_roster_device *known = &line->devices[d];
		struct slu_program_device *own = &program->devices[program->n_devices];
		struct slu_hello_device named = { .total_bytes = known->total_bytes };
		char why[SLU_WIRE_DETAIL_MAX];
		int r, status;

		memcpy(named.uuid, known->uuid, sizeof(named.uuid));
		memcpy(named.pci, known->pci, sizeof(named.pci));
		memcpy(named.name, known->name, sizeof(named.name));
		r = acquire_devices(program->server, now_ns, &named, 1, own, &status, why,
				    sizeof(why));
		if (r < 0)
			return slu_fold(r);
		if (r == SLU_PROGRAM_E_REFUSED) {
			slu_log(WARNING, "program=%s pid=%d keeps its line without a device: %s",
				program->name, (int)program->pid, why);
			continue;
		}
		orphan->devices[program->n_devices] = own->device->number;
		orphan->device_bytes[program->n_devices++] = known->charge_bytes;
	}
	orphan->n_devices = program->n_devices;
	return 0;
}

static int program_revive(struct slu_program *program, const struct slu_roster_line *line)
{
	struct slu_server *server = program->server;
	struct slu_core_orphan orphan = {
		.client = program->id,
		.user = line->uid,
		.name = program->name,
		.pinned_bytes = line->pinned_bytes,
		.backing_bytes = line->backing_bytes,
		.disk_bytes = line->disk_bytes,
	};
	int r;

	program->is_orphan = true;
	strcpy(program->name, line->name);
	r = line->is_split ? slu_group_split(server, line->uid, line->wire_group, line->group,
					     &program->group)
			   : slu_group_join(server, line->uid, line->wire_group, line->group,
					    &program->group);
	if (r)
		return slu_fold(r);
	r = revive_devices(program, line, &orphan);
	if (r)
		return slu_fold(r);
	orphan.group = program->group->id;
	slu_backing_bounds(&server->backing, line->pid, line->uid, &orphan.bounds);
	r = slu_core_orphan(server->core, slu_clock_now_ns(), &orphan);
	if (!r && line->is_parked)
		r = slu_group_park(server, program->group, true);
	if (!r)
		slu_program_suspend(program, line->suspension <= SLU_SUSPENSION_COMING
						     ? (enum slu_suspension)line->suspension
						     : SLU_SUSPENSION_NONE);
	return slu_fold(r);
}

int slu_program_orphan(struct slu_server *server, int slot)
{
	struct slu_program *program;
	struct slu_roster_line line;
	int pidfd, r;

	if (!slu_roster_get(server->roster, slot, &line))
		return 0;
	pidfd = slu_process_open(line.pid);
	/* checked after the pidfd is open: from here on the pid cannot belong to another process */
	if (pidfd < 0 || !slu_process_is(line.pid, line.start)) {
		if (pidfd >= 0)
			close(pidfd);
		slu_roster_drop(server->roster, slot);
		return 0;
	}
	slu_limits_lift(server->limits, true);
	r = slu_program_new(server, line.pid, line.start, line.uid, pidfd, &program);
	if (!r) {
		program->slot = slot;
		program->helper = line.helper;
		r = slu_charge_take(server->limits, line.uid, SLU_LIMITS_SESSIONS, 1,
				    &program->return_charge);
		if (!r)
			r = program_revive(program, &line);
		if (r)
			slu_program_free(program);
	}
	slu_limits_lift(server->limits, false);
	if (r) {
		slu_roster_drop(server->roster, slot);
		return r < 0 ? slu_fold(r) : 0;
	}
	slu_log(NOTICE, "waiting for program=%s pid=%d to come back", program->name,
		(int)program->pid);
	return 0;
}
