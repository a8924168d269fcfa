/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How many bytes of one tier there are to hand out, and how many are: the memory of a device, or
 * the budget of pinned memory, of host memory or of disk space.
 *
 * The budgets are settings. The memory of a device is measured, not believed (rules 13-17):
 *
 *   usable      total less reserve; constant
 *   reserve     for what drivers take unseen, and for programs that are not clients; constant
 *   outsiders   what programs that are not clients were seen to hold
 *   overhead    what contexts and drivers of all programs were seen to hold beside their memory
 *   needed      what a group that is not at rest cannot do without, and finds in the reserve
 *   estimate    of the total: falls to what is charged when the driver refuses a client; rises by
 *               1/16 of usable a period while somebody lacks memory; each refusal doubles the
 *               period, each rise halves it; is the total again when nobody is left
 *   sure        the estimate without its rises: what may be fetched ahead, where trying for more
 *               would only make bytes come and go
 *
 * What is present is the estimate, not above the total less outsiders and overhead. The reserve is
 * kept free of it, whether a refusal or an observation has told how much that is: what is handed
 * out is what is present less the reserve. But the reserve yields to what is needed, as far as it
 * is present; the driver has the last word. What clients say they hold is never questioned, for
 * these bytes were got from the driver.
 *
 * The sums over all accounts are kept by the accounts themselves.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct slu_core_account;

/* More than any memory has; larger claims are cut to it, so that sums cannot overflow. */
#define SLU_CORE_BYTES_MAX (UINT64_C(1) << 50)

TAILQ_HEAD(slu_core_accounts, slu_core_account);

struct slu_core_capacity {
	bool is_learned;	 /* a device; else a budget, where estimate == usable always */
	uint64_t usable_bytes;	 /* handed out at most, but for what is needed */
	uint64_t reserve_bytes;	 /* there beside it */
	uint64_t estimate_bytes; /* what is believed to be there, the reserve included */
	uint64_t sure_bytes;	 /* never above the estimate */
	uint64_t outsider_bytes;
	uint64_t overhead_bytes;
	uint64_t needed_bytes; /* kept by fit/reserve.c */
	uint64_t charge_bytes; /* sum over accounts */
	uint64_t held_bytes;   /* sum over accounts */
	uint64_t floors_bytes; /* sum of what cannot leave now; kept by fit/plan.c */
	uint64_t changed_ns;   /* last rise or refusal */
	uint64_t departed_ns;  /* an account was closed last; 0: never */
	unsigned back_off;     /* 1 to 16: the rise period is multiplied by it */
	uint64_t n_refusals;
	bool is_lacking; /* a group lacks bytes here in this step */
	struct slu_core_accounts accounts;
};

void slu_core_capacity_init(struct slu_core_capacity *capacity, bool is_learned,
			    uint64_t usable_bytes, uint64_t reserve_bytes, uint64_t now_ns);

/* Asserts that no account is left. */
void slu_core_capacity_deinit(struct slu_core_capacity *capacity);

/* What may be handed out now. */
uint64_t slu_core_capacity_bytes(const struct slu_core_capacity *capacity);

/* The same if @needed_bytes were needed, whatever is held. */
uint64_t slu_core_capacity_yielding_bytes(const struct slu_core_capacity *capacity,
					  uint64_t needed_bytes);

/* What may be fetched ahead: nobody needs it yet. */
uint64_t slu_core_capacity_ahead_bytes(const struct slu_core_capacity *capacity);

/* All that is there for clients, the reserve included. */
uint64_t slu_core_capacity_present_bytes(const struct slu_core_capacity *capacity);

/* All that could ever be there: the reserve, what was refused, what outsiders hold. */
uint64_t slu_core_capacity_total_bytes(const struct slu_core_capacity *capacity);

/* What is not charged; negative when an observation put the estimate below the charges. */
int64_t slu_core_capacity_free_bytes(const struct slu_core_capacity *capacity);

/* A true refusal (rule 14): nothing is free now. */
void slu_core_capacity_refused(struct slu_core_capacity *capacity, uint64_t now_ns);

/* Whether the last thing learned is that the driver refuses more, and nothing was tried since. */
bool slu_core_capacity_is_refused(const struct slu_core_capacity *capacity);

/* A client that joins reported what it holds: that much is there. */
void slu_core_capacity_witnessed(struct slu_core_capacity *capacity);

/* A client that was not refused reported what it holds. */
void slu_core_capacity_held(struct slu_core_capacity *capacity);

void slu_core_capacity_outsiders(struct slu_core_capacity *capacity, uint64_t bytes);
void slu_core_capacity_overhead(struct slu_core_capacity *capacity, uint64_t bytes);

/* Whether a rise is possible at all; if so @ret_ns is when it may come. */
bool slu_core_capacity_can_rise(const struct slu_core_capacity *capacity, uint64_t period_ns,
				uint64_t *ret_ns);
void slu_core_capacity_rise(struct slu_core_capacity *capacity, uint64_t now_ns);

/* What refusals taught is forgotten at once: somebody is to find out anew. */
void slu_core_capacity_forget(struct slu_core_capacity *capacity, uint64_t now_ns);

/* An account is gone. With the last one goes what refusals taught: what was in the way went too. */
void slu_core_capacity_departed(struct slu_core_capacity *capacity, uint64_t now_ns);

void slu_core_capacity_check(const struct slu_core_capacity *capacity);
