/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/util.h"
#include "daemon/cgroup.h"
#include "daemon/denial.h"
#include "daemon/group.h"
#include "daemon/process.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/session.h"

struct slu_program *slu_program_find(struct slu_server *server, uint64_t id)
{
	struct slu_program *program;

	LIST_FOREACH (program, &server->programs_by_id[id % SLU_SERVER_BUCKETS], id_entry)
		if (program->id == id)
			return program;
	return NULL;
}

struct slu_program *slu_program_find_pid(struct slu_server *server, pid_t pid)
{
	struct slu_program *program;

	/* the newest first: a pid may be reused before we hear of a death */
	LIST_FOREACH (program, &server->programs_by_pid[(unsigned)pid % SLU_SERVER_BUCKETS],
		      pid_entry)
		if (program->pid == pid)
			return program;
	return NULL;
}

void slu_program_who(const struct slu_program *program, struct slu_timeline_who *ret_who)
{
	*ret_who = (struct slu_timeline_who){
		.client = program->id,
		.group = program->group->id,
		.pid = program->pid,
		.uid = program->uid,
	};
	/* all programs of a run have its name: one with separate turns needs a name of its own */
	slu_utf8_copy(ret_who->name, sizeof(ret_who->name) - (program->group->is_split ? 16 : 0),
		      program->name);
	if (program->group->is_split)
		sprintf(ret_who->name + strlen(ret_who->name), " (%d)", (int)program->pid);
}

void slu_program_free(struct slu_program *program)
{
	struct slu_server *server = program->server;

	assert(!program->session);
	for (unsigned d = 0; d < program->n_devices; d++)
		slu_devices_release(server->devices, program->devices[d].device);
	sd_event_source_disable_unref(program->death);
	if (program->pidfd >= 0)
		close(program->pidfd);
	if (program->group)
		slu_group_leave(program->group);
	slu_charge_give(&program->charge);
	slu_charge_give(&program->return_charge);
	LIST_REMOVE(program, entry);
	LIST_REMOVE(program, id_entry);
	LIST_REMOVE(program, pid_entry);
	free(program);
	slu_server_population_changed(server);
}

static void program_end(struct slu_program *program, const char *why)
{
	struct slu_server *server = program->server;
	uint64_t now_ns = slu_clock_now_ns();

	slu_log(INFO, "gone program=%s pid=%d: %s", program->name, (int)program->pid, why);
	for (unsigned d = 0; d < program->n_devices; d++)
		slu_timeline_end(server->timeline, now_ns, program->devices[d].turn, why);
	if (program->session) {
		struct slu_session *session = program->session;

		/* it sends nothing more */
		session->program = NULL;
		program->session = NULL;
		slu_session_close(session);
	}
	slu_core_dead(server->core, now_ns, program->id);
	slu_roster_drop(server->roster, program->slot);
	slu_program_free(program);
	slu_server_wake(server);
}

static int on_death(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct slu_program *program = data;

	(void)source;
	(void)fd;
	(void)events;
	/* its last message may say why it ended */
	if (program->session)
		slu_session_drain(program->session);
	program_end(program, "the program ended");
	return 0;
}

void slu_program_sweep(struct slu_server *server)
{
	struct slu_program *program = LIST_FIRST(&server->programs), *next;

	for (; program; program = next) {
		next = LIST_NEXT(program, entry);
		if (!program->session && program->helper &&
		    slu_process_lacks_thread(program->pid, program->helper))
			program_end(program, "it became another program");
	}
}

void slu_program_lost(struct slu_program *program)
{
	program->session = NULL;
	slu_log(INFO, "lost the connection of program=%s pid=%d", program->name, (int)program->pid);
	slu_core_lost(program->server->core, slu_clock_now_ns(), program->id);
	program->server->has_lost = true;
	slu_server_wake(program->server);
}

int slu_program_change_group(struct slu_program *program, uint64_t id)
{
	struct slu_group *other = slu_group_find(program->server, id);
	int r;

	if (other) {
		other->n_members++;
	} else {
		r = slu_group_split(program->server, program->uid, program->group->wire, id,
				    &other);
		if (r)
			return slu_fold(r);
	}
	assert(other->id == id);
	slu_group_leave(program->group);
	program->group = other;
	return 0;
}

