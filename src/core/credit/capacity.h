/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How many bytes of one tier there are to hand out, and how many are: the memory of a device, the
 * pinned budget, the home budget.
 *
 * The two budgets are settings. The memory of a device is measured, not believed (rules 13-17):
 *
 *   usable      total less reserve; constant
 *   reserve     for what drivers take unseen; constant
 *   outsiders   what programs that are not clients were seen to hold
 *   needed      what a group cannot do without, and would find if the reserve were not kept
 *   estimate    falls to what is charged when the driver refuses a client; rises by 1/16 of usable
 *               a period while somebody lacks room; each refusal doubles the period, each rise
 *               halves it; is usable again when nobody is left
 *
 * What counts is slu_core_capacity_bytes(): the estimate, not above usable less outsiders, and not
 * below what the clients say they hold, for these bytes were got from the driver. Outsiders may
 * take what the reserve kept free. Then clients would have less than is there, and less with each
 * byte that they exchange, for what has left counts no more and what comes is not allowed. So the
 * reserve yields to what is needed, as far as outsiders leave it; the driver has the last word.
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
	uint64_t usable_bytes;	 /* handed out at most */
	uint64_t reserve_bytes;	 /* there beside it */
	uint64_t estimate_bytes; /* what is believed to be there */
	uint64_t outsider_bytes;
	uint64_t needed_bytes; /* kept by credit/reserve.c */
	uint64_t charge_bytes; /* sum over accounts */
	uint64_t held_bytes;   /* sum over accounts */
	uint64_t floors_bytes; /* sum of what cannot leave now; kept by credit/plan.c */
	uint64_t changed_ns;   /* last rise or refusal */
	unsigned back_off;     /* 1 to 16: the rise period is multiplied by it */
	uint64_t n_refusals;
	bool is_lacking; /* somebody lacks room here in this step */
	struct slu_core_accounts accounts;
};

void slu_core_capacity_init(struct slu_core_capacity *capacity, bool is_learned,
			    uint64_t usable_bytes, uint64_t reserve_bytes, uint64_t now_ns);

/* Asserts that no account is left. */
void slu_core_capacity_deinit(struct slu_core_capacity *capacity);

uint64_t slu_core_capacity_bytes(const struct slu_core_capacity *capacity);

/* What outsiders leave, the reserve included; never more than usable. */
uint64_t slu_core_capacity_left_bytes(const struct slu_core_capacity *capacity);

/* What is not charged; negative when an observation put the estimate below the charges. */
int64_t slu_core_capacity_free_bytes(const struct slu_core_capacity *capacity);

/* A true refusal (rule 14): nothing is free now. */
void slu_core_capacity_refused(struct slu_core_capacity *capacity, uint64_t now_ns);

/* A client reported what it holds: that much is there. */
void slu_core_capacity_witnessed(struct slu_core_capacity *capacity);

void slu_core_capacity_outsiders(struct slu_core_capacity *capacity, uint64_t bytes);

/* Whether a rise is possible at all; if so @ret_ns is when it may come. */
bool slu_core_capacity_can_rise(const struct slu_core_capacity *capacity, uint64_t period_ns,
				uint64_t *ret_ns);
void slu_core_capacity_rise(struct slu_core_capacity *capacity, uint64_t now_ns);

/* What refusals taught is forgotten at once: somebody is to find out anew. */
void slu_core_capacity_forget(struct slu_core_capacity *capacity, uint64_t now_ns);

/* An account is gone. With the last one goes what refusals taught: what was in the way went too. */
void slu_core_capacity_left(struct slu_core_capacity *capacity, uint64_t now_ns);

void slu_core_capacity_check(const struct slu_core_capacity *capacity);
