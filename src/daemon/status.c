/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of control.h: the answer to `status`, with what the asking user may see: of other users'
 * programs only the bytes that they take from a device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/filesystem.h"
#include "base/size.h"
#include "base/util.h"
#include "base/uuid.h"
#include "daemon/control.h"
#include "daemon/group.h"
#include "daemon/order.h"
#include "daemon/process.h"
#include "daemon/program.h"
#include "daemon/run.h"
#include "daemon/server.h"
#include "daemon/session.h"
#include "daemon/text.h"

#define SOMEBODY "(another user)"

static json_int_t ms(uint64_t ns)
{
	return (json_int_t)(ns / SLU_NS_PER_MS);
}

static void print_group(char ret_text[static 17], uint64_t id)
{
	snprintf(ret_text, 17, "%016llx", (unsigned long long)id);
}

/* -- devices ---------------------------------------------------------------------------------- */

static json_t *make_outsiders(const struct slu_control_view *view, const struct slu_device *device)
{
	json_t *list = json_array();
	uint64_t hidden_bytes = 0;

	for (unsigned i = 0; i < device->n_outsiders; i++) {
		const struct slu_device_outsider *o = &device->outsiders[i];
		char name[sizeof(o->name)];
		uid_t uid;

		if (slu_process_uid(o->pid, &uid) || !slu_control_may_see(view, uid)) {
			hidden_bytes += o->bytes;
			continue;
		}
		memcpy(name, o->name, sizeof(name));
		name[sizeof(name) - 1] = '\0';
		slu_text_clean(name);
		json_array_append_new(list, json_pack("{s:i, s:s, s:I}", "pid", (int)o->pid, "name",
						      name, "bytes", (json_int_t)o->bytes));
	}
	if (hidden_bytes)
		json_array_append_new(list, json_pack("{s:i, s:s, s:I}", "pid", 0, "name", SOMEBODY,
						      "bytes", (json_int_t)hidden_bytes));
	return list;
}

static bool program_uses(const struct slu_program *program, const struct slu_device *device)
{
	for (unsigned d = 0; d < program->n_devices; d++)
		if (program->devices[d].device == device)
			return true;
	return false;
}

/* Who has the device: a member there of @holder, the core's group; or null. */
static json_t *make_turn(const struct slu_control_view *view, const struct slu_device *device,
			 uint64_t holder, uint64_t now_ns)
{
	struct slu_group *group = holder ? slu_group_find(view->server, holder) : NULL;
	struct slu_core_group_view g;
	struct slu_program *program;
	char id[17];

	if (!group || !slu_core_view_group_of(view->server->core, holder, &g))
		return json_null();
	LIST_FOREACH (program, &view->server->programs, entry)
		if (program->group == group && program_uses(program, device))
			break;
	if (!program)
		return json_null();
	print_group(id, g.group);
	if (!slu_control_may_see(view, group->uid))
		return json_pack("{s:n, s:s, s:s, s:I}", "group", "name", SOMEBODY, "state",
				 slu_core_state_name(g.state), "since_ms", ms(now_ns - g.since_ns));
	return json_pack("{s:s, s:s, s:i, s:s, s:I}", "group", id, "name", program->name, "pid",
			 (int)program->pid, "state", slu_core_state_name(g.state), "since_ms",
			 ms(now_ns - g.since_ns));
}

/*
 * The bytes of a client on its device @d. It reports facts only now and then, but reports what it
 * holds before others may use the bytes. So old facts count no more than the present charge, and
 * the programs together never have more than the device.
 */
static uint64_t client_device_bytes(const struct slu_core_client_view *c, unsigned d)
{
	const struct slu_core_account_view *account = &c->device_accounts[d];
	/* a program that reports no facts still reports what it holds */
	uint64_t bytes = c->facts[d].device_bytes ? c->facts[d].device_bytes : account->held_bytes;

	return SLU_MIN(bytes, account->charge_bytes);
}

/* The sum of the programs' rows for the device. */
static uint64_t programs_bytes(const struct slu_server *server, const struct slu_device *device)
{
	struct slu_core_client_view c;
	uint64_t bytes = 0;
	size_t cursor = 0;

	while (slu_core_view_client(server->core, &cursor, &c))
		for (unsigned d = 0; d < c.n_devices; d++)
			if (c.devices[d] == device->number)
				bytes += client_device_bytes(&c, d);
	return bytes;
}