const char *slu_program_split_from(const struct slu_program *program)
{
	const struct slu_group *own = program->group, *group;
	const struct slu_program *other, *found = NULL;

	if (!own->is_split)
		return NULL;
	/* the oldest is last in the list */
	LIST_FOREACH (other, &program->server->programs, entry) {
		group = other->group;
		if (group && group != own && group->wire == own->wire && group->uid == own->uid)
			found = other;
	}
	return found ? found->name : NULL;
}

int slu_program_new(struct slu_server *server, pid_t pid, uint64_t start, uid_t uid, int pidfd,
		    struct slu_program **ret_program)
{
	struct slu_program *program = calloc(1, sizeof(*program));
	int r;

	if (!program) {
		close(pidfd);
		return slu_error(-ENOMEM);
	}
	program->server = server;
	program->pid = pid;
	program->start = start;
	program->uid = uid;
	program->pidfd = pidfd;
	slu_process_executable(pid, program->executable, sizeof(program->executable));
	strcpy(program->cgroup, "cgroup:");
	slu_cgroup_path(pid, program->cgroup + strlen("cgroup:"),
			sizeof(program->cgroup) - strlen("cgroup:"));
	program->slot = -1;
	program->id = ++server->last_client;
	LIST_INSERT_HEAD(&server->programs, program, entry);
	LIST_INSERT_HEAD(&server->programs_by_id[program->id % SLU_SERVER_BUCKETS], program,
			 id_entry);
	LIST_INSERT_HEAD(&server->programs_by_pid[(unsigned)pid % SLU_SERVER_BUCKETS], program,
			 pid_entry);
	r = slu_charge_take(server->limits, uid, SLU_LIMITS_PROGRAMS, 1, &program->charge);
	if (!r)
		r = sd_event_add_io(server->event, &program->death, pidfd, EPOLLIN, on_death,
				    program);
	if (r) {
		slu_program_free(program);
		return slu_fold(r);
	}
	*ret_program = program;
	return 0;
}

/* The line of a program before the core has raised anything. */
static void make_line(const struct slu_program *program, struct slu_roster_line *ret_line)
{
	struct slu_roster_line line = {
		.pid = program->pid,
		.uid = program->uid,
		.start = program->start,
		.group = program->group->id,
		.wire_group = program->group->wire,
		.is_split = program->group->is_split,
		.is_parked = program->group->is_parked,
		.suspension = program->suspension,
		.helper = program->helper,
		.n_devices = program->n_devices,
	};

	strcpy(line.name, program->name);
	for (unsigned d = 0; d < program->n_devices; d++) {
		const struct slu_device *device = program->devices[d].device;

		memcpy(line.devices[d].uuid, device->uuid, sizeof(device->uuid));
		memcpy(line.devices[d].pci, device->pci, sizeof(device->pci));
		memcpy(line.devices[d].name, device->name, sizeof(device->name));
		line.devices[d].total_bytes = device->total_bytes;
	}
	*ret_line = line;
}

/*
 * Whether others may have what a suspended program is charged for. The daemon of several users
 * believes only a device: a user could claim to have suspended a program.
 */
static bool program_is_away(const struct slu_program *program)
{
	for (unsigned d = 0; d < program->n_devices; d++) {
		const struct slu_program_device *own = &program->devices[d];

		if (program->server->options.is_system &&
		    (own->device->kind != SLU_DEVICE_BOARD || own->device->is_busy ||
		     own->shown_bytes))
			return false;
	}
	return program->suspension == SLU_SUSPENSION_AWAY;
}

void slu_program_suspend(struct slu_program *program, enum slu_suspension suspension)
{
	struct slu_roster_line line;
	int slot = program->slot;

	program->suspension = suspension;
	slu_core_suspend(program->server->core, slu_clock_now_ns(), program->id,
			 program_is_away(program));
	slu_server_wake(program->server);
	if (slot < 0 || !slu_roster_get(program->server->roster, slot, &line))
		return;
	line.suspension = suspension;
	slu_roster_put(program->server->roster, &slot, &line);
}

int slu_program_write(struct slu_program *program, const struct slu_core_orphan *charges)
{
	struct slu_roster_line line;

	make_line(program, &line);
	line.pinned_bytes = charges->pinned_bytes;
	line.backing_bytes = charges->backing_bytes;
	line.disk_bytes = charges->disk_bytes;
	for (unsigned d = 0; d < charges->n_devices && d < program->n_devices; d++)
		line.devices[d].charge_bytes = charges->device_bytes[d];
	return slu_roster_put(program->server->roster, &program->slot, &line) ? slu_error(-ENOSPC)
									      : 0;
}

