/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests: a core and scripted clients, in virtual time. Times are in ms and sizes in MiB here,
 * so that scripts stay readable. A client of the script does nothing by itself; what the core says
 * to it is kept, and the script answers when it likes.
 */

#include "lib/test.h"

#include "core/core.h"

#define SCRIPT_CLIENTS 16
#define SCRIPT_SAID    512
#define MIB(n)	       ((uint64_t)(n) << 20)
#define MS(n)	       ((uint64_t)(n)*1000000u)

struct script {
	struct slu_core *core;
	uint64_t now_ns;
	struct slu_core_action said[SCRIPT_SAID]; /* since the last script_forget() */
	size_t n_said;
	struct slu_message limits[SCRIPT_CLIENTS]
				 [SLU_WIRE_DEVICES_MAX + 3];	       /* last of each account */
	struct slu_epoch epochs[SCRIPT_CLIENTS][SLU_WIRE_DEVICES_MAX]; /* of the last TURN */
	uint64_t held[SCRIPT_CLIENTS][SLU_WIRE_DEVICES_MAX];
	struct slu_core_orphan roster[SCRIPT_CLIENTS];
	bool in_roster[SCRIPT_CLIENTS];
	enum slu_core_priority priority; /* of those who join from now on */
	uint64_t user;			 /* likewise */
	uint64_t expect_ns;		 /* likewise */
	bool maps_if_larger;		 /* likewise */
	const char *name;		 /* likewise; NULL: each has its own */
};

/* rr, slice 100 ms, no minimum, deadlines 1000 ms, patience 5000 ms, pinned 0, backing 1 GiB,
 * and IDLE is said at once. */
void script_config(struct slu_core_config *ret_config);
void script_begin(struct script *s, const struct slu_core_config *config, uint64_t device_mib);
/* The same with so much more that is not handed out. */
void script_begin_reserving(struct script *s, const struct slu_core_config *config,
			    uint64_t device_mib, uint64_t reserve_mib);
void script_end(struct script *s);

/* Steps at the present time, keeps what is said; asserts that the deadline is not in the past. */
void script_step(struct script *s);
/* Lets time pass, stepping at each deadline. */
void script_pass(struct script *s, uint64_t ms);
void script_forget(struct script *s);

/* A client of its own group (or @group) that uses device 0 (or the first @n devices). */
struct slu_msg_hello script_hello(enum slu_mode mode, unsigned n_devices);
void script_join(struct script *s, uint64_t client, uint64_t group,
		 const struct slu_msg_hello *hello);
void script_join_plain(struct script *s, uint64_t client, enum slu_mode mode);

void script_want(struct script *s, uint64_t client, unsigned device, uint64_t all_mib,
		 bool is_runnable);
void script_want_min(struct script *s, uint64_t client, uint64_t min_mib, uint64_t all_mib);
/* Mode LAUNCH: wants to run a command of @min_mib, and names @working_mib lately. */
void script_want_working(struct script *s, uint64_t client, uint64_t min_mib, uint64_t working_mib,
			 uint64_t all_mib);
/* Answers the last LIMIT of the device's account; holds @held_mib from now on. */
void script_sums(struct script *s, uint64_t client, unsigned device, uint64_t held_mib);
void script_sums_full(struct script *s, uint64_t client, struct slu_msg_sums sums);
/* The driver refused @asked_mib more than is held, under the last limit. */
void script_refuse(struct script *s, uint64_t client, uint64_t held_mib, uint64_t asked_mib);
/* So much of what it holds is a pool's and cannot move. */
void script_freeze(struct script *s, uint64_t client, uint64_t frozen_mib);
void script_ready(struct script *s, uint64_t client, unsigned device);
void script_idle(struct script *s, uint64_t client, unsigned device);
void script_rest(struct script *s, uint64_t client, unsigned device, bool is_runnable,
		 uint64_t floor_mib);
/* As a well-behaved client would: fills up to the limits, opens, answers, till nothing is new. */
void script_obey(struct script *s, uint64_t client, uint64_t all_mib, bool is_runnable);

/* What was said since the last script_forget(). */
const struct slu_core_action *script_find(const struct script *s, uint64_t client,
					  enum slu_message_type type);
unsigned script_count(const struct script *s, uint64_t client, enum slu_message_type type);

/* The last LIMIT of these, of whichever account; NULL if there was none. */
const struct slu_msg_limit *script_last_limit(const struct script *s, uint64_t client);

/* The last LIMIT of a client's account, in MiB; 0 if there was none. */
uint64_t script_limit(const struct script *s, uint64_t client, unsigned device);

enum slu_core_state script_state(const struct script *s, uint64_t group);
/* Of the group that the client is in now: splitting and uniting change it. */
uint64_t script_group_of(const struct script *s, uint64_t client);
enum slu_core_state script_state_of(const struct script *s, uint64_t client);
struct slu_core_group_view script_group(const struct script *s, uint64_t group);
struct slu_core_account_view script_account(const struct script *s, uint64_t client,
					    unsigned device);
uint64_t script_estimate(const struct script *s, unsigned device);
