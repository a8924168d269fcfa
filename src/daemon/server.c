/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/util.h"
#include "daemon/group.h"
#include "daemon/link.h"
#include "daemon/listener.h"
#include "daemon/process.h"
#include "daemon/program.h"
#include "daemon/quarantine.h"
#include "daemon/server.h"
#include "daemon/session.h"

#define MASTERS_GROUP "sluice"
#define FILES_ENOUGH  256 /* a program takes three of these */

/* -- looking at the devices ------------------------------------------------------------------- */

/* A process may have several slots. */
static bool is_client(void *data, const struct slu_device *device, pid_t pid, uint64_t bytes)
{
	struct slu_program *program = slu_program_find_pid(data, pid);

	for (unsigned d = 0; program && d < program->n_devices; d++)
		if (program->devices[d].device == device)
			program->devices[d].seen_bytes += bytes;
	return program != NULL;
}

/* Reports to the core what the boards say of @program; a card says nothing. */
static void program_confirm(struct slu_program *program, uint64_t now_ns)
{
	for (unsigned d = 0; d < program->n_devices; d++) {
		struct slu_program_device *own = &program->devices[d];

		if (own->device->kind == SLU_DEVICE_BOARD && !own->device->is_busy)
			slu_core_confirm(program->server->core, now_ns, program->id, d,
					 own->seen_bytes);
		own->shown_bytes = own->seen_bytes;
		own->seen_bytes = 0;
	}
}

void slu_server_look(struct slu_server *server)
{
	struct slu_program *program;
	uint64_t now_ns = slu_clock_now_ns();

	slu_devices_look(server->devices, now_ns, is_client, server);
	LIST_FOREACH (program, &server->programs, entry) {
		program_confirm(program, now_ns);
		if (program->session)
			slu_session_send_present(program->session);
	}
	slu_server_wake(server);
}

