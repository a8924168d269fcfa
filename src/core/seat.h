/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The seat of a client at a device: its account there, its needs and the phase of its turn.
 *
 *   NONE    -> TURN      TURN sent                    [sched/turns.c]
 *   TURN    -> READY     READY, epoch equal
 *   TURN, READY -> CLOSING   CLOSE sent
 *   any     -> NONE      REST, epoch equal
 *   NONE    -> TURN, READY or CLOSING   HELLO reported an epoch: adopted or closed
 *
 *  NONE:     at rest on this device.       * epoch is none
 *  others:   its turn is open there.       * epoch is the turn's
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/credit/account.h"
#include "wire/message.h"

enum slu_core_phase {
	SLU_CORE_PHASE_NONE,
	SLU_CORE_PHASE_TURN,
	SLU_CORE_PHASE_READY,
	SLU_CORE_PHASE_CLOSING,
};

struct slu_core_seat {
	struct slu_core_account account;
	unsigned device;     /* the core's number */
	uint8_t place;	     /* in HELLO's list: how messages name it */
	enum slu_mode mode;  /* as it counts now */
	bool maps_if_larger; /* MAPPED while it is larger than the device, else ALL (rule 43) */
	bool maps_refused;   /* … also because the driver refused what the device should have */
	enum slu_core_phase phase;
	struct slu_epoch epoch;
	struct slu_msg_want want; /* as last reported */
	struct slu_msg_facts facts;
	bool is_denied; /* DENY sent, and no WANT since */
	bool is_served; /* it got what it wanted since its group did not fit (sched/patience.h) */

	/* sched/grow.h: the most bytes that could not move, and when they became more */
	uint64_t unmovable_bytes;
	uint64_t grown_ns;
	bool is_growing; /* grown_ns is a time */

	/* rule 21: the need next to other groups; a fall counts only when it has lasted */
	uint64_t peak_bytes;
	uint64_t peak_ns; /* when the need fell below the peak */

	/* of the last plan that this seat was part of */
	uint64_t need_bytes;  /* the turn does not begin without it */
	uint64_t paged_bytes; /* beyond it, others give up bytes for what the driver pages */
	uint64_t goal_bytes;  /* both, and what may be spent beyond them */
};

/* Bytes that the seat must have in its turn: all units, in LAUNCH those of a waiting command. */
uint64_t slu_core_seat_need_bytes(const struct slu_core_seat *seat);

/*
 * Its need next to other groups (rule 20): in LAUNCH also its working set, else what the driver
 * pages.
 */
uint64_t slu_core_seat_beside_bytes(const struct slu_core_seat *seat);

/* What the program says cannot move, as far as it holds so much. */
uint64_t slu_core_seat_unmovable_bytes(const struct slu_core_seat *seat);

/* Raises the want to what is held, because it cannot be less. */
void slu_core_seat_holds(struct slu_core_seat *seat, uint64_t now_ns);
void slu_core_seat_want(struct slu_core_seat *seat, uint64_t now_ns,
			const struct slu_msg_want *want);
