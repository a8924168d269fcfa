/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "base/size.h"
#include "base/util.h"
#include "core/fit/balance.h"
#include "core/fit/guess.h"
#include "core/fit/plan.h"
#include "core/fit/reserve.h"
#include "core/credit/staging.h"
#include "core/group.h"
#include "core/send.h"
#include "core/timeline.h"
#include "core/user.h"

#define WINDOW_PARTS 16 /* a window grows by at least this part of the device, or to its goal */

enum {
	RANK_IDLE_SLACK,
	RANK_SLACK,
	RANK_IDLE,
	RANK_PEAK,   /* does not yield to bytes fetched ahead */
	RANK_WINDOW, /* in a turn: bytes beyond the goal of a LAUNCH window, or pinned copies */
	RANK_WAITING,
	RANK_NEXT,
};

/* The limits of one capacity in one step. */
struct balance {
	struct slu_core *core;
	struct slu_core_capacity *capacity;
	int device;		 /* or SLU_CORE_PLAN_PINNED */
	int64_t short_now_bytes; /* what open groups lack */
	int64_t short_ahead_bytes;
	struct slu_core_group *next; /* the group whose bytes are fetched ahead, or NULL */
	const char *asker;	     /* name of the program that lacks bytes, for the reason */
};

static struct slu_core_account *account_of(const struct balance *b, struct slu_core_client *client)
{
	if (b->device == SLU_CORE_PLAN_PINNED)
		return &client->pinned;
	for (unsigned i = 0; i < client->n_seats; i++)
		if (client->seats[i].device == (unsigned)b->device)
			return &client->seats[i].account;
	return NULL;
}

static uint64_t need_of(const struct slu_core_account *account)
{
	return account->seat ? account->seat->need_bytes : account->client->pinned_goal_bytes;
}

static uint64_t goal_of(const struct slu_core_account *account)
{
	return account->seat ? account->seat->goal_bytes : account->client->pinned_goal_bytes;
}

static bool has_window(const struct slu_core_account *account)
{
	return account->seat && account->seat->mode == SLU_MODE_LAUNCH;
}

/*
 * What is fetched ahead: the bytes without which the turn cannot begin, and in LAUNCH as much of
 * the working set as fits.
 */
static uint64_t ahead_of(const struct slu_core_account *account)
{
	uint64_t working;

	if (!has_window(account))
		return need_of(account);
	working = SLU_MIN(account->seat->want.working_bytes, goal_of(account));
	return SLU_MAX(need_of(account), working);
}

/*
 * The bytes for which others give up theirs in a turn: the same, and as much as fits of the memory
 * that the driver pages, which comes when it is touched and not before. A larger window uses free
 * bytes only.
 */
static uint64_t target_of(const struct slu_core_account *account)
{
	return ahead_of(account) + (account->seat ? account->seat->paged_bytes : 0);
}

/* Whether a window can grow by a part that is worth a message. */
static bool window_can_grow(const struct slu_core_account *account)
{
	uint64_t most = SLU_MIN(goal_of(account), slu_core_account_most_bytes(account));
	uint64_t step = SLU_MIN(account->capacity->usable_bytes / WINDOW_PARTS, goal_of(account));

	return has_window(account) && most > account->limit_bytes &&
	       (most == goal_of(account) || most - account->limit_bytes >= step);
}

/*
 * Whether the program waits for a larger window, if it has this goal, or exchanges units in its
 * own.
 */
static bool window_waits(const struct slu_core_account *account, uint64_t goal_bytes)
{
	const struct slu_msg_want *want = &account->seat->want;
	uint64_t wished = SLU_MAX(want->min_bytes, want->working_bytes);

	return SLU_MIN(wished, goal_bytes) > account->limit_bytes;
}

/* Rule 12: the goal sent last would make the program do the wrong thing. */
static bool goal_is_stale(const struct slu_core_account *account)
{
	if (has_window(account))
		return window_waits(account, account->goal_bytes) !=
		       window_waits(account, goal_of(account));
	return account->seat &&
	       (account->seat->mode == SLU_MODE_MAPPED || account->seat->maps_if_larger) &&
	       (account->goal_is_past || account->goal_bytes < need_of(account) ||
		account->goal_bytes > goal_of(account));
}

