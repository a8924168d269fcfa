/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * sluiced as a whole: one thread, one sd-event loop. Every event (a packet, a death, a deadline, a
 * look at the devices) becomes an event of the core and asks for a *pump*: step the core, carry out
 * its actions in their order, arm its next deadline. The pump is an event source of its own, so a
 * burst of packets costs one step, and nothing is freed while a handler still uses it.
 *
 *   listener.c  accepts connections
 *   session.c   one connection: handshake, messages
 *   quarantine.c  closes connections whose peers passed files
 *   program.c   one process, followed by its pidfd from HELLO to death, connected or not
 *   join.c      how a process becomes a program
 *   group.c     the programs of one `sluice run`
 *   run.c       what `sluice run` says before it starts a program, and the queue of runs that wait
 *   devices.c   the devices, their locks and their outsiders, with node.c and order.c
 *   roster.c    the file of charges that survives the daemon
 *   limits.c    bounds on what users occupy
 *   config.c    the settings, with config-read.c, config-print.c and setting.c
 *   settings.c  puts settings in force
 *   backing.c   budgets of host memory and disk, with cgroup.c
 *   control.c   requests of commands; verb-show.c, verb-set.c, verb-steer.c, verb-enter.c and
 *               verb-suspend.c answer them, with answer.c, status.c, status-timeline.c and
 *               history.c
 *   timeline.c  the last turns, moves and denials; denial.c explains a denial
 *   process.c   facts about other processes
 *   serial.c    the files of the setting vmm_serial
 *   lockfile.c  a lock file
 *   text.c      cleans text from clients
 *   server.c    timers, start and end
 *   pump.c      the pump
 *   main.c      options and background
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "core/core.h"
#include "daemon/config.h"
#include "daemon/devices.h"
#include "daemon/backing.h"
#include "daemon/limits.h"
#include "daemon/meter.h"
#include "daemon/roster.h"
#include "daemon/run.h"
#include "daemon/timeline.h"

#define SLU_SERVER_BYTES_MAX \
	(UINT64_C(1) << 50) /* no account is larger; keeps sums from wrapping */

struct slu_session;
struct slu_program;
struct slu_group;
struct slu_listener;
struct slu_quarantine;

LIST_HEAD(slu_session_list, slu_session);
LIST_HEAD(slu_program_list, slu_program);
LIST_HEAD(slu_group_list, slu_group);

struct slu_server_options {
	bool is_system;
	const char *socket;	 /* path; NULL when systemd hands the socket over */
	const char *state;	 /* folder of the roster */
	const char *config_path; /* file; its drop-ins are in FILE.d */
	bool config_must_exist;
	int log_level;	 /* -1: as the settings say */
	const char *log; /* where the log goes, for status: a path or one of the words below */
};

#define SLU_SERVER_LOG_STDERR  "stderr"
#define SLU_SERVER_LOG_JOURNAL "journal"

#define SLU_SERVER_BUCKETS 1024 /* of the indexes: about as many as there can be programs */

struct slu_server {
	struct slu_server_options options; /* constant after init */
	uid_t uid; /* the daemon's; a private daemon serves only this user */
	uint64_t started_ns;
	bool has_masters;
	gid_t masters; /* the group whose members see and control all programs */

	sd_event *event;
	sd_event_source *pump;	    /* one shot: enabled after an event of the core */
	sd_event_source *deadline;  /* the core's next one */
	sd_event_source *outsiders; /* period of looking at the devices, while there are programs */
	sd_event_source *idle;	    /* the end of an unused daemon; a user's daemon only */

	struct slu_config config;
	struct slu_backing backing; /* the budgets of the settings on this machine */
	struct slu_core *core;
	struct slu_devices *devices;
	struct slu_roster *roster;
	struct slu_limits *limits;
	struct slu_meter meter;
	uid_t payer; /* the last user whose message the core got: the next step is for them */
	struct slu_timeline *timeline;
	struct slu_listener *listener;
	struct slu_quarantine *quarantine;

	struct slu_session_list sessions;
	struct slu_session_list closed; /* to be freed by the pump */
	struct slu_program_list programs;
	struct slu_group_list groups;
	struct slu_run_list runs; /* announced by `sluice run` */
	struct slu_program_list programs_by_id[SLU_SERVER_BUCKETS];
	struct slu_program_list programs_by_pid[SLU_SERVER_BUCKETS];
	struct slu_group_list groups_by_id[SLU_SERVER_BUCKETS];
	uint64_t last_client; /* id given last */
	bool has_lost;	      /* a connection was lost since the pump last swept the programs */
};

/*
 * Reads the settings, takes the roster, the socket and the orphans. Logs the reason if it fails.
 */
int slu_server_new(const struct slu_server_options *options, struct slu_server **ret_server);
void slu_server_free(struct slu_server *server);

/* Serves until SIGTERM, SIGINT, or the end of an unused daemon. Return: 0, or -errno. */
int slu_server_run(struct slu_server *server);

/* The core got an event: asks for a pump. */
void slu_server_wake(struct slu_server *server);
int slu_server_add_pump(struct slu_server *server);

/* A timer that is off. */
int slu_server_add_timer(struct slu_server *server, sd_event_time_handler_t handler,
			 sd_event_source **ret_source);

/* A session or program came or went: looks after the timers that depend on it. */
void slu_server_population_changed(struct slu_server *server);

/* Looks at the devices now. */
void slu_server_look(struct slu_server *server);

/* Puts @config in force and takes it over. Return: 0, or -EINVAL; then the old one stays. */
int slu_server_apply(struct slu_server *server, struct slu_config *config);

/* Whether a value of @config is well formed but wrong on this machine; @ret_why says why. */
bool slu_server_settings_fault(const struct slu_server_options *options,
			       const struct slu_config *config, char *ret_why, size_t size);

/* Whether the setting @name is a budget of host memory that the machine does not have. */
bool slu_server_memory_fault(const struct slu_config *config, const char *name, char *ret_why,
			     size_t size);

/* Reads the settings into @ret_config; wrong lines are logged. Return: 0, WRONG, or -errno. */
int slu_server_read_config(const struct slu_server_options *options, struct slu_config *ret_config);

/* Whether this user may see and control all programs. @socket_fd: for the groups. */
bool slu_server_user_is_master(const struct slu_server *server, uid_t uid, gid_t gid,
			       int socket_fd);
