/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A daemon inside the process, for tests: SLUICE_TORTURE=1, or SLUICE_TORTURE=disk, where no unit
 * has its backing in memory and nothing is predicted, so that all units are compared. It gives each
 * device a turn, takes it away behind the first call that goes through, has every byte moved out,
 * and only then gives the next turn. So every unit leaves and comes back between two calls of the
 * program, by the same code as with a real daemon.
 *
 * With SLUICE_TORTURE=early a call whose units are known goes through as soon as these are present,
 * and the turn is taken away while other units come in.
 *
 *   GIVEN   -> TAKEN    [slu_torture_turn]              CLOSE
 *   TAKEN   -> EMPTYING [REST]                          LIMIT down to nothing
 *   EMPTYING -> GIVEN   [SUMS: nothing more can leave]  LIMIT up, TURN
 *
 * A LIMIT is sent only when the one before it was answered. A driver that refuses memory in a turn
 * is asked again some times, because bytes that left may be free a moment later; then the waiting
 * call is denied, because no other program could free memory.
 */

#include <stdlib.h>
#include <string.h>

#include "client/instance.h"
#include "client/torture.h"

#define N_QUEUED_MAX 64
#define PLENTY	     (UINT64_C(1) << 60)
#define DISK_FOLDER  "/var/tmp"
#define TRIES_MAX    3

enum state { GIVEN, TAKEN, EMPTYING };

struct slu_torture {
	bool on_disk;
	uint8_t predict; /* enum slu_predicting */
	unsigned n_devices;
	enum state states[SLU_WIRE_DEVICES_MAX];
	uint64_t counters[SLU_WIRE_DEVICES_MAX]; /* of epochs */
	uint64_t seqs[SLU_WIRE_DEVICES_MAX];
	unsigned n_refusals[SLU_WIRE_DEVICES_MAX]; /* since the gate was open */
	struct slu_message queue[N_QUEUED_MAX];
	unsigned first, n_queued;
};

struct slu_torture *slu_torture_new(const char *how)
{
	struct slu_torture *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->on_disk = !strcmp(how, "disk");
	t->predict = SLU_PREDICTING_WRITES;
	if (t->on_disk)
		t->predict = SLU_PREDICTING_OFF;
	else if (!strcmp(how, "early"))
		t->predict = SLU_PREDICTING_EARLY;
	return t;
}

static struct slu_message *torture_push(struct slu_torture *t, enum slu_message_type type)
{
	struct slu_message *m = &t->queue[(t->first + t->n_queued++) % N_QUEUED_MAX];

	assert(t->n_queued <= N_QUEUED_MAX);
	memset(m, 0, sizeof(*m));
	slu_message_stamp(m, type);
	return m;
}

static void torture_limit(struct slu_torture *t, enum slu_tier tier, unsigned device,
			  uint64_t bytes)
{
	struct slu_message *m = torture_push(t, SLU_MSG_LIMIT);

	m->limit = (struct slu_msg_limit){
		.account = { (uint8_t)tier, (uint8_t)device },
		.pace = bytes ? SLU_PACE_NOW : SLU_PACE_NONE,
		.seq = ++t->seqs[device],
		.limit_bytes = bytes,
		.goal_bytes = bytes,
	};
}

static struct slu_epoch epoch_of(const struct slu_torture *t, unsigned device)
{
	return (struct slu_epoch){ .generation = 1, .counter = t->counters[device] };
}

static void torture_give(struct slu_torture *t, unsigned device)
{
	struct slu_message *m;

	torture_limit(t, SLU_TIER_DEVICE, device, PLENTY);
	t->counters[device]++;
	t->states[device] = GIVEN;
	m = torture_push(t, SLU_MSG_TURN);
	m->turn = (struct slu_msg_turn){ .device = (uint8_t)device, .epoch = epoch_of(t, device) };
}

static void torture_welcome(struct slu_torture *t, const struct slu_msg_hello *hello)
{
	struct slu_message *m = torture_push(t, SLU_MSG_WELCOME);

	m->welcome = (struct slu_msg_welcome){
		.version = SLU_WIRE_VERSION,
		.generation = 1,
		.checksum_moves = 1,
		.hash_clean = SLU_HASHING_ALWAYS,
		.predict = t->predict,
	};
	t->n_devices = hello->n_devices;
	if (t->on_disk)
		strcpy(torture_push(t, SLU_MSG_DISK)->disk.folder, DISK_FOLDER);
	torture_limit(t, t->on_disk ? SLU_TIER_DISK : SLU_TIER_PAGEABLE, 0, PLENTY);
	torture_limit(t, SLU_TIER_PINNED, 0, PLENTY);
	for (unsigned d = 0; d < t->n_devices; d++)
		torture_give(t, d);
}

/* The client gave up its credit: it gets that again, so that more calls may succeed later. */
static void torture_refused(struct slu_torture *t, const struct slu_account *account)
{
	unsigned d = account->device;

	if (++t->n_refusals[d] > TRIES_MAX) {
		t->n_refusals[d] = 0;
		torture_push(t, SLU_MSG_DENY)->deny.account = *account;
	}
	torture_limit(t, SLU_TIER_DEVICE, d, PLENTY);
}

void slu_torture_say(struct slu_torture *t, const struct slu_message *m)
{
	unsigned d;

	switch (m->header.type) {
	case SLU_MSG_HELLO:
		torture_welcome(t, &m->hello);
		break;
	case SLU_MSG_WANT: /* more than plenty, or there is no disk: it will not come */
		if (m->want.account.tier == SLU_TIER_PAGEABLE)
			torture_push(t, SLU_MSG_DENY)->deny.account = m->want.account;
		break;
	case SLU_MSG_REST:
		d = m->rest.device;
		if (t->states[d] != TAKEN || m->rest.epoch.counter != t->counters[d])
			break;
		t->states[d] = EMPTYING;
		torture_limit(t, SLU_TIER_DEVICE, d, 0);
		break;
	case SLU_MSG_SUMS:
		d = m->sums.account.device;
		if (m->sums.account.tier != SLU_TIER_DEVICE || m->sums.seq != t->seqs[d])
			break;
		if (t->states[d] == EMPTYING && (m->sums.held_bytes == 0 || m->sums.is_final))
			torture_give(t, d);
		else if (t->states[d] == GIVEN && m->sums.refused_bytes)
			torture_refused(t, &m->sums.account);
		break;
	case SLU_MSG_READY:
		t->n_refusals[m->turn.device] = 0;
		break;
	default:
		break;
	}
}

void slu_torture_turn(struct slu_torture *t, unsigned d)
{
	struct slu_message *m;

	if (t->states[d] != GIVEN)
		return;
	t->states[d] = TAKEN;
	m = torture_push(t, SLU_MSG_CLOSE);
	m->close = (struct slu_msg_close){ .device = (uint8_t)d, .epoch = epoch_of(t, d) };
}

int slu_torture_take(struct slu_torture *t, struct slu_message *ret_message)
{
	if (!t->n_queued)
		return 0;
	*ret_message = t->queue[t->first];
	t->first = (t->first + 1) % N_QUEUED_MAX;
	t->n_queued--;
	return 1;
}