/* Whether the limit is below the need or below the working set. */
static bool account_lacks_bytes(const struct slu_core_account *account)
{
	return account->limit_bytes < need_of(account) ||
	       (has_window(account) && account->limit_bytes < account->seat->want.working_bytes);
}

static void fill_now(struct balance *b, struct slu_core_account *account)
{
	uint64_t target = target_of(account);
	uint64_t most = SLU_MIN(goal_of(account), slu_core_account_most_bytes(account));
	char size[SLU_SIZE_STRING_MAX];

	if (!account->is_pending && most > account->limit_bytes &&
	    (account->limit_bytes < target || window_can_grow(account))) {
		slu_core_send_raise(b->core, account, most, goal_of(account), SLU_PACE_NOW,
				    "%s has its turn: it may hold %s", account->client->name,
				    slu_size_format(size, most));
	} else if (!account->is_pending && goal_is_stale(account)) {
		slu_core_send_raise(b->core, account, account->limit_bytes, goal_of(account),
				    SLU_PACE_NOW, "the device share of %s is now %s",
				    account->client->name, slu_size_format(size, goal_of(account)));
	}
	b->capacity->is_lacking = b->capacity->is_lacking || account_lacks_bytes(account);
	if (account->limit_bytes >= target)
		return;
	b->short_now_bytes += (int64_t)(target - account->limit_bytes);
	b->asker = account->client->name;
}

/* Bytes that count as held may still be on their way over the bus; READY says that they arrived. */
static bool is_filling_on(const struct balance *b, const struct slu_core_group *group)
{
	struct slu_core_client *client;

	if (b->device == SLU_CORE_PLAN_PINNED || group->state != SLU_CORE_FILLING)
		return false;
	TAILQ_FOREACH (client, &group->members, member_link) {
		const struct slu_core_account *account = account_of(b, client);

		if (account && slu_core_client_is_joined(client) &&
		    (account->held_bytes < need_of(account) ||
		     account->seat->phase == SLU_CORE_PHASE_TURN))
			return true;
	}
	return false;
}

/* Return: whether a group is filling; then nothing is fetched ahead. */
static bool fill_open(struct balance *b)
{
	bool is_filling = false;

	for (size_t i = 0; i < b->core->n_opened; i++) {
		struct slu_core_group *group = b->core->opened[i];
		struct slu_core_client *client;

		if (is_filling_on(b, group)) {
			if (is_filling) {
				group->progress_ns = b->core->now_ns;
				continue;
			}
			is_filling = true;
		}
		TAILQ_FOREACH (client, &group->members, member_link) {
			struct slu_core_account *account = account_of(b, client);

			if (account && slu_core_client_is_joined(client))
				fill_now(b, account);
		}
	}
	return is_filling;
}

static bool fetches_ahead(const struct slu_core_account *account)
{
	return slu_core_client_is_joined(account->client) && account->pace == SLU_PACE_AHEAD &&
	       slu_core_group_is_at_rest(account->client->group) &&
	       slu_core_account_slack_bytes(account) > 0;
}

/* Stops fetching ahead for all accounts but @except. */
static void cancel_ahead(struct balance *b, const struct slu_core_account *except)
{
	struct slu_core_account *account;

	TAILQ_FOREACH (account, &b->capacity->charged, charged_link)
		if (account != except && fetches_ahead(account) && !account->is_pending)
			slu_core_send_raise(b->core, account, account->limit_bytes,
					    account->goal_bytes, SLU_PACE_NONE,
					    "%s waits: the bus is for somebody before it",
					    account->client->name);
}

/* Raises the limit as far as free bytes and the credit for guesses allow. */
static void account_fetch_ahead(struct balance *b, struct slu_core_account *account)
{
	struct slu_core_device *device = b->core->devices[b->device];
	/* the open rest of an earlier guess counts again */
	bool is_fetching = account->pace == SLU_PACE_AHEAD && device->guess_bytes;
	uint64_t from = is_fetching ? account->limit_bytes : account->held_bytes;
	uint64_t limit = SLU_MIN(ahead_of(account), slu_core_account_most_ahead_bytes(account));

	limit = SLU_MAX(limit, account->limit_bytes);
	limit = SLU_MIN(limit, slu_core_after(from, device->guess_credit_bytes));
	if (account->is_pending || limit <= from || limit < account->limit_bytes)
		return;
	slu_core_guess_spend(device, limit - from);
	b->short_ahead_bytes -= (int64_t)(limit - account->limit_bytes);
	slu_core_send_raise(b->core, account, limit, ahead_of(account), SLU_PACE_AHEAD,
			    "%s is next: its bytes come ahead", account->client->name);
}