static void note_facts(struct slu_program *program, uint64_t now_ns,
		       const struct slu_msg_facts *facts)
{
	struct slu_program_device *own = &program->devices[facts->device];
	uint64_t in = slu_sub_floor(facts->moved_in_bytes, own->moved_in_bytes);
	uint64_t out = slu_sub_floor(facts->moved_out_bytes, own->moved_out_bytes);
	struct slu_timeline_who who;

	own->moved_in_bytes = facts->moved_in_bytes;
	own->moved_out_bytes = facts->moved_out_bytes;
	if (!in && !out)
		return;
	slu_program_who(program, &who);
	slu_timeline_moved(program->server->timeline, now_ns, &who, own->device->number, in, out);
}

static uint64_t bytes_held(const struct slu_program *program, unsigned device)
{
	struct slu_core_client_view view;

	if (!slu_core_view_client_of(program->server->core, program->id, &view))
		return 0;
	return view.device_accounts[device].held_bytes;
}

void slu_program_note(struct slu_program *program, uint64_t now_ns, const struct slu_message *m,
		      const char *reason)
{
	struct slu_timeline *timeline = program->server->timeline;
	struct slu_program_device *own;
	struct slu_timeline_who who;

	switch (m->header.type) {
	case SLU_MSG_TURN:
		own = &program->devices[m->turn.device];
		slu_program_who(program, &who);
		slu_timeline_end(timeline, now_ns, own->turn, "the next turn began");
		own->epoch = m->turn.epoch;
		own->turn = slu_timeline_granted(timeline, now_ns, &who, own->device->number,
						 m->turn.epoch);
		slu_timeline_present(timeline, own->turn, bytes_held(program, m->turn.device));
		break;
	case SLU_MSG_CLOSE:
		own = &program->devices[m->close.device];
		if (slu_epoch_equal(own->epoch, m->close.epoch))
			slu_timeline_closing(timeline, now_ns, own->turn, reason);
		break;
	case SLU_MSG_READY:
		own = &program->devices[m->turn.device];
		if (slu_epoch_equal(own->epoch, m->turn.epoch))
			slu_timeline_ready(timeline, now_ns, own->turn);
		break;
	case SLU_MSG_REST:
		own = &program->devices[m->rest.device];
		if (slu_epoch_equal(own->epoch, m->rest.epoch)) {
			slu_timeline_end(timeline, now_ns, own->turn, "");
			own->turn = 0;
		}
		break;
	case SLU_MSG_FACTS:
		note_facts(program, now_ns, &m->facts);
		break;
	case SLU_MSG_EXCESS:
		slu_denial_excess(program, now_ns, &m->excess);
		break;
	case SLU_MSG_EXPORT:
		slu_denial_export(program, now_ns);
		break;
	case SLU_MSG_DENY:
		slu_denial_deny(program, now_ns, &m->deny, reason);
		break;
	default:
		break;
	}
}

const char *slu_program_section(const struct slu_program *program)
{
	const char *slash = strrchr(program->executable, '/');

	return !program->server->options.is_system ? program->name : slash ? slash + 1 : "";
}

void slu_program_settings(const struct slu_program *program, struct slu_config_program *ret_own)
{
	const struct slu_server *server = program->server;

	if (server->options.is_system)
		slu_config_program_by(&server->config, program->executable, program->cgroup,
				      ret_own);
	else
		slu_config_program(&server->config, program->name, ret_own);
}

enum slu_core_priority slu_program_priority(const struct slu_program *program)
{
	struct slu_config_program own;

	slu_program_settings(program, &own);
	if (!strcmp(own.priority, "high"))
		return SLU_CORE_PRIORITY_HIGH;
	return strcmp(own.priority, "low") ? SLU_CORE_PRIORITY_NORMAL : SLU_CORE_PRIORITY_LOW;
}

uint64_t slu_program_expect_ns(const struct slu_program *program)
{
	const struct slu_run *run =
		slu_run_find(program->server, program->uid, program->group->wire);
	struct slu_config_program own;

	if (run && run->expect_ns)
		return run->expect_ns;
	slu_program_settings(program, &own);
	return own.expect_ns;
}
