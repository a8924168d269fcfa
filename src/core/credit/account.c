/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/util.h"
#include "core/credit/account.h"
#include "core/credit/capacity.h"
#include "core/seat.h"

#define REFUSALS_MAX 6u /* how often the wait for the next refusal that counts doubles */

static void set_charge(struct slu_core_account *account, uint64_t bytes)
{
	struct slu_core_capacity *capacity = account->capacity;

	if (bytes && !account->charge_bytes)
		TAILQ_INSERT_TAIL(&capacity->charged, account, charged_link);
	else if (!bytes && account->charge_bytes)
		TAILQ_REMOVE(&capacity->charged, account, charged_link);
	capacity->charge_bytes += bytes - account->charge_bytes;
	if (account->is_away)
		capacity->away_bytes += bytes - account->charge_bytes;
	account->charge_bytes = bytes;
	if (bytes)
		return;
	/* a plan does not look at it again */
	capacity->floors_bytes -= account->counted_floor_bytes;
	account->counted_floor_bytes = 0;
}

static void set_pending(struct slu_core_account *account, bool is_pending)
{
	if (is_pending && !account->is_pending)
		TAILQ_INSERT_TAIL(&account->capacity->pending, account, pending_link);
	else if (!is_pending && account->is_pending)
		TAILQ_REMOVE(&account->capacity->pending, account, pending_link);
	account->is_pending = is_pending;
}

static void set_held(struct slu_core_account *account, uint64_t bytes)
{
	account->capacity->held_bytes += bytes - account->held_bytes;
	account->held_bytes = bytes;
}

/* Rule 41. */
static uint64_t account_cut(const struct slu_core_account *account, uint64_t bytes)
{
	uint64_t known = SLU_MAX(account->granted_bytes, account->proof_bytes);

	known = SLU_MIN(known, SLU_CORE_BYTES_MAX);
	return SLU_MIN(bytes, known);
}

void slu_core_account_init(struct slu_core_account *account, struct slu_core_capacity *capacity,
			   struct slu_core_client *client, struct slu_core_seat *seat)
{
	*account = (struct slu_core_account){
		.capacity = capacity,
		.client = client,
		.seat = seat,
		.roster_bytes = UINT64_MAX,
		.proof_bytes = UINT64_MAX,
	};
	TAILQ_INSERT_TAIL(&capacity->accounts, account, link);
}

void slu_core_account_deinit(struct slu_core_account *account)
{
	if (!account->capacity)
		return;
	set_charge(account, 0);
	set_held(account, 0);
	set_pending(account, false);
	if (account->seat)
		account->capacity->wanted_bytes -= account->seat->want.all_bytes;
	TAILQ_REMOVE(&account->capacity->accounts, account, link);
	account->capacity = NULL;
}

void slu_core_account_set_away(struct slu_core_account *account, bool is_away)
{
	if (account->is_away == is_away)
		return;
	account->is_away = is_away;
	account->capacity->away_bytes += is_away ? account->charge_bytes : -account->charge_bytes;
}

void slu_core_account_question(struct slu_core_account *account, uint64_t granted_bytes)
{
	account->granted_bytes = granted_bytes;
	account->proof_bytes = 0;
}

void slu_core_account_confirm(struct slu_core_account *account, uint64_t bytes, bool is_mute)
{
	if (account->proof_bytes == UINT64_MAX)
		return;
	account->proof_bytes = SLU_MIN(bytes, SLU_CORE_BYTES_MAX);
	if (is_mute) {
		account->granted_bytes = SLU_MIN(account->granted_bytes, account->proof_bytes);
		account->limit_bytes = SLU_MIN(account->limit_bytes, account->granted_bytes);
		set_charge(account, account_cut(account, account->charge_bytes));
	}
	set_held(account, account_cut(account, account->claim_bytes));
	account->floor_bytes = SLU_MIN(account->floor_bytes, account->held_bytes);
	if (account->held_bytes > account->charge_bytes)
		set_charge(account, account->held_bytes);
	slu_core_account_check(account);
}

void slu_core_account_report(struct slu_core_account *account, uint64_t held_bytes,
			     uint64_t floor_bytes)
{
	account->claim_bytes = SLU_MIN(held_bytes, SLU_CORE_BYTES_MAX);
	account->may_be_refused = false;
	account->goal_is_past = true;
	held_bytes = account_cut(account, held_bytes);
	set_held(account, held_bytes);
	set_charge(account, held_bytes);
	account->limit_bytes = held_bytes;
	account->goal_bytes = held_bytes;
	account->floor_bytes = SLU_MIN(floor_bytes, held_bytes);
	account->seq = 0;
	account->raised_ns = 0;
	account->pace = SLU_PACE_NONE;
	set_pending(account, false);
	account->is_final = false;
	account->is_reported_silent = false;
	account->is_stalled = false;
	slu_core_capacity_witnessed(account->capacity);
	slu_core_account_check(account);
}

void slu_core_account_orphan(struct slu_core_account *account, uint64_t charge_bytes)
{
	slu_core_account_report(account, charge_bytes, charge_bytes);
	account->roster_bytes = account->charge_bytes;
}