/* The program that runs next there, by the timeline; or NULL. */
static const struct slu_program *find_next(const struct slu_control_view *view,
					   const struct slu_device *device)
{
	struct slu_core_turn_view turn;
	size_t cursor = 0;

	while (slu_core_timeline(view->server->core, device->number, &cursor, &turn))
		if (turn.state == SLU_CORE_WAITING && turn.start_ns != SLU_CORE_NEVER)
			return slu_status_member(view, turn.group, device);
	return NULL;
}

static json_t *make_device(const struct slu_control_view *view, const struct slu_device *device,
			   uint64_t now_ns)
{
	static const char *const locks[] = {
		[SLU_DEVICE_NONE] = "none",
		[SLU_DEVICE_BOARD] = "board",
		[SLU_DEVICE_NODE] = "node",
	};
	const struct slu_program *next = find_next(view, device);
	bool is_seen = next && slu_control_may_see(view, next->uid);
	struct slu_core_device_view v;
	char uuid[SLU_UUID_STRING_MAX];

	slu_core_view_device(view->server->core, device->number, &v);
	return json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:s, "
			 "s:o, s:o, s:s?, "
			 "s:i, s:o, s:b, s:s}",
			 "index", (int)device->index, "name", device->name, "uuid",
			 slu_uuid_format(uuid, device->uuid), "pci", device->pci, "total_bytes",
			 (json_int_t)device->total_bytes, "usable_bytes",
			 (json_int_t)v.usable_bytes, "estimate_bytes", (json_int_t)v.estimate_bytes,
			 "charged_bytes", (json_int_t)v.charge_bytes, "used_bytes",
			 (json_int_t)(device->board ? device->used_bytes
						    : programs_bytes(view->server, device)),
			 "overhead_bytes", (json_int_t)device->overhead_bytes, "outsider_bytes",
			 (json_int_t)v.outsider_bytes, "refusals", (json_int_t)v.n_refusals,
			 "managed", device->n_users > 0, "lock", locks[device->kind], "outsiders",
			 make_outsiders(view, device), "turn",
			 make_turn(view, device, v.holder, now_ns), "next",
			 is_seen ? next->name
			 : next	 ? SOMEBODY
				 : NULL,
			 "next_pid", is_seen ? (int)next->pid : 0, "timeline",
			 slu_status_timeline(view, device, now_ns), "has_turns", v.has_turns,
			 "sharing", v.sharing);
}

/* -- programs --------------------------------------------------------------------------------- */

/*
 * The core's reasons may name programs, even dead ones. With programs of other users present they
 * are therefore for masters only; a search for names in them would miss some.
 */
static const char *reason_for(const struct slu_control_view *view, const char *reason)
{
	struct slu_program *program;

	if (view->is_master || !reason[0])
		return reason;
	LIST_FOREACH (program, &view->server->programs, entry)
		if (program->uid != view->uid)
			return "for a program of another user, perhaps";
	return reason;
}

/* Bytes that Sluice cannot move: with @yields those that the driver can, otherwise the rest. */
static json_t *make_unmoved(const uint64_t bytes[_SLU_FROZEN_MAX], bool yields)
{
	json_t *list = json_array();

	for (unsigned why = SLU_FROZEN_NO + 1; why < _SLU_FROZEN_MAX; why++)
		if (bytes[why] && (why == SLU_FROZEN_MANAGED) == yields)
			json_array_append_new(list, json_pack("{s:s, s:I}", "reason",
							      slu_frozen_name(why), "bytes",
							      (json_int_t)bytes[why]));
	return list;
}

struct sums {
	uint64_t device, mapped, ram, disk, in, out, launches;
	uint64_t frozen[_SLU_FROZEN_MAX];
	int move_error; /* the errno with which moves fail, or 0 */
};

static json_t *make_program_device(const struct slu_server *server,
				   const struct slu_core_client_view *c, unsigned d,
				   struct sums *sums)
{
	const struct slu_core_account_view *account = &c->device_accounts[d];
	const struct slu_msg_facts *facts = &c->facts[d];
	uint64_t device = client_device_bytes(c, d);

