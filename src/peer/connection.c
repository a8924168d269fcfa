/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Join, loss, and the messages of the daemon. Join and rejoin are the same: HELLO reports what is
 * held and which turns are open, and everything starts from there.
 *
 * These end with the connection: credit that is not spent (every limit becomes what is held),
 * sequence numbers, a CLOSE without its REST, and messages that are queued. These stay: units, open
 * gates and their epochs (a program with a turn runs on), and needs, which are sent again.
 */

#include <string.h>

#include "peer/internal.h"

static void void_credit(struct slu_peer *peer)
{
	slu_peer_account_void(&peer->pinned);
	slu_peer_account_void(&peer->pageable);
	slu_peer_account_void(&peer->disk);
	peer->backing_want_is_current = false;
	peer->backing_is_exact = false;
	peer->thaw_is_denied = false;
	for (unsigned i = 0; i < peer->n_devices; i++) {
		struct slu_peer_device *d = &peer->devices[i];

		slu_peer_account_void(&d->account);
		d->unfit_until_ns = 0;
		d->close_epoch = (struct slu_epoch){ 0 };
		d->late_until_ns = 0;
		d->want_is_current = false;
		d->want_ends_idle = false;
	}
}

void slu_peer_connection_made(struct slu_peer *peer, uint64_t now_ns)
{
	void_credit(peer);
	for (unsigned i = 0; i < peer->n_devices; i++) {
		struct slu_peer_device *d = &peer->devices[i];

		if (peer->is_alone && d->gate == SLU_PEER_GATE_OPEN && slu_epoch_is_none(d->epoch))
			d->epoch = (struct slu_epoch){ 0, SLU_PEER_ALONE_COUNTER };
		d->ready_epoch = d->gate == SLU_PEER_GATE_OPEN ? d->epoch : (struct slu_epoch){ 0 };
		d->idle_is_reported = false;
		memset(&d->facts, 0, sizeof(d->facts));
	}
	peer->is_alone = false;
	peer->is_connected = true;
	peer->is_joined = false;
	slu_peer_push_message(peer, SLU_MSG_HELLO, 0);
	slu_peer_reports_touch(peer, now_ns);
}

/* Takes the messages out of the queue and keeps the other actions in their order. */
static void queue_drop_messages(struct slu_peer *peer)
{
	unsigned n = peer->n_queued, kept = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned from = (peer->first + i) % SLU_PEER_QUEUE_MAX;
		unsigned to = (peer->first + kept) % SLU_PEER_QUEUE_MAX;

		if (peer->queue[from].kind == SLU_PEER_SEND)
			continue;
		if (from != to)
			peer->queue[to] = peer->queue[from];
		kept++;
	}
	peer->n_queued = kept;
}

void slu_peer_connection_lost(struct slu_peer *peer, uint64_t now_ns)
{
	(void)now_ns;
	void_credit(peer);
	for (unsigned i = 0; i < peer->n_devices; i++)
		peer->devices[i].grows_until_ns = 0;
	queue_drop_messages(peer);
	peer->is_connected = false;
	peer->is_joined = false;
}

bool slu_peer_connection_is_joined(const struct slu_peer *peer)
{
	return peer->is_joined;
}

const struct slu_msg_welcome *slu_peer_connection_settings(const struct slu_peer *peer)
{
	return &peer->welcome;
}

uint64_t slu_peer_connection_chunk_bytes(const struct slu_peer *peer)
{
	return peer->welcome.chunk_bytes ? peer->welcome.chunk_bytes : SLU_PEER_CHUNK_BYTES;
}