static int on_outsiders(sd_event_source *source, uint64_t usec, void *data)
{
	struct slu_server *server = data;

	(void)usec;
	slu_program_sweep(server);
	slu_server_look(server);
	if (LIST_EMPTY(&server->programs))
		return 0;
	sd_event_source_set_time_relative(source,
					  server->config.outsider_period_ns / SLU_NS_PER_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* -- coming and going ------------------------------------------------------------------------- */

static int on_idle(sd_event_source *source, uint64_t usec, void *data)
{
	struct slu_server *server = data;

	(void)source;
	(void)usec;
	slu_log(INFO, "no program uses the daemon any more");
	return sd_event_exit(server->event, 0);
}

void slu_server_population_changed(struct slu_server *server)
{
	bool has_programs = !LIST_EMPTY(&server->programs);
	bool is_unused = !has_programs && LIST_EMPTY(&server->sessions);
	bool is_lost = slu_listener_is_lost(server->listener);
	bool may_leave = is_lost || (!server->options.is_system && server->config.idle_exit_ns);
	int enabled;

	sd_event_source_get_enabled(server->outsiders, &enabled);
	if (has_programs && enabled == SD_EVENT_OFF) {
		sd_event_source_set_time_relative(server->outsiders, 0);
		sd_event_source_set_enabled(server->outsiders, SD_EVENT_ONESHOT);
	}
	if (!is_unused || !may_leave) {
		sd_event_source_set_enabled(server->idle, SD_EVENT_OFF);
		return;
	}
	sd_event_source_set_time_relative(
		server->idle, is_lost ? 0 : server->config.idle_exit_ns / SLU_NS_PER_US);
	sd_event_source_set_enabled(server->idle, SD_EVENT_ONESHOT);
}

/* At the start and when settings change, not for each request: a directory service may be slow. */
static void find_masters(struct slu_server *server)
{
	const struct group *masters = server->options.is_system ? getgrnam(MASTERS_GROUP) : NULL;

	server->has_masters = masters != NULL;
	server->masters = masters ? masters->gr_gid : 0;
}

bool slu_server_user_is_master(const struct slu_server *server, uid_t uid, gid_t gid, int socket_fd)
{
	slu_cleanup(slu_freep) gid_t *gids = NULL;
	socklen_t size = 0;

	if (uid == 0 || !server->options.is_system)
		return true;
	if (!server->has_masters)
		return false;
	if (gid == server->masters)
		return true;
	/* as they were when the peer connected; the first call asks for the size */
	if (getsockopt(socket_fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno != ERANGE)
		return false;
	gids = malloc(size);
	if (!gids || getsockopt(socket_fd, SOL_SOCKET, SO_PEERGROUPS, gids, &size) < 0)
		return false;
	for (size_t i = 0; i < size / sizeof(*gids); i++)
		if (gids[i] == server->masters)
			return true;
	return false;
}

/* -- signals ---------------------------------------------------------------------------------- */

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct slu_server *server = data;
	struct slu_config config;

	(void)source;
	(void)info;
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
		   (unsigned long long)(slu_clock_now_ns() / SLU_NS_PER_US));
	find_masters(server);
	if (slu_server_read_config(&server->options, &config)) {
		slu_log(ERR,
			"the settings are unchanged; correct the lines above and reload again");
	} else if (slu_server_apply(server, &config)) {
		slu_config_deinit(&config);
		slu_log(ERR, "the settings are unchanged");
	} else {
		slu_log(NOTICE, "read the settings again");
	}
	sd_notify(0, "READY=1");
	return 0;
}

static int add_signals(struct slu_server *server)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return slu_error(-errno);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file above the size limit is an error that we report */
	r = sd_event_add_signal(server->event, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(server->event, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(server->event, NULL, SIGHUP, on_reload, server);
	return r < 0 ? slu_error(r) : 0;
}

/* -- start and end ---------------------------------------------------------------------------- */

int slu_server_add_timer(struct slu_server *server, sd_event_time_handler_t handler,
			 sd_event_source **ret_source)
{
	int r = sd_event_add_time(server->event, ret_source, CLOCK_MONOTONIC, 0, 1, handler,
				  server);

	return r < 0 ? slu_error(r) : sd_event_source_set_enabled(*ret_source, SD_EVENT_OFF);
}

static int add_sources(struct slu_server *server)
{
	int r = sd_event_new(&server->event);

	if (r >= 0)
		r = slu_server_add_pump(server);
	if (r >= 0)
		r = slu_server_add_timer(server, on_outsiders, &server->outsiders);
	if (r >= 0)
		r = slu_server_add_timer(server, on_idle, &server->idle);
	if (r >= 0)
		r = sd_event_set_watchdog(server->event, true);
	return r < 0 ? slu_error(r) : slu_fold(add_signals(server));
}

static int open_roster(struct slu_server *server)
{
	slu_cleanup(slu_freep) char *path = NULL;
	struct timespec wall;
	bool was_bad;
	pid_t holder;
	int r;

	if (asprintf(&path, "%s/roster", server->options.state) < 0) {
		path = NULL;
		return slu_error(-ENOMEM);
	}
	clock_gettime(CLOCK_REALTIME, &wall);
	r = slu_roster_open(path, (uint64_t)wall.tv_sec * 1000000 + (uint64_t)wall.tv_nsec / 1000,
			    &server->roster, &was_bad, &holder);
	if (r == SLU_ROSTER_E_HELD) {
		char who[96] = "another daemon";

		if (holder)
			slu_process_describe(holder, who, sizeof(who));
		slu_log(ERR,
			"%s is used by %s already; end it first, or set SLUICE_STATE to another "
			"folder",
			path, who);
		return slu_error(-EADDRINUSE);
	}
	if (r)
		slu_log(ERR, "cannot use %s: %s; %s", path, strerror(-r),
			r == -ENOSPC || r == -EDQUOT
				? "free some space there, or set SLUICE_STATE to another folder"
				: "set SLUICE_STATE to a folder that exists and is yours");
	else if (was_bad)
		slu_log(WARNING,
			"%s could not be understood: beginning a new one; programs of "
			"the daemon before are unknown until they come back",
			path);
	return slu_fold(r);
}

/* The process that started us may have had a low limit, and all programs connect here. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur < FILES_ENOUGH)
		slu_log(WARNING,
			"only %llu files may be open here (ulimit -n): programs beyond that are "
			"turned away, and run as if there were no daemon",
			(unsigned long long)limit.rlim_cur);
}

static int set_up(struct slu_server *server)
{
	struct slu_core_config core_config;
	struct slu_config config;
	int r;

	r = slu_server_read_config(&server->options, &server->config);
	if (r)
		return r < 0 ? slu_fold(r) : slu_error(-EINVAL);
	r = add_sources(server);
	if (!r)
		r = slu_quarantine_new(server->event, &server->quarantine);
	/* first of all: the holder of the socket is the daemon to name to a second one */
	if (!r)
		r = slu_listener_new(server, server->options.socket, &server->listener);
	if (!r)
		r = open_roster(server);
	if (!r && server->options.socket && !server->options.is_system)
		slu_link_make(server->options.state, server->options.socket);
	if (!r)
		r = slu_limits_new(&server->limits);
	if (!r && server->options.is_system)
		slu_limits_share(server->limits);
	if (!r)
		r = slu_timeline_new(&server->timeline);
	if (r)
		return slu_fold(r);
	slu_core_config_default(&core_config);
	core_config.generation = slu_roster_generation(server->roster);
	r = slu_core_new(&core_config, server->started_ns, &server->core);
	if (!r)
		r = slu_devices_new(server->core, server->options.is_system, "", &server->devices);
	if (!r)
		r = slu_config_copy(&server->config, &config);
	if (r)
		return slu_fold(r);
	r = slu_server_apply(server, &config);
	if (r) {
		slu_config_deinit(&config);
		return slu_fold(r);
	}
	for (int slot = 0; slot < SLU_ROSTER_LINES_MAX; slot++) {
		r = slu_program_orphan(server, slot);
		if (r)
			return slu_fold(r);
	}
	return 0;
}

int slu_server_new(const struct slu_server_options *options, struct slu_server **ret_server)
{
	struct slu_server *server = calloc(1, sizeof(*server));
	int r;

	if (!server)
		return slu_error(-ENOMEM);
	server->options = *options;
	server->uid = geteuid();
	server->started_ns = slu_clock_now_ns();
	LIST_INIT(&server->sessions);
	LIST_INIT(&server->closed);
	LIST_INIT(&server->programs);
	LIST_INIT(&server->groups);
	TAILQ_INIT(&server->runs);
	raise_file_limit();
	find_masters(server);
	r = set_up(server);
	if (r) {
		slu_server_free(server);
		return slu_fold(r);
	}
	slu_server_wake(server);
	slu_server_population_changed(server);
	*ret_server = server;
	return 0;
}

void slu_server_free(struct slu_server *server)
{
	struct slu_program *program;
	struct slu_session *session;

	if (!server)
		return;
	if (server->roster && server->options.socket && !server->options.is_system)
		slu_link_remove(server->options.state);
	slu_listener_free(server->listener);
	while ((session = LIST_FIRST(&server->sessions))) {
		/* their lines stay in the roster: these programs go on, and may come back */
		if (session->program)
			session->program->session = NULL;
		session->program = NULL;
		slu_session_close(session);
	}
	while ((session = LIST_FIRST(&server->closed)))
		slu_session_free(session);
	while ((program = LIST_FIRST(&server->programs)))
		slu_program_free(program);
	assert(LIST_EMPTY(&server->groups));
	slu_run_clear(server);
	slu_devices_free(server->devices);
	slu_core_free(server->core);
	slu_timeline_free(server->timeline);
	slu_quarantine_free(server->quarantine);
	slu_limits_free(server->limits);
	slu_roster_close(server->roster);
	slu_config_deinit(&server->config);
	sd_event_source_disable_unref(server->pump);
	sd_event_source_disable_unref(server->deadline);
	sd_event_source_disable_unref(server->outsiders);
	sd_event_source_disable_unref(server->idle);
	sd_event_unref(server->event);
	free(server);
}

int slu_server_run(struct slu_server *server)
{
	int r;

	sd_notify(0, "READY=1");
	slu_log(NOTICE, "ready: serving at %s, generation %llu",
		server->options.socket ? server->options.socket : "systemd's socket",
		(unsigned long long)slu_roster_generation(server->roster));
	r = sd_event_loop(server->event);
	sd_notify(0, "STOPPING=1");
	slu_log(NOTICE, "ending");
	return r < 0 ? slu_fold(r) : 0;
}
