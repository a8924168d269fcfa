/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How many bytes of one tier exist to hand out, and how many are handed out: the memory of a
 * device, the pinned budget, the backing budget, the disk budget.
 *
 * The three budgets are settings. The memory of a device is measured (rules 13-17):
 *
 *   usable      total less reserve; constant
 *   reserve     kept free for drivers and outsiders; constant
 *   outsiders   the bytes that outsiders were seen to hold
 *   overhead    the bytes that contexts and drivers of all programs were seen to hold in addition
 *               to the programs' memory
 *   away        of what is charged, the bytes of programs that the driver suspended: they are not
 *               on the device, so others may have as many
 *   needed      the bytes without which an open group cannot run, although they are in the reserve
 *   estimate    of the total: falls to what is charged when the driver refuses a client; rises by
 *               1/16 of usable a period while a group lacks memory; each refusal doubles the
 *               period, and a rise after one that proved right halves it; the period is short
 *               again when an account departs or outsiders give up 1/16 of usable, because they
 *               may have been the reason; becomes the total again when the last account departs
 *   sure        the estimate without its rises: the limit for bytes fetched ahead, because to try
 *               for more would only make bytes come and go
 *
 * The device has as many bytes as estimated, at most the total less outsiders and overhead: these
 * are present, and what is away is added to them. The core hands out what is present less the
 * reserve. The reserve yields to needed bytes, as far as they are present; the driver decides in
 * the end. The core never questions what clients report as held, because the driver gave them these
 * bytes.
 *
 * The accounts themselves keep the sums over all accounts.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct slu_core_account;

/* More than any machine has; larger claims are cut to it, so that sums cannot overflow. */
#define SLU_CORE_BYTES_MAX (UINT64_C(1) << 50)

TAILQ_HEAD(slu_core_accounts, slu_core_account);

struct slu_core_capacity {
	bool is_learned;	 /* a device; else a budget, where estimate == usable always */
	uint64_t usable_bytes;	 /* handed out at most, except for needed bytes */
	uint64_t reserve_bytes;	 /* in addition to it */
	uint64_t estimate_bytes; /* of the total, the reserve included */
	uint64_t sure_bytes;	 /* never above the estimate */
	uint64_t refused_bytes;	 /* the estimate after the last refusal */
	uint64_t outsider_bytes;
	uint64_t overhead_bytes;
	uint64_t away_bytes;   /* sum over accounts */
	uint64_t needed_bytes; /* kept by fit/reserve.c */
	uint64_t charge_bytes; /* sum over accounts */
	uint64_t held_bytes;   /* sum over accounts */
	uint64_t floors_bytes; /* sum of what cannot leave now; kept by fit/plan.c */
	uint64_t changed_ns;   /* last rise or refusal */
	uint64_t departed_ns;  /* the last account departed then; 0: never */
	unsigned back_off;     /* 1 to 64: the rise period is multiplied by it */
	uint64_t n_refusals;
	bool is_lacking; /* a group lacks bytes here in this step */
	struct slu_core_accounts accounts;
	struct slu_core_accounts charged; /* of these: with a charge */
	struct slu_core_accounts pending; /* … whose last LIMIT is unanswered */
	uint64_t wanted_bytes;		  /* sum of what the seats want in all */
};

void slu_core_capacity_init(struct slu_core_capacity *capacity, bool is_learned,
			    uint64_t usable_bytes, uint64_t reserve_bytes, uint64_t now_ns);

/* Another size of a device; what refusals taught stays. */
void slu_core_capacity_resize(struct slu_core_capacity *capacity, uint64_t usable_bytes,
			      uint64_t reserve_bytes);

/* Asserts that no account remains. */
void slu_core_capacity_deinit(struct slu_core_capacity *capacity);

/* The bytes that may be handed out now. */
uint64_t slu_core_capacity_bytes(const struct slu_core_capacity *capacity);

/* The same if @needed_bytes were needed, whatever is held. */
uint64_t slu_core_capacity_yielding_bytes(const struct slu_core_capacity *capacity,
					  uint64_t needed_bytes);

/* The bytes that may be handed out for fetching ahead. */
uint64_t slu_core_capacity_ahead_bytes(const struct slu_core_capacity *capacity);

/* The bytes present for clients, the reserve included. */
uint64_t slu_core_capacity_present_bytes(const struct slu_core_capacity *capacity);

/* The size of the device: with the reserve, without refusals and outsiders. */
uint64_t slu_core_capacity_total_bytes(const struct slu_core_capacity *capacity);

/* The bytes that contexts and outsiders leave, as far as they are seen: refusals do not count. */
uint64_t slu_core_capacity_seen_bytes(const struct slu_core_capacity *capacity);

/* The bytes that are not charged; negative when an observation put the estimate below the charges.
 */
int64_t slu_core_capacity_free_bytes(const struct slu_core_capacity *capacity);

/* A true refusal (rule 14): nothing is free now. */
void slu_core_capacity_refused(struct slu_core_capacity *capacity, uint64_t now_ns);

/* Whether the driver refused more, and no client has tried since. */
bool slu_core_capacity_is_refused(const struct slu_core_capacity *capacity);

/* A joining client reported what it holds: at least that much exists. */
void slu_core_capacity_witnessed(struct slu_core_capacity *capacity);

/* A client that was not refused reported what it holds. */
void slu_core_capacity_held(struct slu_core_capacity *capacity);

void slu_core_capacity_outsiders(struct slu_core_capacity *capacity, uint64_t bytes);
void slu_core_capacity_overhead(struct slu_core_capacity *capacity, uint64_t bytes);

/* Whether a rise is possible at all; if so @ret_ns is when it may come. */
bool slu_core_capacity_can_rise(const struct slu_core_capacity *capacity, uint64_t period_ns,
				uint64_t *ret_ns);
void slu_core_capacity_rise(struct slu_core_capacity *capacity, uint64_t now_ns);

/* Forgets the refusals, so that a client tries again. */
void slu_core_capacity_forget(struct slu_core_capacity *capacity, uint64_t now_ns);

/* An account departed, and perhaps the cause of refusals. The last one takes along their memory. */
void slu_core_capacity_departed(struct slu_core_capacity *capacity, uint64_t now_ns);

void slu_core_capacity_check(const struct slu_core_capacity *capacity);
