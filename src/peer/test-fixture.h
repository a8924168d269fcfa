/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A peer on a bench: the test says what the daemon, the program and the driver do, and looks at
 * what the peer wants done. Bytes are small numbers; time goes by when the test says so.
 */

#include "lib/test.h"

#include "base/util.h"
#include "peer/peer.h"

#define FIXTURE_UNITS_MAX    72
#define FIXTURE_MESSAGES_MAX 64
#define FIXTURE_RETRIES	     2
#define FIXTURE_PAUSE_NS     SLU_NS_PER_MS
#define FIXTURE_IDLE_NS	     (100 * SLU_NS_PER_MS)
#define FIXTURE_ANSWER_NS    (20 * SLU_NS_PER_MS)

struct fixture {
	struct slu_peer *peer;
	uint64_t now_ns;
	struct slu_unit units[FIXTURE_UNITS_MAX];
	unsigned n_units;

	/* what the last fixture_step() asked for */
	struct slu_message messages[FIXTURE_MESSAGES_MAX];
	unsigned n_messages;
	struct slu_unit *moves[2 * SLU_PEER_MOVES_MAX];
	unsigned n_moves;
	unsigned n_opened, n_started, n_shut, n_woken;
	struct slu_unit *shift; /* whose backing is to change; NULL: none */
	unsigned n_pages;
	struct slu_peer_page page; /* the last order */
};

#define EPOCH(n) ((struct slu_epoch){ 7, (n) })
#define DEVICE0	 ((struct slu_account){ SLU_TIER_DEVICE, 0 })
#define PINNED	 ((struct slu_account){ SLU_TIER_PINNED, 0 })
#define PAGEABLE ((struct slu_account){ SLU_TIER_PAGEABLE, 0 })
#define DISK	 ((struct slu_account){ SLU_TIER_DISK, 0 })

static inline void fixture_step(struct fixture *f)
{
	struct slu_peer_action a;

	f->n_messages = f->n_moves = f->n_opened = f->n_started = f->n_shut = f->n_woken = 0;
	f->n_pages = 0;
	f->shift = NULL;
	slu_peer_step(f->peer, f->now_ns);
	while (slu_peer_take_action(f->peer, &a) > 0) {
		switch (a.kind) {
		case SLU_PEER_SEND:
			assert_null(slu_message_fault(
				&a.message, sizeof(a.message.header) + a.message.header.size,
				SLU_MESSAGE_FROM_CLIENT));
			f->messages[f->n_messages++] = a.message;
			break;
		case SLU_PEER_MOVE:
			f->moves[f->n_moves++] = a.unit;
			break;
		case SLU_PEER_SHIFT:
			f->shift = a.unit;
			break;
		case SLU_PEER_OPEN:
			f->n_opened++;
			break;
		case SLU_PEER_START:
			f->n_started++;
			break;
		case SLU_PEER_SHUT:
			f->n_shut++;
			break;
		case SLU_PEER_WAKE:
			f->n_woken++;
			break;
		case SLU_PEER_PAGE:
			f->n_pages++;
			f->page = a.page;
			break;
		}
	}
	slu_peer_check(f->peer);
}

/* The @nth message of @type in the last step, or NULL. */
static inline const struct slu_message *fixture_said_nth(const struct fixture *f,
							 enum slu_message_type type, unsigned nth)
{
	for (unsigned i = 0; i < f->n_messages; i++)
		if (f->messages[i].header.type == type && nth-- == 0)
			return &f->messages[i];
	return NULL;
}

static inline const struct slu_message *fixture_said(const struct fixture *f,
						     enum slu_message_type type)
{
	return fixture_said_nth(f, type, 0);
}

/* The SUMS of @account in the last step, or NULL. */
static inline const struct slu_msg_sums *fixture_sums(const struct fixture *f,
						      struct slu_account account)
{
	for (unsigned i = 0; i < f->n_messages; i++) {
		const struct slu_msg_sums *s = &f->messages[i].sums;

		if (f->messages[i].header.type == SLU_MSG_SUMS && s->account.tier == account.tier &&
		    s->account.device == account.device)
			return s;
	}
	return NULL;
}

static inline void fixture_hear(struct fixture *f, enum slu_message_type type,
				struct slu_message *m)
{
	slu_message_stamp(m, type);
	slu_peer_connection_receive(f->peer, f->now_ns, m);
}

static inline void fixture_limit(struct fixture *f, struct slu_account account, uint64_t seq,
				 uint64_t limit, uint64_t goal, enum slu_pace pace)
{
	struct slu_message m = { .limit = { .account = account,
					    .pace = (uint8_t)pace,
					    .seq = seq,
					    .limit_bytes = limit,
					    .goal_bytes = goal } };

	fixture_hear(f, SLU_MSG_LIMIT, &m);
	fixture_step(f);
}

static inline void fixture_turn(struct fixture *f, struct slu_epoch epoch)
{
	struct slu_message m = { .turn = { .epoch = epoch } };

	fixture_hear(f, SLU_MSG_TURN, &m);
	fixture_step(f);
}

static inline void fixture_close(struct fixture *f, struct slu_epoch epoch)
{
	struct slu_message m = { .close = { .epoch = epoch } };

	fixture_hear(f, SLU_MSG_CLOSE, &m);
	fixture_step(f);
}

static inline void fixture_deny(struct fixture *f, struct slu_account account)
{
	struct slu_message m = { .deny = { .account = account } };

	fixture_hear(f, SLU_MSG_DENY, &m);
	fixture_step(f);
}

static inline void fixture_welcome(struct fixture *f, uint64_t visible_bytes)
{
	struct slu_message m = { .welcome = { .version = SLU_WIRE_VERSION,
					      .generation = 7,
					      .visible_bytes = visible_bytes,
					      .allow_mapped = 1 } };

	fixture_hear(f, SLU_MSG_WELCOME, &m);
	fixture_step(f);
}

