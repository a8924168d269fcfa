/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What is to happen, in the order of its time; among equals, what was added first comes first. */

#include <stddef.h>
#include <stdint.h>

enum slu_event_kind {
	SLU_EVENT_ARRIVE,    /* of @program: it starts */
	SLU_EVENT_REQUEST,   /* … has something new to do */
	SLU_EVENT_CONTINUE,  /* … goes on after time on the host */
	SLU_EVENT_LAUNCHED,  /* its launch is done */
	SLU_EVENT_IDLE,	     /* look whether it rests */
	SLU_EVENT_PEER,	     /* a deadline of its peer */
	SLU_EVENT_TO_PEER,   /* @message arrives there */
	SLU_EVENT_TO_DAEMON, /* … or here */
	SLU_EVENT_DEATH,     /* the daemon learns that it has ended */
	SLU_EVENT_STEP,	     /* the core decides */
	SLU_EVENT_MOVED,     /* the first move of direction @program is done */
};

struct slu_event {
	uint64_t at_ns;
	uint64_t order;
	enum slu_event_kind kind;
	size_t program;
	void *message;
};

struct slu_events {
	struct slu_event *heap;
	size_t n, n_max;
	uint64_t n_added;
};

/* Owns @message from now on, and frees it on failure. Return: 0 or -ENOMEM. */
int slu_events_add(struct slu_events *events, uint64_t at_ns, enum slu_event_kind kind,
		   size_t program, void *message);

/* Return: 1 with the first one, whose message the caller then owns; 0 if there is none. */
int slu_events_take(struct slu_events *events, struct slu_event *ret_event);

void slu_events_deinit(struct slu_events *events);
