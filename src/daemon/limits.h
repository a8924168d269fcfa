/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The resources of the daemon that users occupy: connections, processes, groups, bytes in queues.
 * Each is charged to the user, has a bound, and is at zero again after the last one ended.
 *
 * Where several users share the daemon, one user may have half of what the others leave, and a part
 * is reserved for root. So however many users take all they can, the next one gets something. How
 * much one gets thus depends on who came first, so what programs of the last daemon had is charged
 * without a bound.
 *
 * A charge is an object that remembers what it took, so that giving back needs no arguments and
 * cannot mismatch. It is part of the struct whose existence costs the resource.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum slu_limits_kind {
	SLU_LIMITS_SESSIONS,	/* connections */
	SLU_LIMITS_PROGRAMS,	/* joined processes */
	SLU_LIMITS_GROUPS,	/* groups of them */
	SLU_LIMITS_QUEUE_BYTES, /* messages that the peer has not read */
	_SLU_LIMITS_MAX,
};

enum {
	_SLU_LIMITS_E_SUCCESS,
	SLU_LIMITS_E_USER,  /* this user has as much as one user may have */
	SLU_LIMITS_E_TOTAL, /* all users together have as much as they may have */
};

struct slu_limits;
struct slu_limits_user;

struct slu_charge {
	struct slu_limits *limits; /* NULL: nothing is charged */
	struct slu_limits_user *user;
	enum slu_limits_kind kind;
	uint64_t amount;
};

int slu_limits_new(struct slu_limits **ret_limits);

/* Asserts that no charge remains. */
void slu_limits_free(struct slu_limits *limits);

/* Bounds for one user and for all together; charges that exist stay. */
void slu_limits_set(struct slu_limits *limits, enum slu_limits_kind kind, uint64_t user_max,
		    uint64_t total_max);

/* Several users share what there is. */
void slu_limits_share(struct slu_limits *limits);

/* While @lifted is true, charges have no bound. */
void slu_limits_lift(struct slu_limits *limits, bool lifted);

/* Return: 0, a condition as above, or -ENOMEM; then @charge is empty. */
int slu_charge_take(struct slu_limits *limits, uid_t uid, enum slu_limits_kind kind,
		    uint64_t amount, struct slu_charge *charge);

/* Changes a charge that was taken. On a condition it is as before. */
int slu_charge_change(struct slu_charge *charge, uint64_t amount);

/* An empty one is fine. */
void slu_charge_give(struct slu_charge *charge);

uint64_t slu_limits_used(const struct slu_limits *limits, uid_t uid, enum slu_limits_kind kind);
size_t slu_limits_n_users(const struct slu_limits *limits);