/* A lowering not yet met is still charged, so a raise back up to the charge costs nothing. */
static uint64_t account_most(const struct slu_core_account *account, uint64_t capacity_bytes)
{
	return account->charge_bytes +
	       slu_sub_floor(capacity_bytes, account->capacity->charge_bytes);
}

uint64_t slu_core_account_most_bytes(const struct slu_core_account *account)
{
	return account_most(account, slu_core_capacity_bytes(account->capacity));
}

uint64_t slu_core_account_most_ahead_bytes(const struct slu_core_account *account)
{
	uint64_t bytes = slu_core_capacity_ahead_bytes(account->capacity);

	return account_most(account, SLU_MIN(bytes, slu_core_capacity_bytes(account->capacity)));
}

static void account_send(struct slu_core_account *account, uint64_t now_ns, uint64_t limit_bytes,
			 uint64_t goal_bytes, enum slu_pace pace)
{
	assert(!account->is_pending);
	account->limit_bytes = limit_bytes;
	account->goal_bytes = goal_bytes;
	account->pace = pace;
	account->seq++;
	account->sent_ns = now_ns;
	set_pending(account, true);
	account->is_final = false;
	account->is_reported_silent = false;
	slu_core_account_check(account);
}

void slu_core_account_raise(struct slu_core_account *account, uint64_t now_ns, uint64_t limit_bytes,
			    uint64_t goal_bytes, enum slu_pace pace)
{
	assert(limit_bytes >= account->limit_bytes);
	assert(limit_bytes <= slu_core_account_most_bytes(account));
	if (limit_bytes > account->charge_bytes)
		set_charge(account, limit_bytes);
	if (limit_bytes > account->limit_bytes) {
		account->raised_ns = now_ns;
		account->may_be_refused = true;
	}
	account->granted_bytes = SLU_MAX(account->granted_bytes, limit_bytes);
	account->goal_is_past = false;
	account_send(account, now_ns, limit_bytes, goal_bytes, pace);
}

void slu_core_account_lower(struct slu_core_account *account, uint64_t now_ns, uint64_t limit_bytes)
{
	assert(limit_bytes < account->limit_bytes);
	account->moved_ns = now_ns;
	account->goal_is_past = true;
	account_send(account, now_ns, limit_bytes, limit_bytes, SLU_PACE_NOW);
}

bool slu_core_account_take_refusal(struct slu_core_account *account, uint64_t now_ns,
				   uint64_t period_ns)
{
	uint64_t wait_ns =
		account->n_refused ? period_ns << SLU_MIN(account->n_refused - 1, REFUSALS_MAX) : 0;

	if (account->proof_bytes == UINT64_MAX)
		return true;
	if (!account->may_be_refused || now_ns - account->refused_ns < wait_ns)
		return false;
	account->may_be_refused = false;
	account->refused_ns = now_ns;
	account->n_refused++;
	return true;
}

void slu_core_account_moved(struct slu_core_account *account, uint64_t now_ns)
{
	account->moved_ns = now_ns;
	account->is_stalled = false;
}

int slu_core_account_answer(struct slu_core_account *account, uint64_t now_ns,
			    const struct slu_msg_sums *sums)
{
	uint64_t held = account_cut(account, sums->held_bytes);
	uint64_t ceiling = account_cut(account, sums->ceiling_bytes);

	account->claim_bytes = SLU_MIN(sums->held_bytes, SLU_CORE_BYTES_MAX);
	if (held < account->held_bytes)
		slu_core_account_moved(account, now_ns);
	if (held > account->held_bytes)
		account->n_refused = 0;
	set_held(account, held);
	account->floor_bytes = SLU_MIN(sums->floor_bytes, held);
	if (sums->seq != account->seq) {
		if (held > account->charge_bytes)
			set_charge(account, held);
		slu_core_account_check(account);
		return SLU_CORE_ACCOUNT_E_OLD;
	}

	set_pending(account, false);
	account->is_reported_silent = false;
	account->is_final = sums->is_final;
	if (sums->refused_bytes)
		account->limit_bytes = SLU_MIN(account->limit_bytes, held);
	else
		slu_core_capacity_held(account->capacity);
	ceiling = SLU_MAX(ceiling, held);
	set_charge(account, SLU_MAX(ceiling, account->limit_bytes));
	account->granted_bytes = SLU_MIN(account->granted_bytes, account->charge_bytes);
	slu_core_account_check(account);
	return 0;
}

void slu_core_account_void(struct slu_core_account *account)
{
	account->limit_bytes = SLU_MIN(account->limit_bytes, account->held_bytes);
	account->goal_bytes = account->limit_bytes;
	account->pace = SLU_PACE_NONE;
	set_pending(account, false);
	account->is_reported_silent = false;
	slu_core_account_check(account);
}

void slu_core_account_check(const struct slu_core_account *account)
{
	assert(account->capacity);
	assert(account->limit_bytes <= account->charge_bytes);
	assert(account->held_bytes <= account->charge_bytes);
	assert(account->floor_bytes <= account->held_bytes);
	assert(!account->is_pending || account->seq > 0);
}