	sums->device += device;
	sums->mapped += facts->mapped_bytes;
	sums->ram += facts->ram_bytes;
	sums->disk += facts->disk_bytes;
	sums->in += facts->moved_in_bytes;
	sums->out += facts->moved_out_bytes;
	sums->launches += facts->n_launches;
	for (unsigned why = 0; why < _SLU_FROZEN_MAX; why++)
		sums->frozen[why] += facts->frozen_bytes[why];
	if (facts->n_failed)
		sums->move_error = facts->move_error;
	return json_pack("{s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "index",
			 (int)slu_order_index(server->devices, c->devices[d]), "mode",
			 slu_mode_name(c->modes[d]), "device_bytes", (json_int_t)device,
			 "limit_bytes", (json_int_t)account->limit_bytes, "charge_bytes",
			 (json_int_t)account->charge_bytes, "floor_bytes",
			 (json_int_t)account->floor_bytes, "need_bytes",
			 (json_int_t)c->wants[d].all_bytes, "mapped_bytes",
			 (json_int_t)facts->mapped_bytes, "ram_bytes", (json_int_t)facts->ram_bytes,
			 "disk_bytes", (json_int_t)facts->disk_bytes);
}

/* Over the bus a program is many times slower than in the device's own memory. */
static void add_mapped(uint64_t mapped_bytes, char *reason, size_t size)
{
	char text[SLU_SIZE_STRING_MAX];
	size_t n = strlen(reason);

	if (mapped_bytes)
		snprintf(reason + n, size - n,
			 "%s%s of it do not fit on the device, which reaches them over the bus",
			 n ? "; " : "", slu_size_format(text, mapped_bytes));
}

static const char *connection_of(const struct slu_program *program)
{
	return program->session ? "joined" : program->is_orphan ? "orphan" : "lost";
}

/* A program in mode LAUNCH with a working set above its limit exchanges its bytes as it runs. */
static void add_exchange(const struct slu_core_client_view *c, char *reason, size_t size)
{
	for (unsigned d = 0; d < c->n_devices; d++) {
		uint64_t works = c->wants[d].working_bytes, has = c->device_accounts[d].limit_bytes;
		char all[SLU_SIZE_STRING_MAX], window[SLU_SIZE_STRING_MAX];
		size_t n = strlen(reason);

		if (c->modes[d] == SLU_MODE_LAUNCH && works > has)
			snprintf(reason + n, size - n,
				 "%sworks with %s in a window of %s, and exchanges them as it goes",
				 n ? "; " : "", slu_size_format(all, works),
				 slu_size_format(window, has));
	}
}

/* Adds to the reason why the program was split from its run. */
static void reason_add_split(const char *from, char *reason, size_t size)
{
	size_t n = strlen(reason);

	if (from)
		snprintf(reason + n, size - n, "%ssplit from %s: together they exceed the device",
			 n ? "; " : "", from);
}

/* A stopped program answers nothing, so this comes before every other reason. */
static void begin_reason(pid_t pid, bool is_stopped, const char *why, char *ret_reason, size_t size)
{
	if (is_stopped)
		snprintf(ret_reason, size, "stopped by a signal, 'kill -CONT %d' lets it go on%s%s",
			 (int)pid, why[0] ? "; " : "", why);
	else
		snprintf(ret_reason, size, "%s", why);
}

/* The row of a process, whether it joined or was rejected: both have the same keys. */
struct row {
	pid_t pid;
	uid_t uid;
	const char *name, *group; /* NULL: no group */
	const char *state, *connection, *mode, *reason;
	const char *split_from; /* or NULL */
	bool is_stopped;
	const struct slu_core_client_view *client;
	const struct slu_core_group_view *turns;
	const struct sums *sums;
	uint64_t wait_p99_ns;
	json_t *devices; /* owned by the row afterwards */
};

