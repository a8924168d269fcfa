/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The last joins, refusals, turns, moves and denials, for `sluice history` and for pictures: which
 * programs joined or were refused, which program had which device from when to when, what was
 * moved, and which programs ran out of memory and why. Five rings; the oldest is forgotten. It
 * changes no decision.
 *
 * A turn's record is begun when TURN is sent and filled in as the answers come:
 *
 *   GRANTED -> OPEN     [slu_timeline_ready]    READY: its gate is open
 *   OPEN    -> CLOSING  [slu_timeline_closing]  CLOSE was sent
 *   any     -> ENDED    [slu_timeline_end]      REST, or the process is gone
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/message.h"

#define SLU_TIMELINE_MAX	  4096 /* records of turns, and of moves */
#define SLU_TIMELINE_JOINS_MAX	  256
#define SLU_TIMELINE_DENIALS_MAX  256
#define SLU_TIMELINE_REFUSALS_MAX 256

struct slu_timeline_who {
	uint64_t client;
	uint64_t group;
	pid_t pid;
	uid_t uid;
	char name[SLU_WIRE_NAME_MAX];
};

struct slu_timeline_turn {
	struct slu_timeline_who who;
	unsigned device; /* the daemon's number */
	struct slu_epoch epoch;
	uint64_t granted_ns, ready_ns, closing_ns, end_ns; /* 0: not yet */
	uint64_t present_bytes; /* held when it was granted: came ahead, or had stayed */
	char reason[96];	/* why it ended */
};

struct slu_timeline_move {
	struct slu_timeline_who who;
	unsigned device;
	uint64_t at_ns;
	uint64_t in_bytes, out_bytes; /* since the record before of the same client and device */
};

struct slu_timeline_join {
	struct slu_timeline_who who;
	uint64_t at_ns;
};

struct slu_timeline_refusal {
	struct slu_timeline_who who; /* the group is the one that the program named */
	uint64_t at_ns;
	char reason[192];
};

struct slu_timeline_denial {
	struct slu_timeline_who who;
	uint64_t at_ns;
	const char *what; /* "memory", or its "export"; constant */
	char reason[192];
	char hint[256]; /* what the user can do; may be empty */
};

struct slu_timeline;

int slu_timeline_new(struct slu_timeline **ret_timeline);
void slu_timeline_free(struct slu_timeline *timeline);

void slu_timeline_joined(struct slu_timeline *timeline, uint64_t now_ns,
			 const struct slu_timeline_who *who);

/* The daemon did not let the program in: it runs as if there were no daemon. */
void slu_timeline_refused(struct slu_timeline *timeline, uint64_t now_ns,
			  const struct slu_timeline_who *who, const char *reason);

/* Return: the turn's number for the calls below; never 0. A number whose record is gone is ignored.
 */
uint64_t slu_timeline_granted(struct slu_timeline *timeline, uint64_t now_ns,
			      const struct slu_timeline_who *who, unsigned device,
			      struct slu_epoch epoch);
/* The bytes that its program held there when the turn was granted. */
void slu_timeline_present(struct slu_timeline *timeline, uint64_t turn, uint64_t bytes);
void slu_timeline_ready(struct slu_timeline *timeline, uint64_t now_ns, uint64_t turn);
void slu_timeline_closing(struct slu_timeline *timeline, uint64_t now_ns, uint64_t turn,
			  const char *reason);
/* @reason is for a turn without CLOSE. */
void slu_timeline_end(struct slu_timeline *timeline, uint64_t now_ns, uint64_t turn,
		      const char *reason);
void slu_timeline_moved(struct slu_timeline *timeline, uint64_t now_ns,
			const struct slu_timeline_who *who, unsigned device, uint64_t in_bytes,
			uint64_t out_bytes);

void slu_timeline_denied(struct slu_timeline *timeline, uint64_t now_ns,
			 const struct slu_timeline_who *who, const char *what, const char *reason,
			 const char *hint);

/* Number of records; 0 is the oldest that is still known. */
size_t slu_timeline_n_joins(const struct slu_timeline *timeline);
size_t slu_timeline_n_refusals(const struct slu_timeline *timeline);
size_t slu_timeline_n_turns(const struct slu_timeline *timeline);
size_t slu_timeline_n_moves(const struct slu_timeline *timeline);
size_t slu_timeline_n_denials(const struct slu_timeline *timeline);
const struct slu_timeline_join *slu_timeline_join(const struct slu_timeline *timeline, size_t i);
const struct slu_timeline_refusal *slu_timeline_refusal(const struct slu_timeline *timeline,
							size_t i);
const struct slu_timeline_turn *slu_timeline_turn(const struct slu_timeline *timeline, size_t i);
const struct slu_timeline_move *slu_timeline_move(const struct slu_timeline *timeline, size_t i);
const struct slu_timeline_denial *slu_timeline_denial(const struct slu_timeline *timeline,
						      size_t i);
