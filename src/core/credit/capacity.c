/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/util.h"
#include "core/credit/account.h"
#include "core/credit/capacity.h"
#include "core/seat.h"

#define BACK_OFF_MAX 64u
#define RISE_PARTS   16

void slu_core_capacity_init(struct slu_core_capacity *capacity, bool is_learned,
			    uint64_t usable_bytes, uint64_t reserve_bytes, uint64_t now_ns)
{
	usable_bytes = SLU_MIN(usable_bytes, SLU_CORE_BYTES_MAX);
	reserve_bytes = SLU_MIN(reserve_bytes, SLU_CORE_BYTES_MAX);
	*capacity = (struct slu_core_capacity){
		.is_learned = is_learned,
		.usable_bytes = usable_bytes,
		.reserve_bytes = reserve_bytes,
		.estimate_bytes = usable_bytes + reserve_bytes,
		.sure_bytes = usable_bytes + reserve_bytes,
		.changed_ns = now_ns,
		.back_off = 1,
	};
	TAILQ_INIT(&capacity->accounts);
	TAILQ_INIT(&capacity->charged);
	TAILQ_INIT(&capacity->pending);
}

void slu_core_capacity_deinit(struct slu_core_capacity *capacity)
{
	if (!capacity || !capacity->back_off)
		return;
	assert(TAILQ_EMPTY(&capacity->accounts));
	assert(!capacity->charge_bytes && !capacity->held_bytes);
}

static uint64_t rise_step(const struct slu_core_capacity *capacity)
{
	return SLU_MAX(capacity->usable_bytes / RISE_PARTS, 1u);
}

uint64_t slu_core_capacity_total_bytes(const struct slu_core_capacity *capacity)
{
	return capacity->usable_bytes + capacity->reserve_bytes;
}

void slu_core_capacity_resize(struct slu_core_capacity *capacity, uint64_t usable_bytes,
			      uint64_t reserve_bytes)
{
	bool is_learned_less = capacity->estimate_bytes < slu_core_capacity_total_bytes(capacity);

	capacity->usable_bytes = SLU_MIN(usable_bytes, SLU_CORE_BYTES_MAX);
	capacity->reserve_bytes = SLU_MIN(reserve_bytes, SLU_CORE_BYTES_MAX);
	if (!is_learned_less)
		capacity->estimate_bytes = capacity->sure_bytes =
			slu_core_capacity_total_bytes(capacity);
}

/* What outsiders and contexts would leave if the driver had never refused anything. */
uint64_t slu_core_capacity_seen_bytes(const struct slu_core_capacity *capacity)
{
	return slu_sub_floor(slu_core_capacity_total_bytes(capacity),
			     capacity->outsider_bytes + capacity->overhead_bytes);
}

uint64_t slu_core_capacity_present_bytes(const struct slu_core_capacity *capacity)
{
	return SLU_MIN(capacity->estimate_bytes, slu_core_capacity_seen_bytes(capacity)) +
	       capacity->away_bytes;
}

uint64_t slu_core_capacity_yielding_bytes(const struct slu_core_capacity *capacity,
					  uint64_t needed_bytes)
{
	uint64_t present = slu_core_capacity_present_bytes(capacity);
	uint64_t needed = SLU_MIN(needed_bytes, present);

	return SLU_MAX(slu_sub_floor(present, capacity->reserve_bytes), needed);
}

uint64_t slu_core_capacity_ahead_bytes(const struct slu_core_capacity *capacity)
{
	uint64_t bytes = SLU_MIN(capacity->sure_bytes, slu_core_capacity_seen_bytes(capacity)) +
			 capacity->away_bytes;

	return slu_sub_floor(bytes, capacity->reserve_bytes);
}

uint64_t slu_core_capacity_bytes(const struct slu_core_capacity *capacity)
{
	uint64_t bytes = slu_core_capacity_yielding_bytes(capacity, capacity->needed_bytes);

	return capacity->is_learned ? SLU_MAX(bytes, capacity->held_bytes) : bytes;
}

int64_t slu_core_capacity_free_bytes(const struct slu_core_capacity *capacity)
{
	return (int64_t)slu_core_capacity_bytes(capacity) - (int64_t)capacity->charge_bytes;
}

void slu_core_capacity_refused(struct slu_core_capacity *capacity, uint64_t now_ns)
{
	assert(capacity->is_learned);
	capacity->estimate_bytes =
		SLU_MIN(capacity->estimate_bytes, capacity->charge_bytes - capacity->away_bytes);
	capacity->sure_bytes = capacity->refused_bytes = capacity->estimate_bytes;
	capacity->changed_ns = now_ns;
	capacity->back_off = SLU_MIN(capacity->back_off * 2, BACK_OFF_MAX);
	capacity->n_refusals++;
}