static json_t *make_row_bytes(const struct row *row)
{
	const struct slu_core_client_view *c = row->client;
	const struct sums *sums = row->sums;

	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "device_bytes",
		(json_int_t)sums->device, "mapped_bytes", (json_int_t)sums->mapped, "ram_bytes",
		(json_int_t)sums->ram, "disk_bytes", (json_int_t)sums->disk, "moved_in_bytes",
		(json_int_t)sums->in, "moved_out_bytes", (json_int_t)sums->out, "launches",
		(json_int_t)sums->launches, "pinned_bytes", (json_int_t)c->pinned.charge_bytes,
		"pinned_held_bytes", (json_int_t)c->pinned.held_bytes, "backing_bytes",
		(json_int_t)c->pageable.charge_bytes, "disk_backing_bytes",
		(json_int_t)c->disk.charge_bytes, "unmovable", make_unmoved(sums->frozen, false),
		"yielding", make_unmoved(sums->frozen, true));
}

static json_t *make_row_turns(const struct row *row)
{
	const struct slu_core_group_view *g = row->turns;

	return json_pack("{s:b, s:b, s:b, s:b, s:i, s:I, s:I, s:I, s:I, s:I, s:I}", "stuck",
			 g->is_stuck, "idle", g->is_idle, "parked", g->is_parked, "over_quota",
			 g->is_over_quota, "level", (int)g->level, "turns", (json_int_t)g->n_turns,
			 "ran_ms", ms(g->ran_ns), "used_ms", ms(g->used_ns), "waited_ms",
			 ms(g->waited_ns), "wait_p99_ms", ms(row->wait_p99_ns), "expect_ms",
			 ms(g->expect_ns));
}

static json_t *make_row(const struct row *row)
{
	json_t *made = json_pack("{s:i, s:s, s:s?, s:i, s:s, s:s, s:s, s:s, s:s?, s:b, s:b, s:o}",
				 "pid", (int)row->pid, "name", row->name, "group", row->group,
				 "uid", (int)row->uid, "state", row->state, "connection",
				 row->connection, "mode", row->mode, "reason", row->reason,
				 "split_from", row->split_from, "silent", row->client->is_silent,
				 "stopped", row->is_stopped, "devices", row->devices);

	json_object_update_new(made, make_row_turns(row));
	json_object_update_new(made, make_row_bytes(row));
	return made;
}

static json_t *make_program(const struct slu_control_view *view, const struct slu_program *program)
{
	bool is_stopped = slu_process_is_stopped(program->pid);
	struct slu_core_client_view c = {};
	struct slu_core_group_view g = {};
	struct sums sums = {};
	json_t *devices = json_array();
	char group[17], why[2 * SLU_CORE_REASON_MAX], reason[4 * SLU_CORE_REASON_MAX];
	const char *split_from = slu_program_split_from(program);

	slu_core_view_client_of(view->server->core, program->id, &c);
	slu_core_view_group_of(view->server->core, program->group->id, &g);
	for (unsigned d = 0; d < c.n_devices; d++)
		json_array_append_new(devices, make_program_device(view->server, &c, d, &sums));
	print_group(group, program->group->id);
	snprintf(why, sizeof(why), "%s", reason_for(view, g.reason));
	if (sums.move_error)
		snprintf(why, sizeof(why), "moving its bytes fails: %s; tried again",
			 strerror(sums.move_error));
	begin_reason(program->pid, is_stopped, why, reason, sizeof(reason));
	if (g.state == SLU_CORE_RUNNING) {
		add_exchange(&c, reason, sizeof(reason));
		add_mapped(sums.mapped, reason, sizeof(reason));
	}
	reason_add_split(split_from, reason, sizeof(reason));
	slu_text_clean(reason);
	return make_row(&(struct row){
		.pid = program->pid,
		.uid = program->uid,
		.name = program->name,
		.group = group,
		.state = program->suspension == SLU_SUSPENSION_AWAY ? "suspended"
								    : slu_core_state_name(g.state),
		.connection = connection_of(program),
		.mode = c.n_devices ? slu_mode_name(c.modes[0]) : "",
		.reason = reason,
		.split_from = split_from,
		.is_stopped = is_stopped,
		.client = &c,
		.turns = &g,
		.sums = &sums,
		.wait_p99_ns = slu_group_wait_p99_ns(program->group, slu_clock_now_ns()),
		.devices = devices,
	});
}

