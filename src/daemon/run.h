/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What `sluice run` says of a program before it starts it: how much device time it is expected to
 * use, how much memory it needs, and whether it waits until that memory is free.
 *
 *   (none)  -> WAITING   [slu_run_enter]  it waits: other runs came first, or it does not fit
 *   (none)  -> ADMITTED  [slu_run_enter]  it does not wait, or need not
 *   WAITING -> ADMITTED  [slu_run_enter]  asked again: it is the first, and fits
 *   any     -> (none)    [slu_run_sweep]  its process has ended, and so have the programs of its
 *                                         group; a WAITING one also when nobody asks any more
 *
 *  WAITING:  has a place in the queue, by arrival. No run passes one that came earlier, so none
 *            starves.
 *  ADMITTED: its memory counts as used until it ends, whether its programs own it yet or not.
 *
 * The command asks again and again, because a run belongs to a process and not to a connection: the
 * program has the pid of the command that waited.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "wire/message.h"

struct slu_server;

#define SLU_RUN_REASON_MAX 256

struct slu_run {
	TAILQ_ENTRY(slu_run) link; /* server->runs, the oldest first */
	uint64_t wire;		   /* the group, as its programs will name it */
	uid_t uid;
	pid_t pid;
	uint64_t start;
	char name[SLU_WIRE_NAME_MAX];
	uint64_t expect_ns;		 /* 0: nothing was said */
	uint64_t memory_bytes;		 /* likewise */
	uint64_t came_ns, asked_ns;	 /* first, and last */
	bool is_waiting;		 /* else ADMITTED */
	bool is_admitted;		 /* it waited: its memory counts for others that wait */
	char reason[SLU_RUN_REASON_MAX]; /* WAITING: why */
};

TAILQ_HEAD(slu_run_list, slu_run);

/* What a command says of a run. */
struct slu_run_wish {
	uint64_t wire;
	uid_t uid;
	pid_t pid;
	const char *name;
	uint64_t expect_ns, memory_bytes;
	bool waits;
};

enum {
	_SLU_RUN_E_SUCCESS,
	SLU_RUN_E_GONE,	 /* the process has ended */
	SLU_RUN_E_MANY,	 /* the user has as many runs as groups are allowed */
	SLU_RUN_E_LARGE, /* no device of this daemon has so much memory */
};

/* A new run, or the same once more. Return: 0, a condition as above, or -errno. */
int slu_run_enter(struct slu_server *server, const struct slu_run_wish *wish,
		  const struct slu_run **ret_run);

/* The run that a program's group belongs to; NULL if nothing was said of it. */
const struct slu_run *slu_run_find(const struct slu_server *server, uid_t uid, uint64_t wire);

/* Its place among those that wait, from 1, and how many wait. */
unsigned slu_run_place(const struct slu_server *server, const struct slu_run *run,
		       unsigned *ret_waiting);

/* Forgets runs that have ended. */
void slu_run_sweep(struct slu_server *server);

/* Forgets all of them. */
void slu_run_clear(struct slu_server *server);
