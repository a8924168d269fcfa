/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one client may hold of one tier, as the daemon knows it: an upper bound, never the exact
 * value.
 *
 *   limit    the last value sent; bytes are absolute, never differences
 *   charge   the most that the client can hold, whichever of the sent limits it has read
 *   held     the last value reported; it was true then
 *   floor    of held, the bytes reported as unable to leave now
 *
 *   ANSWERED -> PENDING    [slu_core_account_raise]   charged before it is sent (rule 2)
 *   ANSWERED -> PENDING    [slu_core_account_lower]   frees nothing yet
 *   PENDING  -> ANSWERED   [slu_core_account_answer]  the last seq: charge = max(ceiling, limit)
 *   PENDING  -> PENDING    [slu_core_account_answer]  an older seq: noted, lowers no charge
 *   any      -> ANSWERED   [slu_core_account_report]  HELLO: limit = charge = held, seq 0
 *   any      -> ANSWERED   [slu_core_account_orphan]  the roster: charged, all of it a floor
 *   any      -> ANSWERED   [slu_core_account_void]    the connection ended: the charge stays
 *
 *  ANSWERED: the last LIMIT was answered, or none was sent.  * !is_pending
 *  PENDING:  one LIMIT is under way, never two (rule 1).     * is_pending, seq > 0
 *
 * In every state limit <= charge and held <= charge. A client whose unmovable memory grows may hold
 * more than its limit; its report then raises the charge to the truth.
 *
 * The daemon of several users does not believe a report beyond what it granted itself or the device
 * confirms (rule 41): of such an account held, floor and charge are cut to
 *
 *   known = max(granted, proof)
 *
 *   granted  the highest limit that the client may still use; falls with its answers
 *   proof    the bytes that the device says it has; UINT64_MAX: it is believed
 *
 * and of a client that does not answer, to the proof.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "wire/message.h"

struct slu_core_capacity;
struct slu_core_client;
struct slu_core_seat;

struct slu_core_account {
	TAILQ_ENTRY(slu_core_account) link;
	TAILQ_ENTRY(slu_core_account) charged_link, pending_link;
	struct slu_core_capacity *capacity; /* what it is charged to; NULL before init */
	struct slu_core_client *client;
	struct slu_core_seat *seat; /* of a device; NULL for pinned, backing and disk */
	uint64_t limit_bytes;
	uint64_t charge_bytes;
	uint64_t held_bytes;
	uint64_t floor_bytes;
	uint64_t goal_bytes; /* sent with the last LIMIT */
	bool goal_is_past;   /* HELLO or a lowering came since: the client knows no goal */
	uint64_t granted_bytes;
	uint64_t proof_bytes;
	uint64_t claim_bytes;  /* held, as the client says: counts against its own user's bounds */
	uint64_t roster_bytes; /* the charge in the roster; UINT64_MAX: unknown */
	uint64_t seq;	       /* of the last LIMIT; 0: none on this connection */
	uint64_t sent_ns;      /* of the last LIMIT */
	uint64_t raised_ns;    /* of the last raise; 0: never */
	uint64_t moved_ns;     /* last time that bytes left, or a lowering was sent */
	enum slu_pace pace;    /* sent with the last LIMIT */
	bool is_pending;
	bool is_final;		 /* the client reported that no more can leave now */
	bool is_reported_silent; /* the log and status have its silence */
	bool is_stalled;	 /* what should leave does not (sched/stall.h) */
	bool is_away; /* the driver suspended the program: what is charged is not on the device */
	bool may_be_refused;	      /* a raise was sent since the last refusal that counted */
	unsigned n_refused;	      /* refusals that counted since held last grew */
	uint64_t refused_ns;	      /* the last one */
	uint64_t cut_bytes;	      /* while a step decides: the bytes to give up */
	uint64_t counted_floor_bytes; /* its part of capacity->floors_bytes */
};

void slu_core_account_init(struct slu_core_account *account, struct slu_core_capacity *capacity,
			   struct slu_core_client *client, struct slu_core_seat *seat);

/* Gives the charge back. */
void slu_core_account_deinit(struct slu_core_account *account);

/* HELLO of a client of several users: known are @granted_bytes and what the device will confirm. */
void slu_core_account_question(struct slu_core_account *account, uint64_t granted_bytes);

/* The device says that the client has @bytes. @is_mute: it does not answer, so nothing else counts.
 */
void slu_core_account_confirm(struct slu_core_account *account, uint64_t bytes, bool is_mute);

/* Takes the values of HELLO. */
void slu_core_account_report(struct slu_core_account *account, uint64_t held_bytes,
			     uint64_t floor_bytes);

/* Takes the charge of the roster: none of it can leave before HELLO. */
void slu_core_account_orphan(struct slu_core_account *account, uint64_t charge_bytes);

/* The most that a raise may ask for now. */
uint64_t slu_core_account_most_bytes(const struct slu_core_account *account);
/* The same for bytes that are fetched ahead. */
uint64_t slu_core_account_most_ahead_bytes(const struct slu_core_account *account);

/* @limit_bytes >= the present limit; equal when only goal or pace change (rule 12). */
void slu_core_account_raise(struct slu_core_account *account, uint64_t now_ns, uint64_t limit_bytes,
			    uint64_t goal_bytes, enum slu_pace pace);
/* @limit_bytes < the present limit. */
void slu_core_account_lower(struct slu_core_account *account, uint64_t now_ns,
			    uint64_t limit_bytes);

enum {
	_SLU_CORE_ACCOUNT_E_SUCCESS,
	SLU_CORE_ACCOUNT_E_OLD, /* the seq is not the last: only held and floor are noted */
};

/*
 * Whether a refusal tells something of the device: one for each raise, and of a client whose bytes
 * never grow less and less often.
 */
bool slu_core_account_take_refusal(struct slu_core_account *account, uint64_t now_ns,
				   uint64_t period_ns);

/* Bytes have left, or parts of a unit are copied. */
void slu_core_account_moved(struct slu_core_account *account, uint64_t now_ns);

/*
 * SUMS. A refusal under the last seq lowers the limit to what is held (rule 13); the caller passes
 * the refusal on to the capacity.
 */
int slu_core_account_answer(struct slu_core_account *account, uint64_t now_ns,
			    const struct slu_msg_sums *sums);

/* Sets is_away: the charge stays, and the device has as many bytes more for others meanwhile. */
void slu_core_account_set_away(struct slu_core_account *account, bool is_away);

/* The connection ended: credit is void, the charge stays until HELLO or death. */
void slu_core_account_void(struct slu_core_account *account);

static inline uint64_t slu_core_account_slack_bytes(const struct slu_core_account *account)
{
	return account->limit_bytes > account->held_bytes
		       ? account->limit_bytes - account->held_bytes
		       : 0;
}

/* Asserts I1 and I5. */
void slu_core_account_check(const struct slu_core_account *account);
