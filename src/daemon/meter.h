/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The daemon's processor time, and the lines of its log and history, by user. Nobody is refused
 * anything: of several peers the one is served first whose user has had least of the daemon's time
 * lately, and lines that a user causes have a rate.
 *
 * It outlives a user's connections, so a user who closes them owes what they owed. It remembers a
 * fixed number of users; one who has used nothing lately makes place for another.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SLU_METER_LEVELS 16
#define SLU_METER_USERS	 256

struct slu_meter_user {
	uid_t uid;
	uint64_t spent_ns;  /* halved again and again */
	uint64_t halved_ns; /* the last time */
	uint64_t spoke_ns;  /* at the rate the lines so far would have been allowed until then */
};

/* All zero: nobody has used anything. */
struct slu_meter {
	struct slu_meter_user users[SLU_METER_USERS];
};

/* The daemon worked for @spent_ns on behalf of @uid. */
void slu_meter_spend(struct slu_meter *meter, uid_t uid, uint64_t now_ns, uint64_t spent_ns);

/*
 * How much it worked for @uid lately: 0 is little, and each level up to SLU_METER_LEVELS - 1 is
 * twice as much.
 */
unsigned slu_meter_level(struct slu_meter *meter, uid_t uid, uint64_t now_ns);

/* Whether @uid may cause one more line of the log and of the history. */
bool slu_meter_may_speak(struct slu_meter *meter, uid_t uid, uint64_t now_ns);