static void fill_ahead(struct balance *b)
{
	struct slu_core_account *chosen = NULL;
	struct slu_core_client *client;
	int64_t credit;

	if (b->next->patience.must_try) {
		cancel_ahead(b, NULL);
		return;
	}
	TAILQ_FOREACH (client, &b->next->members, member_link) {
		struct slu_core_account *account = account_of(b, client);

		if (!account || !slu_core_client_is_joined(client) ||
		    account->held_bytes >= ahead_of(account))
			continue;
		b->short_ahead_bytes +=
			(int64_t)slu_sub_floor(ahead_of(account), account->limit_bytes);
		if (!b->asker)
			b->asker = client->name;
		if (!chosen)
			chosen = account;
	}
	cancel_ahead(b, chosen);
	if (!chosen)
		return;
	account_fetch_ahead(b, chosen);
	credit = (int64_t)b->core->devices[b->device]->guess_credit_bytes;
	b->short_ahead_bytes = SLU_MIN(b->short_ahead_bytes, credit);
}

/* What lowerings under way will still free. */
static int64_t coming_bytes(const struct balance *b)
{
	const struct slu_core_account *account;
	int64_t coming = 0;

	TAILQ_FOREACH (account, &b->capacity->charged, charged_link)
		if (slu_core_client_is_joined(account->client) && !account->is_final &&
		    !account->is_stalled && !slu_core_is_silent(b->core, account))
			coming += (int64_t)(account->charge_bytes - account->limit_bytes);
	return coming;
}

/* The group that moves out of the device now; it keeps that direction while it makes progress. */
static struct slu_core_group *mover_out(const struct balance *b)
{
	const struct slu_core_account *account;
	uint64_t span = b->core->config.limit_deadline_ns;

	if (b->device == SLU_CORE_PLAN_PINNED)
		return NULL;
	TAILQ_FOREACH (account, &b->capacity->charged, charged_link)
		if (slu_core_client_is_joined(account->client) && !account->is_final &&
		    account->held_bytes > account->limit_bytes &&
		    !slu_core_is_due(b->core, slu_core_after(account->moved_ns, span)))
			return account->client->group;
	return NULL;
}

/* An account is not lowered below this for others. */
static uint64_t kept_bytes(const struct slu_core_account *account)
{
	const struct slu_core_group *group = account->client->group;

	if (slu_core_group_is_open(group))
		return target_of(account);
	if (group->is_next && account->seat)
		return ahead_of(account);
	return account->seat ? 0 : account->client->staging_bytes;
}

/* A running program will need again what it needed a moment ago: not for fetching ahead. */
static uint64_t peak_bytes(const struct slu_core_account *account)
{
	return account->seat && slu_core_group_is_open(account->client->group)
		       ? account->seat->peak_bytes
		       : 0;
}

/* Rule 10: a grant younger than a round trip is not taken back. */
static bool may_be_taken(struct slu_core *core, const struct slu_core_account *account)
{
	return !account->raised_ns ||
	       slu_core_is_due(core,
			       slu_core_after(account->raised_ns, core->config.round_trip_ns));
}

/* Pinned bytes besides copies: staging, and in a turn what is MAPPED. */
static uint64_t kept_pinned(const struct slu_core_account *account)
{
	const struct slu_core_client *client = account->client;

	return slu_core_group_is_at_rest(client->group)
		       ? client->staging_bytes
		       : SLU_MAX(client->staging_bytes, client->pinned_goal_bytes);
}

static struct slu_core_user_share *share_of(const struct balance *b, struct slu_core_user *user)
{
	return &user->on[b->device == SLU_CORE_PLAN_PINNED ? SLU_CORE_DEVICES_MAX : b->device];
}