bool slu_core_capacity_is_refused(const struct slu_core_capacity *capacity)
{
	return capacity->estimate_bytes == capacity->sure_bytes &&
	       capacity->estimate_bytes < slu_core_capacity_seen_bytes(capacity);
}

void slu_core_capacity_witnessed(struct slu_core_capacity *capacity)
{
	if (!capacity->is_learned)
		return;
	capacity->estimate_bytes =
		SLU_MAX(capacity->estimate_bytes, capacity->charge_bytes - capacity->away_bytes);
	slu_core_capacity_held(capacity);
}

void slu_core_capacity_held(struct slu_core_capacity *capacity)
{
	uint64_t here = slu_sub_floor(capacity->held_bytes, capacity->away_bytes);
	uint64_t held = SLU_MIN(here, capacity->estimate_bytes);

	capacity->sure_bytes = SLU_MAX(capacity->sure_bytes, held);
}

void slu_core_capacity_outsiders(struct slu_core_capacity *capacity, uint64_t bytes)
{
	bytes = SLU_MIN(bytes, SLU_CORE_BYTES_MAX);
	if (slu_sub_floor(capacity->outsider_bytes, bytes) >= rise_step(capacity))
		capacity->back_off = 1;
	capacity->outsider_bytes = bytes;
}

void slu_core_capacity_overhead(struct slu_core_capacity *capacity, uint64_t bytes)
{
	capacity->overhead_bytes = SLU_MIN(bytes, SLU_CORE_BYTES_MAX);
}

bool slu_core_capacity_can_rise(const struct slu_core_capacity *capacity, uint64_t period_ns,
				uint64_t *ret_ns)
{
	if (!capacity->is_learned ||
	    capacity->estimate_bytes >= slu_core_capacity_seen_bytes(capacity))
		return false;
	*ret_ns = capacity->changed_ns + period_ns * capacity->back_off;
	return true;
}

void slu_core_capacity_rise(struct slu_core_capacity *capacity, uint64_t now_ns)
{
	uint64_t part = rise_step(capacity);
	uint64_t proven = slu_sub_floor(capacity->sure_bytes, capacity->refused_bytes);

	capacity->estimate_bytes =
		SLU_MIN(capacity->estimate_bytes + part, slu_core_capacity_seen_bytes(capacity));
	capacity->changed_ns = now_ns;
	/* each refused try delays the next one further, because each costs a switch some time */
	if (proven >= part / 2)
		capacity->back_off = SLU_MAX(capacity->back_off / 2, 1u);
}

void slu_core_capacity_forget(struct slu_core_capacity *capacity, uint64_t now_ns)
{
	if (!capacity->is_learned ||
	    capacity->estimate_bytes >= slu_core_capacity_seen_bytes(capacity))
		return;
	capacity->estimate_bytes = capacity->sure_bytes = slu_core_capacity_seen_bytes(capacity);
	capacity->changed_ns = now_ns;
}

void slu_core_capacity_departed(struct slu_core_capacity *capacity, uint64_t now_ns)
{
	capacity->departed_ns = now_ns;
	capacity->back_off = 1;
	if (TAILQ_EMPTY(&capacity->accounts))
		slu_core_capacity_forget(capacity, now_ns);
}

void slu_core_capacity_check(const struct slu_core_capacity *capacity)
{
	const struct slu_core_account *account;
	uint64_t charge = 0, held = 0, wanted = 0, away = 0;
	size_t n_charged = 0, n_pending = 0;

	TAILQ_FOREACH (account, &capacity->charged, charged_link)
		n_charged++;
	TAILQ_FOREACH (account, &capacity->pending, pending_link)
		n_pending++;
	TAILQ_FOREACH (account, &capacity->accounts, link) {
		slu_core_account_check(account);
		n_charged -= account->charge_bytes != 0;
		n_pending -= account->is_pending;
		charge += account->charge_bytes;
		held += account->held_bytes;
		wanted += account->seat ? account->seat->want.all_bytes : 0;
		away += account->is_away ? account->charge_bytes : 0;
	}
	assert(charge == capacity->charge_bytes);
	assert(held == capacity->held_bytes);
	assert(wanted == capacity->wanted_bytes);
	assert(away == capacity->away_bytes);
	assert(!n_charged && !n_pending);
	assert(capacity->back_off >= 1 && capacity->back_off <= BACK_OFF_MAX);
	assert(capacity->sure_bytes <= capacity->estimate_bytes);
	assert(capacity->is_learned || capacity->estimate_bytes == capacity->usable_bytes);
}
