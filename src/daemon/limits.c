/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/error.h"
#include "daemon/limits.h"

struct slu_limits_user {
	LIST_ENTRY(slu_limits_user) entry;
	uid_t uid;
	size_t n_charges; /* the user is forgotten with the last one */
	uint64_t used[_SLU_LIMITS_MAX];
};

#define ROOT_PARTS 16 /* one part of all is for root alone */

struct slu_limits {
	bool is_shared, is_lifted;
	LIST_HEAD(, slu_limits_user) users;
	size_t n_users;
	uint64_t user_max[_SLU_LIMITS_MAX];
	uint64_t total_max[_SLU_LIMITS_MAX];
	uint64_t used[_SLU_LIMITS_MAX];
};

int slu_limits_new(struct slu_limits **ret_limits)
{
	struct slu_limits *limits = calloc(1, sizeof(*limits));

	if (!limits)
		return slu_error(-ENOMEM);
	LIST_INIT(&limits->users);
	for (int kind = 0; kind < _SLU_LIMITS_MAX; kind++)
		limits->user_max[kind] = limits->total_max[kind] = UINT64_MAX;
	*ret_limits = limits;
	return 0;
}

void slu_limits_free(struct slu_limits *limits)
{
	if (!limits)
		return;
	assert(LIST_EMPTY(&limits->users));
	for (int kind = 0; kind < _SLU_LIMITS_MAX; kind++)
		assert(!limits->used[kind]);
	free(limits);
}

void slu_limits_set(struct slu_limits *limits, enum slu_limits_kind kind, uint64_t user_max,
		    uint64_t total_max)
{
	limits->user_max[kind] = user_max;
	limits->total_max[kind] = total_max;
}

static struct slu_limits_user *user_find(const struct slu_limits *limits, uid_t uid)
{
	struct slu_limits_user *user;

	LIST_FOREACH (user, &limits->users, entry)
		if (user->uid == uid)
			return user;
	return NULL;
}

void slu_limits_share(struct slu_limits *limits)
{
	limits->is_shared = true;
}

void slu_limits_lift(struct slu_limits *limits, bool lifted)
{
	limits->is_lifted = lifted;
}

/* The most that a user who has @own may have next to the others. */
static uint64_t share_max(const struct slu_limits *limits, uid_t uid, uint64_t own,
			  enum slu_limits_kind kind)
{
	uint64_t total = limits->total_max[kind], others = limits->used[kind] - own;

	if (!limits->is_shared || !uid || total == UINT64_MAX)
		return UINT64_MAX;
	total -= total / ROOT_PARTS;
	return total > others ? (total - others + 1) / 2 : 0;
}

static bool charge_exceeds(uint64_t used, uint64_t more, uint64_t max)
{
	return more && (used > max || more > max - used);
}

static int limits_check(const struct slu_limits *limits, const struct slu_limits_user *user,
			uid_t uid, enum slu_limits_kind kind, uint64_t more)
{
	uint64_t own = user ? user->used[kind] : 0;

	if (limits->is_lifted)
		return 0;
	if (charge_exceeds(own, more, limits->user_max[kind]) ||
	    charge_exceeds(own, more, share_max(limits, uid, own, kind)))
		return SLU_LIMITS_E_USER;
	if (charge_exceeds(limits->used[kind], more, limits->total_max[kind]))
		return SLU_LIMITS_E_TOTAL;
	return 0;
}

int slu_charge_take(struct slu_limits *limits, uid_t uid, enum slu_limits_kind kind,
		    uint64_t amount, struct slu_charge *charge)
{
	struct slu_limits_user *user = user_find(limits, uid);
	int r;

	*charge = (struct slu_charge){};
	r = limits_check(limits, user, uid, kind, amount);
	if (r)
		return r;
	if (!user) {
		user = calloc(1, sizeof(*user));
		if (!user)
			return slu_error(-ENOMEM);
		user->uid = uid;
		LIST_INSERT_HEAD(&limits->users, user, entry);
		limits->n_users++;
	}
	user->n_charges++;
	user->used[kind] += amount;
	limits->used[kind] += amount;
	*charge = (struct slu_charge){
		.limits = limits, .user = user, .kind = kind, .amount = amount
	};
	return 0;
}

int slu_charge_change(struct slu_charge *charge, uint64_t amount)
{
	int r;

	assert(charge->limits);
	if (amount > charge->amount) {
		r = limits_check(charge->limits, charge->user, charge->user->uid, charge->kind,
				 amount - charge->amount);
		if (r)
			return r;
	}
	charge->user->used[charge->kind] += amount - charge->amount;
	charge->limits->used[charge->kind] += amount - charge->amount;
	charge->amount = amount;
	return 0;
}

void slu_charge_give(struct slu_charge *charge)
{
	struct slu_limits *limits = charge->limits;
	struct slu_limits_user *user = charge->user;

	if (!limits)
		return;
	user->used[charge->kind] -= charge->amount;
	limits->used[charge->kind] -= charge->amount;
	if (!--user->n_charges) {
		for (int kind = 0; kind < _SLU_LIMITS_MAX; kind++)
			assert(!user->used[kind]);
		LIST_REMOVE(user, entry);
		limits->n_users--;
		free(user);
	}
	*charge = (struct slu_charge){};
}

uint64_t slu_limits_used(const struct slu_limits *limits, uid_t uid, enum slu_limits_kind kind)
{
	const struct slu_limits_user *user = user_find(limits, uid);

	return user ? user->used[kind] : 0;
}

size_t slu_limits_n_users(const struct slu_limits *limits)
{
	return limits->n_users;
}