/* Adds up what each user holds here. Return: an equal part of the bytes for each of them. */
static uint64_t user_part(struct balance *b)
{
	struct slu_core_account *account;
	struct slu_core_user *user;
	unsigned n = 0;

	TAILQ_FOREACH (user, &b->core->users, link)
		share_of(b, user)->held_bytes = 0;
	TAILQ_FOREACH (account, &b->capacity->charged, charged_link) {
		struct slu_core_user_share *share = share_of(b, account->client->user);

		n += !share->held_bytes && account->held_bytes;
		share->held_bytes += account->held_bytes;
	}
	return slu_core_capacity_bytes(b->capacity) / SLU_MAX(n, 1u);
}

static size_t find_victims(struct balance *b)
{
	uint64_t part = user_part(b);
	struct slu_core_victim *victims = b->core->victims;
	struct slu_core_account *account;
	size_t n = 0;

	TAILQ_FOREACH (account, &b->capacity->charged, charged_link) {
		const struct slu_core_group *group = account->client->group;
		bool is_idle = group->state == SLU_CORE_IDLE;
		uint64_t to;

		if (!slu_core_client_is_joined(account->client) || account->is_pending ||
		    account->is_stalled)
			continue;
		assert(n + 2 <= b->core->n_victim_capacity);
		to = SLU_MAX(account->held_bytes, kept_bytes(account));
		if (account->limit_bytes > to && may_be_taken(b->core, account)) {
			uint64_t peak = peak_bytes(account);
			bool is_peak = account->limit_bytes <= peak;

			victims[n++] = (struct slu_core_victim){
				.account = account,
				.rank = is_idle	  ? RANK_IDLE_SLACK
					: is_peak ? RANK_PEAK
						  : RANK_SLACK,
				.serves_ahead = is_idle || !is_peak,
				.order = account->client->id,
				.to_bytes = is_peak ? to : SLU_MAX(to, peak),
			};
		}
		to = SLU_MAX(account->floor_bytes, goal_of(account));
		if (slu_core_group_is_open(group) && has_window(account) &&
		    account->limit_bytes > to && account->held_bytes > to)
			victims[n++] = (struct slu_core_victim){
				.account = account,
				.rank = RANK_WINDOW,
				.order = account->client->id,
				.to_bytes = to,
			};
		to = SLU_MAX(account->floor_bytes, account->seat ? 0 : kept_pinned(account));
		/* pinned copies can go at any time */
		if ((slu_core_group_is_at_rest(group) || !account->seat) &&
		    account->limit_bytes > to)
			victims[n++] = (struct slu_core_victim){
				.account = account,
				.rank = is_idle				? RANK_IDLE
					: group->is_next		? RANK_NEXT
					: slu_core_group_is_open(group) ? RANK_WINDOW
									: RANK_WAITING,
				.serves_ahead =
					b->next && slu_core_timeline_place(group) > b->next->place,
				.is_within_part =
					share_of(b, account->client->user)->held_bytes <= part,
				.order = UINT64_MAX - slu_core_timeline_place(group),
				.to_bytes = to,
			};
	}
	return n;
}

static int compare_victims(const void *a, const void *b)
{
	const struct slu_core_victim *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->is_within_part != y->is_within_part)
		return x->is_within_part ? 1 : -1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return (x->account->client->id > y->account->client->id) -
	       (x->account->client->id < y->account->client->id);
}

static void account_cut(const struct balance *b, struct slu_core_account *account)
{
	char size[SLU_SIZE_STRING_MAX];
	uint64_t bytes = account->cut_bytes;

	account->cut_bytes = 0;
	if (bytes && b->asker)
		slu_core_send_lower(b->core, account, account->limit_bytes - bytes,
				    "%s gives up %s for %s", account->client->name,
				    slu_size_format(size, bytes), b->asker);
	else if (bytes)
		slu_core_send_lower(b->core, account, account->limit_bytes - bytes,
				    "%s gives up %s: the reserve is kept free",
				    account->client->name, slu_size_format(size, bytes));
}

/*
 * What may be charged if no program at rest may use the reserve. This can be less than is held:
 * then bytes leave although no program lacks any, so that outsiders and drivers find the reserve
 * free.
 */
static int64_t most_charge(const struct slu_core_capacity *capacity)
{
	return (int64_t)slu_core_capacity_yielding_bytes(capacity, capacity->needed_bytes);
}

