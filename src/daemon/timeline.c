/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "daemon/timeline.h"

struct slu_timeline {
	struct slu_timeline_turn turns[SLU_TIMELINE_MAX];
	struct slu_timeline_move moves[SLU_TIMELINE_MAX];
	struct slu_timeline_join joins[SLU_TIMELINE_JOINS_MAX];
	struct slu_timeline_denial denials[SLU_TIMELINE_DENIALS_MAX];
	struct slu_timeline_refusal refusals[SLU_TIMELINE_REFUSALS_MAX];
	uint64_t n_turns, n_moves, n_joins, n_denials, n_refusals; /* ever recorded */
};

int slu_timeline_new(struct slu_timeline **ret_timeline)
{
	struct slu_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return slu_error(-ENOMEM);
	*ret_timeline = timeline;
	return 0;
}

void slu_timeline_free(struct slu_timeline *timeline)
{
	free(timeline);
}

void slu_timeline_joined(struct slu_timeline *timeline, uint64_t now_ns,
			 const struct slu_timeline_who *who)
{
	timeline->joins[timeline->n_joins++ % SLU_TIMELINE_JOINS_MAX] =
		(struct slu_timeline_join){ .who = *who, .at_ns = now_ns };
}

void slu_timeline_refused(struct slu_timeline *timeline, uint64_t now_ns,
			  const struct slu_timeline_who *who, const char *reason)
{
	struct slu_timeline_refusal *refusal =
		&timeline->refusals[timeline->n_refusals++ % SLU_TIMELINE_REFUSALS_MAX];

	*refusal = (struct slu_timeline_refusal){ .who = *who, .at_ns = now_ns };
	snprintf(refusal->reason, sizeof(refusal->reason), "%s", reason);
}

/* The record of a turn that has not ended and is not overwritten, or NULL. */
static struct slu_timeline_turn *record_of(struct slu_timeline *timeline, uint64_t number)
{
	struct slu_timeline_turn *turn;

	if (!number || number > timeline->n_turns || timeline->n_turns - number >= SLU_TIMELINE_MAX)
		return NULL;
	turn = &timeline->turns[(number - 1) % SLU_TIMELINE_MAX];
	return turn->end_ns ? NULL : turn;
}

uint64_t slu_timeline_granted(struct slu_timeline *timeline, uint64_t now_ns,
			      const struct slu_timeline_who *who, unsigned device,
			      struct slu_epoch epoch)
{
	timeline->turns[timeline->n_turns++ % SLU_TIMELINE_MAX] = (struct slu_timeline_turn){
		.who = *who,
		.device = device,
		.epoch = epoch,
		.granted_ns = now_ns,
	};
	return timeline->n_turns;
}

void slu_timeline_present(struct slu_timeline *timeline, uint64_t number, uint64_t bytes)
{
	struct slu_timeline_turn *turn = record_of(timeline, number);

	if (turn)
		turn->present_bytes = bytes;
}

void slu_timeline_ready(struct slu_timeline *timeline, uint64_t now_ns, uint64_t number)
{
	struct slu_timeline_turn *turn = record_of(timeline, number);

	if (turn && !turn->ready_ns)
		turn->ready_ns = now_ns;
}

void slu_timeline_closing(struct slu_timeline *timeline, uint64_t now_ns, uint64_t number,
			  const char *reason)
{
	struct slu_timeline_turn *turn = record_of(timeline, number);

	if (!turn || turn->closing_ns)
		return;
	turn->closing_ns = now_ns;
	snprintf(turn->reason, sizeof(turn->reason), "%s", reason);
}

void slu_timeline_end(struct slu_timeline *timeline, uint64_t now_ns, uint64_t number,
		      const char *reason)
{
	struct slu_timeline_turn *turn = record_of(timeline, number);

	if (!turn)
		return;
	turn->end_ns = now_ns;
	if (!turn->reason[0])
		snprintf(turn->reason, sizeof(turn->reason), "%s", reason);
}

void slu_timeline_moved(struct slu_timeline *timeline, uint64_t now_ns,
			const struct slu_timeline_who *who, unsigned device, uint64_t in_bytes,
			uint64_t out_bytes)
{
	timeline->moves[timeline->n_moves++ % SLU_TIMELINE_MAX] = (struct slu_timeline_move){
		.who = *who,
		.device = device,
		.at_ns = now_ns,
		.in_bytes = in_bytes,
		.out_bytes = out_bytes,
	};
}

void slu_timeline_denied(struct slu_timeline *timeline, uint64_t now_ns,
			 const struct slu_timeline_who *who, const char *what, const char *reason,
			 const char *hint)
{
	struct slu_timeline_denial *denial =
		&timeline->denials[timeline->n_denials++ % SLU_TIMELINE_DENIALS_MAX];

	*denial = (struct slu_timeline_denial){ .who = *who, .at_ns = now_ns, .what = what };
	snprintf(denial->reason, sizeof(denial->reason), "%s", reason);
	snprintf(denial->hint, sizeof(denial->hint), "%s", hint);
}

size_t slu_timeline_n_joins(const struct slu_timeline *timeline)
{
	return (size_t)SLU_MIN(timeline->n_joins, (uint64_t)SLU_TIMELINE_JOINS_MAX);
}

size_t slu_timeline_n_refusals(const struct slu_timeline *timeline)
{
	return (size_t)SLU_MIN(timeline->n_refusals, (uint64_t)SLU_TIMELINE_REFUSALS_MAX);
}

size_t slu_timeline_n_turns(const struct slu_timeline *timeline)
{
	return (size_t)SLU_MIN(timeline->n_turns, (uint64_t)SLU_TIMELINE_MAX);
}

size_t slu_timeline_n_moves(const struct slu_timeline *timeline)
{
	return (size_t)SLU_MIN(timeline->n_moves, (uint64_t)SLU_TIMELINE_MAX);
}

size_t slu_timeline_n_denials(const struct slu_timeline *timeline)
{
	return (size_t)SLU_MIN(timeline->n_denials, (uint64_t)SLU_TIMELINE_DENIALS_MAX);
}

const struct slu_timeline_join *slu_timeline_join(const struct slu_timeline *timeline, size_t i)
{
	size_t n = slu_timeline_n_joins(timeline);

	return &timeline->joins[(timeline->n_joins - n + i) % SLU_TIMELINE_JOINS_MAX];
}

const struct slu_timeline_refusal *slu_timeline_refusal(const struct slu_timeline *timeline,
							size_t i)
{
	size_t n = slu_timeline_n_refusals(timeline);

	return &timeline->refusals[(timeline->n_refusals - n + i) % SLU_TIMELINE_REFUSALS_MAX];
}

const struct slu_timeline_turn *slu_timeline_turn(const struct slu_timeline *timeline, size_t i)
{
	size_t n = slu_timeline_n_turns(timeline);

	return &timeline->turns[(timeline->n_turns - n + i) % SLU_TIMELINE_MAX];
}

const struct slu_timeline_move *slu_timeline_move(const struct slu_timeline *timeline, size_t i)
{
	size_t n = slu_timeline_n_moves(timeline);

	return &timeline->moves[(timeline->n_moves - n + i) % SLU_TIMELINE_MAX];
}

const struct slu_timeline_denial *slu_timeline_denial(const struct slu_timeline *timeline, size_t i)
{
	size_t n = slu_timeline_n_denials(timeline);

	return &timeline->denials[(timeline->n_denials - n + i) % SLU_TIMELINE_DENIALS_MAX];
}
