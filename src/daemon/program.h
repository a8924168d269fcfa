/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One process that joined, from its first HELLO to its death. Its pidfd reports its death, never
 * the end of a connection: a forked child may keep the socket open, and a program may lose its
 * connection and come back.
 *
 * A process that executes another program lives on, but has lost all memory that it held on devices
 * together with its address space. Only the calling thread survives that. So a process without a
 * connection and without the client's own thread has become another program and counts as dead; if
 * the new program uses a device, it joins as a new one.
 *
 *   (none)    -> CONNECTED  [slu_program_join]    first HELLO (join.c)
 *   (none)    -> ORPHAN     [slu_program_orphan]  a line of the roster whose process lives
 *   ORPHAN    -> CONNECTED  [slu_program_join]    it came back after a restart of the daemon
 *   CONNECTED -> LOST       [slu_program_lost]    the connection ended, the process lives
 *   LOST      -> CONNECTED  [slu_program_join]
 *   any       -> (none)     [pidfd]               accounts at zero, roster line removed
 *   ORPHAN, LOST -> (none)  [slu_program_sweep]   it became another program; the same
 *
 *  CONNECTED:    session != NULL.
 *  ORPHAN, LOST: session == NULL; what it may hold stays charged.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "core/core.h"
#include "daemon/config.h"
#include "daemon/devices.h"
#include "daemon/limits.h"
#include "daemon/roster.h"
#include "daemon/timeline.h"
#include "wire/message.h"

struct slu_group;
struct slu_server;
struct slu_session;

/* A program's use of one device. */
struct slu_program_device {
	struct slu_device *device;
	struct slu_epoch epoch; /* of the turn it has, as last sent or reported; or none */
	uint64_t turn;		/* number in the timeline, 0: none */
	uint64_t moved_in_bytes, moved_out_bytes; /* as in the last FACTS */
	bool hears_present;			  /* as HELLO says */
	uint64_t present_bytes;			  /* as in the last PRESENT; 0: never */
	uint64_t seen_bytes;  /* while the daemon looks: what the board says that it has */
	uint64_t shown_bytes; /* … when it looked last */
	uint64_t used_bytes;  /* of the device, before the program was suspended */
	uint64_t away_bytes;  /* what became free then, and must be free before it comes back */
};

/*
 * What a command of the user's does with the driver's own suspend (verb-suspend.c). The daemon
 * itself calls no driver.
 *
 *   NONE  -> GOING  [begin]   parked; a command is about to suspend it
 *   GOING -> AWAY   [done]    nothing of it is on a device
 *   GOING -> NONE   [failed]
 *   AWAY  -> COMING [resume]  unparked; others give up bytes for it
 *   COMING -> AWAY  [done]    it could not be brought back
 *   COMING -> NONE  [resumed]
 *
 * All but NONE are in the roster: the driver's state outlives a daemon.
 */
enum slu_suspension {
	SLU_SUSPENSION_NONE,
	SLU_SUSPENSION_GOING,
	SLU_SUSPENSION_AWAY,
	SLU_SUSPENSION_COMING,
};

struct slu_program {
	LIST_ENTRY(slu_program) entry;		     /* server->programs */
	LIST_ENTRY(slu_program) id_entry, pid_entry; /* … and in the indexes */
	struct slu_server *server;
	uint64_t id; /* the core's client */
	pid_t pid;
	uint64_t start;
	uid_t uid;
	char name[SLU_WIRE_NAME_MAX]; /* as it calls itself, or is called by `sluice run` */
	/* several users: settings go by these, and not by the name */
	char executable[256]; /* its path; empty: not known */
	char cgroup[256];     /* cgroup:/PATH */
	int pidfd;
	pid_t helper; /* the client's thread in it, in the daemon's pid namespace; 0: not known */
	sd_event_source *death;
	struct slu_group *group;
	struct slu_session *session;
	bool is_orphan;
	bool is_kicked; /* a user has ended it; the kernel has yet to */
	enum slu_suspension suspension;
	int slot; /* in the roster */
	struct slu_charge charge;
	struct slu_charge return_charge; /* of an orphan: for the connection by which it returns */
	uint64_t excess_ns;		 /* the last EXCESS that was recorded; 0: never */
	bool has_export;		 /* an EXPORT was recorded */
	unsigned n_devices;
	struct slu_program_device devices[SLU_WIRE_DEVICES_MAX]; /* by the place in HELLO */
};

enum {
	_SLU_PROGRAM_E_SUCCESS,
	SLU_PROGRAM_E_REFUSED, /* *ret_status is the errno, ret_why the words */
};

/*
 * One without group, devices and session, listed and followed. Takes over @pidfd.
 * Return: 0, a condition of slu_charge_take(), or -errno.
 */
int slu_program_new(struct slu_server *server, pid_t pid, uint64_t start, uid_t uid, int pidfd,
		    struct slu_program **ret_program);

/* Joins or rejoins the process behind @session. Return: 0, REFUSED, or -errno. */
int slu_program_join(struct slu_session *session, const struct slu_msg_hello *hello,
		     int *ret_status, char *ret_why, size_t size);

/*
 * Whether a new process of @uid, in a group of its own, would be admitted, as far as that is known
 * without its devices. Return: 0, REFUSED, or -errno.
 */
int slu_program_may_join(struct slu_server *server, uid_t uid, int *ret_status, char *ret_why,
			 size_t size);

/* Makes an orphan of the line at @slot, or drops the line if its process has ended. */
int slu_program_orphan(struct slu_server *server, int slot);

/* Its connection has ended. */
void slu_program_lost(struct slu_program *program);

/*
 * Removes all processes that became other programs. Reads /proc for each one without a connection:
 * called once after a connection is lost, and at the timer that looks for outsiders.
 */
void slu_program_sweep(struct slu_server *server);

/* Frees it without a change of core and roster: the daemon ends, the process may live. */
void slu_program_free(struct slu_program *program);

struct slu_program *slu_program_find(struct slu_server *server, uint64_t id);
struct slu_program *slu_program_find_pid(struct slu_server *server, pid_t pid);

/* The core split it from the others of its group, or united it with them. Return: 0, or -ENOMEM.
 */
int slu_program_change_group(struct slu_program *program, uint64_t group);

/* Sets the suspension, in the core and the roster as well. */
void slu_program_suspend(struct slu_program *program, enum slu_suspension suspension);

/* The name of another program of the run that it was split from; or NULL. */
const char *slu_program_split_from(const struct slu_program *program);

/* Writes the roster line that the core asks for. Return: 0, or -errno. */
int slu_program_write(struct slu_program *program, const struct slu_core_orphan *line);

void slu_program_who(const struct slu_program *program, struct slu_timeline_who *ret_who);

/* The settings that are in force for it. */
void slu_program_settings(const struct slu_program *program, struct slu_config_program *ret_own);
/* The name of a section that is for it. */
const char *slu_program_section(const struct slu_program *program);
/* What its settings say to the scheduler; of the expected time rather what its run says. */
enum slu_core_priority slu_program_priority(const struct slu_program *program);
uint64_t slu_program_expect_ns(const struct slu_program *program);

/* A message from it, or to it, that is of interest for the timeline. */
void slu_program_note(struct slu_program *program, uint64_t now_ns, const struct slu_message *m,
		      const char *reason);