static void victims_take(struct balance *b)
{
	int64_t wished = (int64_t)b->capacity->charge_bytes - coming_bytes(b) + b->short_now_bytes;
	int64_t lack_now = wished - most_charge(b->capacity), lack_all = lack_now;
	struct slu_core_group *mover;
	size_t n;

	if (b->short_ahead_bytes > 0)
		lack_all = wished + b->short_ahead_bytes -
			   (int64_t)slu_core_capacity_ahead_bytes(b->capacity);
	if (lack_now <= 0 && lack_all <= 0)
		return;
	mover = mover_out(b);
	n = find_victims(b);
	qsort(b->core->victims, n, sizeof(*b->core->victims), compare_victims);
	/*
	 * cuts of several ranks from one account become one LIMIT: fewer messages, an earlier begin
	 */
	for (size_t i = 0; i < n; i++) {
		const struct slu_core_victim *v = &b->core->victims[i];
		struct slu_core_account *account = v->account;
		int64_t lack = v->serves_ahead ? SLU_MAX(lack_now, lack_all) : lack_now;
		uint64_t remaining = account->limit_bytes - account->cut_bytes, part;

		if (lack <= 0 || remaining <= v->to_bytes)
			continue;
		part = SLU_MIN(remaining - v->to_bytes, (uint64_t)lack);
		if (b->device != SLU_CORE_PLAN_PINNED && remaining - part < account->held_bytes) {
			if (mover && mover != account->client->group)
				continue;
			mover = account->client->group;
		}
		account->cut_bytes += part;
		lack_now -= (int64_t)part;
		lack_all -= (int64_t)part;
	}
	for (size_t i = 0; i < n; i++)
		account_cut(b, b->core->victims[i].account);
}

static void empty_parked(struct slu_core *core)
{
	struct slu_core_client *client;

	if (!core->has_parked)
		return;
	core->has_parked = false;
	TAILQ_FOREACH (client, &core->clients, link) {
		core->has_parked |= client->group->is_parked;
		if (!client->group->is_parked || !slu_core_client_is_joined(client) ||
		    !slu_core_group_is_at_rest(client->group))
			continue;
		for (unsigned i = 0; i < client->n_seats; i++) {
			struct slu_core_account *account = &client->seats[i].account;

			if (!account->is_pending && account->limit_bytes > account->floor_bytes)
				slu_core_send_lower(core, account, account->floor_bytes,
						    "%s is parked", client->name);
		}
	}
}

/* Plans open groups and the next ones; the functions below use the figures. */
static bool plan_goals(struct slu_core *core)
{
	struct slu_core_plan plan = {
		.groups = core->opened,
		.n_groups = core->n_opened,
		.percent = 100,
	};

	if (slu_core_plan_make(core, &plan, NULL))
		return false;
	for (size_t i = 0; i < core->n_waiting; i++) {
		struct slu_core_group *group = core->waiting[i];

		plan = (struct slu_core_plan){ .plus = group, .percent = 100 };
		if (group->is_next && slu_core_plan_make(core, &plan, NULL))
			group->is_next = false;
	}
	return true;
}

static void balance_device(struct slu_core *core, unsigned device)
{
	struct balance b = {
		.core = core,
		.capacity = &core->devices[device]->capacity,
		.device = (int)device,
		.next = slu_core_timeline_next(core, device),
	};

	if (fill_open(&b))
		cancel_ahead(&b, NULL);
	else if (b.short_now_bytes == 0 && b.next)
		fill_ahead(&b);
	victims_take(&b);
}

void slu_core_balance(struct slu_core *core)
{
	empty_parked(core);
	for (unsigned d = 0; d < core->n_devices; d++)
		slu_core_reserve_find_needed(core, d);
	if (plan_goals(core)) {
		struct balance b = {
			.core = core,
			.capacity = &core->pinned,
			.device = SLU_CORE_PLAN_PINNED,
		};

		for (unsigned d = 0; d < core->n_devices; d++)
			balance_device(core, d);
		fill_open(&b);
		victims_take(&b);
		slu_core_staging_shrink(core);
	} else {
		/* only while nothing may be closed; no bytes are granted then */
		assert(core->is_in_grace);
	}
}