void slu_peer_connection_fill_hello(struct slu_peer *peer, struct slu_msg_hello *ret_hello)
{
	*ret_hello = (struct slu_msg_hello){
		.version = SLU_WIRE_VERSION,
		.n_devices = peer->n_devices,
		.group = peer->config.group,
		.pinned_held_bytes = peer->pinned.held_bytes,
		.pageable_held_bytes = peer->pageable.held_bytes,
		.disk_held_bytes = peer->disk.held_bytes,
	};
	memcpy(ret_hello->program, peer->config.program, sizeof(ret_hello->program));
	ret_hello->program[sizeof(ret_hello->program) - 1] = '\0';
	peer->pinned.reported_held_bytes = peer->pinned.held_bytes;
	peer->pageable.reported_held_bytes = peer->pageable.held_bytes;
	peer->disk.reported_held_bytes = peer->disk.held_bytes;

	for (unsigned i = 0; i < peer->n_devices; i++) {
		struct slu_peer_device *d = &peer->devices[i];
		struct slu_hello_device *h = &ret_hello->devices[i];

		slu_peer_want_fill(peer, i, &d->want);
		d->account.reported_held_bytes = d->account.held_bytes;
		*h = d->identity;
		h->epoch = d->epoch;
		h->gate_is_open = d->gate == SLU_PEER_GATE_OPEN;
		h->mode = (uint8_t)d->mode;
		h->held_bytes = d->account.held_bytes;
		h->floor_bytes = d->account.reported_floor_bytes = slu_peer_account_floor(peer, d);
		h->min_bytes = d->want.min_bytes;
		h->all_bytes = d->want.all_bytes;
		h->working_bytes = d->want.working_bytes;
		h->largest_bytes = d->want.largest_bytes;
		h->is_runnable = d->want.is_runnable;
	}
}

/* A part of what the turn gives, or nothing yet; the rest follows when others leave. */
static bool limit_is_partial(const struct slu_peer_account *a, const struct slu_msg_limit *limit)
{
	return limit->pace != SLU_PACE_NONE && limit->limit_bytes >= a->limit_bytes &&
	       limit->limit_bytes < limit->goal_bytes;
}

/* In an open turn a lowering also gives the goal of that turn. In LAUNCH the next one decides. */
static bool limit_is_of_turn(const struct slu_peer *peer, const struct slu_msg_limit *limit)
{
	const struct slu_peer_device *d = &peer->devices[limit->account.device];

	return limit->account.tier == SLU_TIER_DEVICE && d->mode != SLU_MODE_LAUNCH &&
	       slu_peer_turn_may_run(peer, d);
}

static void take_limit(struct slu_peer *peer, uint64_t now_ns, const struct slu_msg_limit *limit)
{
	struct slu_peer_account *a = slu_peer_account_find(peer, limit->account);
	struct slu_peer_device *d;

	if (!a)
		return;
	if (limit->account.tier == SLU_TIER_DEVICE && limit_is_partial(a, limit))
		peer->devices[limit->account.device].grows_until_ns =
			now_ns + SLU_PEER_GROWS_ANSWERS * peer->config.answer_ns;
	a->goal_is_past = limit->limit_bytes < a->limit_bytes && !limit_is_of_turn(peer, limit);
	a->seq = limit->seq;
	a->limit_bytes = limit->limit_bytes;
	a->goal_bytes = limit->goal_bytes;
	a->pace = (enum slu_pace)limit->pace;
	a->is_due = true;
	a->final_is_reported = false;

	switch (limit->account.tier) {
	case SLU_TIER_DEVICE:
		d = &peer->devices[limit->account.device];
		d->want_is_current = false;
		d->wake_is_due = true;
		if (limit->limit_bytes >= d->unfit_bytes)
			d->unfit_until_ns = 0;
		break;
	case SLU_TIER_PAGEABLE:
	case SLU_TIER_DISK:
		peer->backing_want_is_current = false;
		peer->backing_is_exact = false;
		peer->thaw_is_denied = false;
		slu_peer_alloc_thaw(peer);
		slu_peer_wake_all(peer);
		break;
	default:
		slu_peer_wake_all(peer);
		break;
	}
}