/* A rejected process that reports itself: it runs without Sluice. */
static json_t *make_refused(const struct slu_session *session)
{
	return make_row(&(struct row){
		.pid = session->pid,
		.uid = session->uid,
		.name = session->name,
		.state = "outside",
		.connection = "refused",
		.mode = "",
		.reason = session->why,
		.is_stopped = slu_process_is_stopped(session->pid),
		.client = &(struct slu_core_client_view){},
		.turns = &(struct slu_core_group_view){},
		.sums = &(struct sums){},
		.devices = json_array(),
	});
}

/* A run that waits: its program has not been started yet. */
static json_t *make_waiting(const struct slu_control_view *view, const struct slu_run *run)
{
	char reason[SLU_RUN_REASON_MAX + 64], group[17];
	unsigned n, place = slu_run_place(view->server, run, &n);

	snprintf(reason, sizeof(reason), "not started yet, place %u of %u: %s", place, n,
		 run->reason);
	print_group(group, run->wire);
	return make_row(&(struct row){
		.pid = run->pid,
		.uid = run->uid,
		.name = run->name,
		.group = group,
		.state = "queued",
		.connection = "none",
		.mode = "",
		.reason = reason,
		.is_stopped = slu_process_is_stopped(run->pid),
		.client = &(struct slu_core_client_view){},
		.turns = &(struct slu_core_group_view){ .waited_ns =
								slu_clock_now_ns() - run->came_ns },
		.sums = &(struct sums){},
		.devices = json_array(),
	});
}

static json_t *make_programs(const struct slu_control_view *view)
{
	json_t *list = json_array();
	struct slu_program *program;
	struct slu_session *session;
	const struct slu_run *run;

	/* our lists have the newest first; people expect the oldest there */
	LIST_FOREACH (program, &view->server->programs, entry)
		if (slu_control_may_see(view, program->uid))
			json_array_insert_new(list, 0, make_program(view, program));
	LIST_FOREACH (session, &view->server->sessions, entry)
		if (session->state == SLU_SESSION_OUTSIDE &&
		    slu_control_may_see(view, session->uid))
			json_array_append_new(list, make_refused(session));
	TAILQ_FOREACH (run, &view->server->runs, link)
		if (run->is_waiting && slu_control_may_see(view, run->uid))
			json_array_append_new(list, make_waiting(view, run));
	return list;
}

/* Host memory and disk for bytes that left the devices. */
static json_t *make_backing(const struct slu_server *server)
{
	const struct slu_backing *backing = &server->backing;
	struct slu_core_budget_view memory, disk;
	struct slu_filesystem fs = { .name = "" };

	slu_core_view_backing(server->core, &memory, &disk);
	if (backing->folder[0] && slu_filesystem_look(backing->folder, &fs))
		fs.name = "";
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:s}", "backing_max_bytes",
			 (json_int_t)memory.usable_bytes, "backing_bytes",
			 (json_int_t)memory.charge_bytes, "disk_max_bytes",
			 (json_int_t)disk.usable_bytes, "disk_bytes", (json_int_t)disk.charge_bytes,
			 "disk_free_bytes", (json_int_t)fs.free_bytes, "disk_folder",
			 backing->folder, "disk_filesystem", fs.name, "disk_reason", backing->why);
}

static json_t *make_devices(const struct slu_control_view *view, uint64_t now_ns)
{
	struct slu_device *list[SLU_DEVICES_MAX];
	unsigned n = slu_order_list(view->server->devices, list);
	json_t *made = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(made, make_device(view, list[i], now_ns));
	return made;
}

json_t *slu_status_make(const struct slu_control_view *view)
{
	struct slu_server *server = view->server;
	uint64_t now_ns = slu_clock_now_ns();

	return json_pack(
		"{s:o, s:o, s:o, s:{s:i, s:s, s:i, s:s, s:s, s:s, s:I, s:I, s:I}}", "devices",
		make_devices(view, now_ns), "backing", make_backing(server), "programs",
		make_programs(view), "daemon", "pid", (int)getpid(), "version", SLU_VERSION,
		"protocol", SLU_WIRE_VERSION, "mode", server->options.is_system ? "system" : "user",
		"log", server->options.log, "policy", server->config.policy, "generation",
		(json_int_t)slu_roster_generation(server->roster), "uptime_ms",
		ms(now_ns - server->started_ns), "sessions",
		(json_int_t)slu_limits_used(server->limits, view->uid, SLU_LIMITS_SESSIONS));
}