static inline void fixture_moved(struct fixture *f, struct slu_unit *u, enum slu_move_result result)
{
	slu_peer_move_done(f->peer, f->now_ns, u, result);
	fixture_step(f);
}

static inline void fixture_drained(struct fixture *f, bool blocked)
{
	slu_peer_turn_drained(f->peer, f->now_ns, 0, blocked);
	fixture_step(f);
}

static inline void fixture_wait(struct fixture *f, uint64_t ns)
{
	f->now_ns += ns;
	fixture_step(f);
}

static inline struct slu_unit *fixture_unit(struct fixture *f, uint64_t bytes)
{
	struct slu_unit *u = &f->units[f->n_units++];

	assert_true(f->n_units <= FIXTURE_UNITS_MAX);
	*u = (struct slu_unit){ .bytes = bytes };
	return u;
}

/* A unit allocated off turn, in RAM. */
static inline struct slu_unit *fixture_in_ram(struct fixture *f, uint64_t bytes)
{
	struct slu_unit *u = fixture_unit(f, bytes);

	assert_int_equal(slu_peer_alloc(f->peer, f->now_ns, u), SLU_PEER_E_IN_RAM);
	fixture_step(f);
	return u;
}

/* A unit allocated in a turn, with credit: the driver makes it. */
static inline struct slu_unit *fixture_on_device(struct fixture *f, uint64_t bytes)
{
	struct slu_unit *u = fixture_unit(f, bytes);

	assert_int_equal(slu_peer_alloc(f->peer, f->now_ns, u), 0);
	fixture_step(f);
	return u;
}

static inline uint64_t fixture_held(const struct fixture *f, struct slu_account account)
{
	struct slu_peer_account_view view;

	slu_peer_view_account(f->peer, account, &view);
	return view.held_bytes;
}

/* A peer with one device, joined, with credit for @backing bytes of host memory. */
static inline void fixture_init(struct fixture *f, enum slu_mode mode, uint64_t backing)
{
	struct slu_peer_config config = {
		.program = "fixture",
		.group = 3,
		.refusal_retries = FIXTURE_RETRIES,
		.refusal_pause_ns = FIXTURE_PAUSE_NS,
		.idle_ns = FIXTURE_IDLE_NS,
		.answer_ns = FIXTURE_ANSWER_NS,
	};
	struct slu_hello_device identity = {
		.name = "device",
		.total_bytes = 100,
		.pins_copies = 1,
	};

	memset(f, 0, sizeof(*f));
	f->now_ns = SLU_NS_PER_S;
	assert_int_equal(slu_peer_new(&config, &f->peer), 0);
	assert_int_equal(slu_peer_device_add(f->peer, &identity, mode), 0);
	slu_peer_connection_made(f->peer, f->now_ns);
	fixture_step(f);
	assert_non_null(fixture_said(f, SLU_MSG_HELLO));
	fixture_welcome(f, 0);
	if (backing)
		fixture_limit(f, PAGEABLE, 1, backing, backing, SLU_PACE_NONE);
}

/* Everything that is left goes, whatever it was doing. */
static inline void fixture_deinit(struct fixture *f)
{
	for (unsigned i = 0; i < f->n_units; i++) {
		struct slu_unit *u = &f->units[i];

		slu_peer_alloc_cancel(f->peer, f->now_ns, u);
		if (u->moving != SLU_MOVING_NO)
			slu_peer_move_done(f->peer, f->now_ns, u, SLU_MOVE_CANCELLED);
	}
	while (!TAILQ_EMPTY(slu_peer_view_units(f->peer, 0)))
		slu_peer_alloc_released(f->peer, f->now_ns,
					TAILQ_FIRST(slu_peer_view_units(f->peer, 0)));
	assert_int_equal(fixture_held(f, DEVICE0), 0);
	assert_int_equal(fixture_held(f, PAGEABLE), 0);
	slu_peer_free(f->peer);
}

/* Brings in whatever the peer wants in, until it wants nothing more. */
static inline void fixture_finish_moves(struct fixture *f)
{
	unsigned i = 0;

	while (i < f->n_units) {
		if (f->units[i].moving == SLU_MOVING_NO) {
			i++;
			continue;
		}
		fixture_moved(f, &f->units[i], SLU_MOVE_DONE);
		i = 0; /* the unit that it leaves for may be before it */
	}
}

/* Mode LAUNCH: a command that names @units is served and submitted. */
static inline int fixture_command(struct fixture *f, struct slu_unit *const *units, size_t n)
{
	int r = slu_peer_command_name(f->peer, f->now_ns, 0, units, n);

	if (r == SLU_PEER_E_WAIT) {
		fixture_step(f);
		fixture_finish_moves(f);
		r = slu_peer_command_name(f->peer, f->now_ns, 0, units, n);
	}
	if (r == 0)
		slu_peer_command_unname(f->peer, units, n);
	fixture_step(f);
	return r;
}

/* A program with units of the given sizes, in its turn, with the gate open and no slack. */
static inline void fixture_running(struct fixture *f, enum slu_mode mode, const uint64_t *sizes,
				   unsigned n)
{
	uint64_t all = 0;

	fixture_init(f, mode, 1000);
	for (unsigned i = 0; i < n; i++) {
		fixture_in_ram(f, sizes[i]);
		all += sizes[i];
	}
	fixture_turn(f, EPOCH(1));
	fixture_limit(f, DEVICE0, 1, all, all, SLU_PACE_NOW);
	fixture_finish_moves(f);
	assert_true(slu_peer_view_gate_is_open(f->peer, 0));
}