/*
 * Mode LAUNCH: a turn begins in the window that others did not take. If the window shrank since it
 * was last raised, it grows again, and the daemon is about to say by how much.
 */
static void window_expect_growth(const struct slu_peer *peer, uint64_t now_ns,
				 struct slu_peer_device *d)
{
	struct slu_peer_account *a = &d->account;
	uint64_t wished = slu_peer_want_window_bytes(d), n_answers = SLU_PEER_GROWS_ANSWERS;

	if (d->mode != SLU_MODE_LAUNCH)
		return;
	if (a->goal_is_past) {
		a->goal_bytes = SLU_MAX(wished, a->limit_bytes);
		a->goal_is_past = false;
		n_answers = 1;
	}
	if (SLU_MIN(wished, a->goal_bytes) > a->limit_bytes)
		d->grows_until_ns = now_ns + n_answers * peer->config.answer_ns;
}

static void take_turn(struct slu_peer *peer, uint64_t now_ns, const struct slu_msg_turn *turn)
{
	struct slu_peer_device *d;

	if (turn->device >= peer->n_devices)
		return;
	d = &peer->devices[turn->device];
	if (!slu_epoch_equal(d->epoch, turn->epoch)) {
		d->n_turns++;
		window_expect_growth(peer, now_ns, d);
		slu_peer_paging_expect(peer, now_ns, d);
	}
	d->epoch = turn->epoch;
	d->idle_is_reported = false;
	/* a call whose units have stayed may pass now (early.c) */
	d->wake_is_due = d->wake_is_due || d->is_wanted;
}

static void take_deny(struct slu_peer *peer, uint64_t now_ns, const struct slu_msg_deny *deny)
{
	struct slu_peer_device *d;
	struct slu_unit *u;

	if (deny->account.tier == SLU_TIER_PAGEABLE) {
		slu_peer_want_backing_denied(peer);
		return;
	}
	if (deny->account.tier != SLU_TIER_DEVICE || deny->account.device >= peer->n_devices)
		return;
	d = &peer->devices[deny->account.device];
	/* void if it crossed with the thing it denies; but the daemon should know the need */
	if (!slu_peer_want_is_unmet(peer, deny->account.device)) {
		d->want_is_due = true;
		return;
	}
	TAILQ_FOREACH (u, &peer->waiting_allocs, link)
		if (u->alloc_wait == SLU_ALLOC_WAIT_DEVICE && u->device == deny->account.device)
			u->denied = true;
	if (d->gate != SLU_PEER_GATE_OPEN || d->n_command)
		d->denied_until_ns = now_ns + SLU_PEER_DENIED_NS;
	d->unfit_bytes = d->want.min_bytes;
	if (deny->bytes && deny->bytes < d->unfit_bytes)
		d->unfit_bytes = deny->bytes + 1;
	d->unfit_until_ns = now_ns + SLU_PEER_UNFIT_NS;
	d->is_wanted = false;
	slu_peer_command_drop(peer, d);
	d->want_is_current = false;
	d->wake_is_due = true;
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_connection_receive(struct slu_peer *peer, uint64_t now_ns,
				 const struct slu_message *m)
{
	if (!peer->is_connected)
		return;
	switch (m->header.type) {
	case SLU_MSG_WELCOME:
		peer->welcome = m->welcome;
		peer->is_joined = m->welcome.status == 0;
		slu_peer_wake_all(peer);
		break;
	case SLU_MSG_LIMIT:
		take_limit(peer, now_ns, &m->limit);
		break;
	case SLU_MSG_TURN:
		take_turn(peer, now_ns, &m->turn);
		break;
	case SLU_MSG_CLOSE:
		if (m->close.device < peer->n_devices)
			slu_peer_turn_close(peer, now_ns, &m->close);
		break;
	case SLU_MSG_DENY:
		take_deny(peer, now_ns, &m->deny);
		break;
	default:
		break;
	}
}
