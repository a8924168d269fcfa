/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The object: its memory, the order of a step, and the queue of actions. The queue has a fixed
 * size, because a step adds each kind of action at most twice a device, and the caller takes all of
 * them before the next event.
 */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "peer/internal.h"

int slu_peer_new(const struct slu_peer_config *config, struct slu_peer **ret_peer)
{
	struct slu_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return slu_error(-ENOMEM);
	peer->config = *config;
	peer->reports_ns = SLU_PEER_NEVER;
	TAILQ_INIT(&peer->waiting_allocs);
	*ret_peer = peer;
	return 0;
}

void slu_peer_free(struct slu_peer *peer)
{
	if (!peer)
		return;
	assert(TAILQ_EMPTY(&peer->waiting_allocs));
	for (unsigned i = 0; i < peer->n_devices; i++) {
		assert(TAILQ_EMPTY(&peer->devices[i].units));
		slu_peer_command_drop(peer, &peer->devices[i]);
	}
	free(peer);
}

int slu_peer_device_add(struct slu_peer *peer, const struct slu_hello_device *identity,
			enum slu_mode mode)
{
	struct slu_peer_device *d;

	if (peer->is_connected)
		return slu_error(-EBUSY);
	if (peer->n_devices == SLU_WIRE_DEVICES_MAX)
		return slu_error(-ENOSPC);
	d = &peer->devices[peer->n_devices];
	memset(d, 0, sizeof(*d));
	d->identity = *identity;
	d->mode = mode;
	d->alone_bytes = UINT64_MAX;
	TAILQ_INIT(&d->units);
	TAILQ_INIT(&d->working);
	return (int)peer->n_devices++;
}

struct slu_peer_record *slu_peer_push(struct slu_peer *peer, enum slu_peer_action_kind kind,
				      unsigned device)
{
	struct slu_peer_record *r;

	assert(peer->n_queued < SLU_PEER_QUEUE_MAX);
	r = &peer->queue[(peer->first + peer->n_queued++) % SLU_PEER_QUEUE_MAX];
	memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->device = device;
	return r;
}

struct slu_peer_record *slu_peer_push_message(struct slu_peer *peer, enum slu_message_type type,
					      unsigned device)
{
	struct slu_peer_record *r;

	if (!peer->is_connected)
		return NULL;
	r = slu_peer_push(peer, SLU_PEER_SEND, device);
	r->type = type;
	return r;
}

static void message_fill(struct slu_peer *peer, const struct slu_peer_record *r,
			 struct slu_message *ret_message)
{
	switch (r->type) {
	case SLU_MSG_HELLO:
		slu_peer_connection_fill_hello(peer, &ret_message->hello);
		break;
	case SLU_MSG_FACTS:
		slu_peer_reports_fill_facts(peer, r->device, &ret_message->facts);
		break;
	case SLU_MSG_SUMS:
		ret_message->sums = r->sums;
		break;
	case SLU_MSG_WANT:
		ret_message->want = r->want;
		break;
	case SLU_MSG_REST:
		ret_message->rest = r->rest;
		break;
	case SLU_MSG_EXCESS:
		ret_message->excess = r->excess;
		break;
	case SLU_MSG_EXPORT:
		ret_message->export = r->export;
		break;
	default:
		ret_message->turn = r->turn;
		break;
	}
	slu_message_stamp(ret_message, r->type);
}

int slu_peer_take_action(struct slu_peer *peer, struct slu_peer_action *ret_action)
{
	const struct slu_peer_record *r;

	if (peer->n_queued == 0)
		return 0;
	r = &peer->queue[peer->first];
	peer->first = (peer->first + 1) % SLU_PEER_QUEUE_MAX;
	peer->n_queued--;

	ret_action->kind = r->kind;
	ret_action->device = r->device;
	ret_action->unit = r->unit;
	ret_action->page = r->page;
	if (r->kind == SLU_PEER_SEND) {
		memset(&ret_action->message, 0, sizeof(ret_action->message));
		message_fill(peer, r, &ret_action->message);
	}
	return 1;
}

void slu_peer_wake_all(struct slu_peer *peer)
{
	for (unsigned i = 0; i < peer->n_devices; i++)
		peer->devices[i].wake_is_due = true;
}

static void device_end_pauses(struct slu_peer_device *d, uint64_t now_ns)
{
	for (unsigned k = 0; k < _DIRECTION_MAX; k++) {
		if (d->retry_ns[k] && now_ns >= d->retry_ns[k]) {
			d->retry_ns[k] = 0;
			d->wake_is_due = true;
		}
	}
	if (now_ns >= d->grows_until_ns)
		d->grows_until_ns = 0;
}

void slu_peer_step(struct slu_peer *peer, uint64_t now_ns)
{
	for (unsigned i = 0; i < peer->n_devices; i++) {
		device_end_pauses(&peer->devices[i], now_ns);
		slu_peer_working_step(&peer->devices[i], now_ns);
		slu_peer_paging_step(peer, now_ns, i);
		slu_peer_boundary_step(peer, now_ns, i);
		slu_peer_turn_step(peer, now_ns, i);
		slu_peer_move_step(peer, now_ns, i);
	}
	if (peer->shift_retry_ns && now_ns >= peer->shift_retry_ns)
		peer->shift_retry_ns = 0;
	slu_peer_shift_step(peer);
	slu_peer_account_step(peer);
	slu_peer_want_step_backing(peer);
	for (unsigned i = 0; i < peer->n_devices; i++)
		slu_peer_want_step(peer, now_ns, i);
	slu_peer_reports_step(peer, now_ns);

	for (unsigned i = 0; i < peer->n_devices; i++) {
		if (peer->devices[i].wake_is_due) {
			peer->devices[i].wake_is_due = false;
			slu_peer_push(peer, SLU_PEER_WAKE, i);
		}
	}
}

uint64_t slu_peer_deadline_ns(const struct slu_peer *peer)
{
	uint64_t at = peer->is_connected ? peer->reports_ns : SLU_PEER_NEVER;

	if (peer->shift_retry_ns)
		at = SLU_MIN(at, peer->shift_retry_ns);
	for (unsigned i = 0; i < peer->n_devices; i++) {
		const struct slu_peer_device *d = &peer->devices[i];

		for (unsigned k = 0; k < _DIRECTION_MAX; k++)
			if (d->retry_ns[k])
				at = SLU_MIN(at, d->retry_ns[k]);
		if (d->grows_until_ns)
			at = SLU_MIN(at, d->grows_until_ns);
		if (d->pages_until_ns)
			at = SLU_MIN(at, d->pages_until_ns);
		if (d->late_until_ns)
			at = SLU_MIN(at, d->late_until_ns);
		if (peer->is_alone && d->alone_until_ns)
			at = SLU_MIN(at, d->alone_until_ns);
	}
	return at;
}
