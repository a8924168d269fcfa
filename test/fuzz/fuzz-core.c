/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients may say once they have joined: the input is a script of messages, deaths, lost
 * connections, outsiders, settings and time, for four clients in two groups on two devices.
 * Whatever they claim, the core's invariants hold after each step, and its deadline is not in the
 * past.
 *
 * Amounts are bytes of the input in MiB; 255 is far too much. An epoch or a sequence number is the
 * present one, unless the input asks for another: so scripts get far without knowing any.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "core/core.h"
#include "core/sched/policy.h"
#include "seed.h"

#define N_CLIENTS   4
#define N_DEVICES   2
#define DEVICE_MIB  100
#define RESERVE_MIB 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct script {
	const uint8_t *at, *end;
	struct slu_core *core;
	struct slu_core_config config;
	uint64_t now_ns;
	struct slu_epoch epochs[N_CLIENTS][N_DEVICES];
	uint64_t seqs[N_CLIENTS][N_DEVICES + _SLU_TIER_MAX - 1]; /* of each account's last LIMIT */
};

enum op { HELLO, SUMS, WANT, READY, IDLE, REST, EVENT, PASS };
enum event { LOST, DEAD, PARK, UNPARK, OUTSIDERS, CONFIGURE };

static unsigned next(struct script *s)
{
	return s->at < s->end ? *s->at++ : 0;
}

static uint64_t amount(struct script *s)
{
	unsigned mib = next(s);

	return mib == 255 ? UINT64_MAX / 3 : (uint64_t)mib << 20;
}

static unsigned slot(struct slu_account account)
{
	return account.tier == SLU_TIER_DEVICE ? account.device : N_DEVICES + account.tier - 1u;
}

/* A tier in the low bits, a device in the next one. */
static struct slu_account account(unsigned byte)
{
	return (struct slu_account){ .tier = (uint8_t)(byte % _SLU_TIER_MAX),
				     .device = (uint8_t)(byte / 4 % N_DEVICES) };
}

static void hello(struct script *s, unsigned client)
{
	struct slu_msg_hello hello = { .version = SLU_WIRE_VERSION, .n_devices = N_DEVICES };
	struct slu_core_join join = {
		.client = client + 1,
		.group = 1 + client / 2,
		.name = "fuzz",
		.hello = &hello,
	};

	for (unsigned d = 0; d < N_DEVICES; d++) {
		struct slu_hello_device *device = &hello.devices[d];
		unsigned flags = next(s);

		join.devices[d] = d;
		device->total_bytes = (uint64_t)DEVICE_MIB << 20;
		device->mode = (uint8_t)(flags % _SLU_MODE_MAX);
		device->is_runnable = flags >> 2 & 1;
		device->gate_is_open = flags >> 3 & 1;
		device->held_bytes = SLU_MIN(amount(s), device->total_bytes);
		device->all_bytes = amount(s);
		device->min_bytes = amount(s);
		device->largest_bytes = (uint64_t)1 << 20;
		if (flags >> 4 & 1)
			device->epoch = (struct slu_epoch){ 1, 1 + (flags >> 5) };
		s->epochs[client][d] = device->epoch;
	}
	memset(s->seqs[client], 0, sizeof(s->seqs[client]));
	assert(slu_core_hello(s->core, s->now_ns, &join) == 0);
}

static void sums(struct script *s, unsigned client, struct slu_message *m)
{
	unsigned flags = next(s);

	m->sums.account = account(flags);
	m->sums.seq = s->seqs[client][slot(m->sums.account)] - (flags >> 3 & 1);
	m->sums.is_final = flags >> 4 & 1;
	m->sums.held_bytes = amount(s);
	m->sums.ceiling_bytes = flags >> 5 & 1 ? amount(s) : m->sums.held_bytes;
	m->sums.floor_bytes = flags >> 6 & 1 ? SLU_MIN(amount(s), m->sums.held_bytes) : 0;
	m->sums.refused_bytes = flags >> 7 & 1 ? amount(s) : 0;
	slu_message_stamp(m, SLU_MSG_SUMS);
}

static void want(struct script *s, struct slu_message *m)
{
	unsigned flags = next(s);

	m->want.account = account(flags);
	m->want.is_runnable = flags >> 3 & 1;
	m->want.all_bytes = amount(s);
	m->want.min_bytes = flags >> 4 & 1 ? amount(s) : m->want.all_bytes;
	m->want.working_bytes = flags >> 5 & 1 ? amount(s) : 0;
	m->want.largest_bytes = flags >> 6 & 1 ? amount(s) : (uint64_t)1 << 20;
	slu_message_stamp(m, SLU_MSG_WANT);
}

static void turn(struct script *s, unsigned client, enum op op, struct slu_message *m)
{
	unsigned flags = next(s), device = flags % N_DEVICES;
	struct slu_epoch epoch = s->epochs[client][device];

	epoch.counter += flags >> 1 & 1;
	if (op != REST) {
		m->turn.device = (uint8_t)device;
		m->turn.epoch = epoch;
		slu_message_stamp(m, op == READY ? SLU_MSG_READY : SLU_MSG_IDLE);
		return;
	}
	m->rest.device = (uint8_t)device;
	m->rest.epoch = epoch;
	m->rest.is_runnable = flags >> 2 & 1;
	m->rest.floor_bytes = flags >> 3 & 1 ? amount(s) : 0;
	slu_message_stamp(m, SLU_MSG_REST);
}

static void event(struct script *s, unsigned client)
{
	unsigned what = next(s);

	switch (what % 8) {
	case LOST:
		slu_core_lost(s->core, s->now_ns, client + 1);
		break;
	case DEAD:
		slu_core_dead(s->core, s->now_ns, client + 1);
		break;
	case PARK:
	case UNPARK:
		(void)slu_core_park(s->core, s->now_ns, 1 + client / 2, what % 8 == PARK);
		break;
	case OUTSIDERS:
		slu_core_outsiders(s->core, s->now_ns, client % N_DEVICES, amount(s));
		break;
	case CONFIGURE:
		s->config.policy = slu_core_policy_at(next(s) % 3)->name;
		s->config.levels = 1 + next(s) % 16;
		assert(slu_core_configure(s->core, s->now_ns, &s->config) == 0);
		break;
	default:
		break;
	}
}

/* Steps, and notes what a client would know afterwards. */
static void step(struct script *s)
{
	struct slu_core_action action;
	int r;

	slu_core_step(s->core, s->now_ns);
	while ((r = slu_core_take_action(s->core, &action)) > 0) {
		const struct slu_message *m = &action.message;
		uint64_t client = action.client - 1;

		if (action.kind != SLU_CORE_SEND)
			continue;
		assert(client < N_CLIENTS);
		assert(!slu_message_fault(m, sizeof(m->header) + m->header.size,
					  SLU_MESSAGE_FROM_DAEMON));
		if (m->header.type == SLU_MSG_LIMIT)
			s->seqs[client][slot(m->limit.account)] = m->limit.seq;
		else if (m->header.type == SLU_MSG_TURN)
			s->epochs[client][m->turn.device] = m->turn.epoch;
	}
	assert(!r);
	slu_core_check(s->core);
}

static void pass(struct script *s)
{
	static const uint64_t spans_ms[] = { 1, 10, 100, 1000, 10000 };
	uint64_t end = s->now_ns + spans_ms[next(s) % SLU_ARRAY_SIZE(spans_ms)] * SLU_NS_PER_MS;
	unsigned n_at_once = 0;

	while (slu_core_deadline_ns(s->core) <= end) {
		uint64_t due = slu_core_deadline_ns(s->core);

		/* a deadline that has come must not be asked for again and again */
		n_at_once = due > s->now_ns ? 0 : n_at_once + 1;
		assert(n_at_once < 16);
		s->now_ns = SLU_MAX(s->now_ns, due);
		step(s);
	}
	s->now_ns = end;
}

static void play(struct script *s)
{
	unsigned byte = next(s), client = byte >> 3 & (N_CLIENTS - 1);
	struct slu_message m = {};

	switch ((enum op)(byte % 8)) {
	case HELLO:
		hello(s, client);
		break;
	case SUMS:
		sums(s, client, &m);
		break;
	case WANT:
		want(s, &m);
		break;
	case READY:
	case IDLE:
	case REST:
		turn(s, client, (enum op)(byte % 8), &m);
		break;
	case EVENT:
		event(s, client);
		break;
	case PASS:
		pass(s);
		break;
	}
	if (m.header.type &&
	    !slu_message_fault(&m, sizeof(m.header) + m.header.size, SLU_MESSAGE_FROM_CLIENT))
		(void)slu_core_message(s->core, s->now_ns, client + 1, &m);
	step(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script s = { .at = data, .end = data + size, .now_ns = SLU_NS_PER_S };

	slu_core_config_default(&s.config);
	s.config.backing_bytes = UINT64_C(200) << 20;
	s.config.pinned_bytes = UINT64_C(40) << 20;
	s.config.staging_bytes = UINT64_C(4) << 20;
	assert(slu_core_new(&s.config, s.now_ns, &s.core) == 0);
	for (unsigned d = 0; d < N_DEVICES; d++)
		assert(slu_core_device_add(s.core, s.now_ns, "GPU", (uint64_t)DEVICE_MIB << 20,
					   (uint64_t)RESERVE_MIB << 20) == (int)d);
	while (s.at < s.end)
		play(&s);
	for (unsigned client = 0; client < N_CLIENTS; client++)
		slu_core_dead(s.core, s.now_ns, client + 1);
	step(&s);
	slu_core_free(s.core);
	return 0;
}

/* The numbers of clients are in the fourth and fifth bit, see play(). */
#define OP(op, client) ((op) | (client) << 3)

/* Long: tables of operations, one byte a line. */
size_t slu_fuzz_seed(unsigned number, uint8_t *ret_data, size_t size)
{
	static const uint8_t
		/* joins with 20 MiB of 60, wants, fills, opens, idles, rests, dies */
		life[] = { OP(HELLO, 0),
			   0,
			   20,
			   60,
			   60,
			   0,
			   0,
			   0,
			   0,
			   OP(WANT, 0),
			   8,
			   60,
			   OP(PASS, 0),
			   1,
			   OP(SUMS, 0),
			   0,
			   60,
			   OP(READY, 0),
			   0,
			   OP(PASS, 0),
			   2,
			   OP(IDLE, 0),
			   0,
			   OP(REST, 0),
			   0,
			   OP(EVENT, 0),
			   DEAD },
		/* two groups that exclude each other take turns; one is refused by the driver */
		pair[] = { OP(HELLO, 0),
			   4,
			   0,
			   60,
			   60,
			   0,
			   0,
			   0,
			   0,
			   OP(HELLO, 2),
			   4,
			   0,
			   60,
			   60,
			   0,
			   0,
			   0,
			   0,
			   OP(PASS, 0),
			   1,
			   OP(SUMS, 0),
			   0,
			   60,
			   OP(READY, 0),
			   0,
			   OP(PASS, 0),
			   3,
			   OP(PASS, 0),
			   3,
			   OP(REST, 0),
			   4,
			   OP(SUMS, 0),
			   0,
			   40,
			   OP(SUMS, 2),
			   128,
			   30,
			   30,
			   OP(PASS, 0),
			   3,
			   OP(SUMS, 2),
			   0,
			   60,
			   OP(READY, 2),
			   0 },
		/* LAUNCH and MAPPED, lost and back with an epoch, parked, an outsider, a new policy
		 */
		rest[] = { OP(HELLO, 1),
			   6,
			   10,
			   80,
			   20,
			   1,
			   0,
			   30,
			   30,
			   OP(WANT, 1),
			   56,
			   80,
			   20,
			   40,
			   OP(EVENT, 1),
			   LOST,
			   OP(PASS, 0),
			   2,
			   OP(HELLO, 1),
			   30,
			   10,
			   80,
			   20,
			   1,
			   0,
			   30,
			   30,
			   OP(EVENT, 1),
			   PARK,
			   OP(PASS, 0),
			   4,
			   OP(EVENT, 1),
			   UNPARK,
			   OP(EVENT, 0),
			   OUTSIDERS,
			   50,
			   OP(EVENT, 0),
			   CONFIGURE,
			   2,
			   3,
			   OP(PASS, 0),
			   4 },
		/* claims beyond all bounds */
		lies[] = { OP(HELLO, 0), 4,   255, 255,		255, 4,	  255,	       255, 255,
			   OP(WANT, 0),	 120, 255, 255,		255, 255, OP(SUMS, 0), 224, 255,
			   255,		 255, 255, OP(SUMS, 0), 1,   255, OP(SUMS, 0), 2,   255,
			   OP(REST, 0),	 15,  255, OP(PASS, 0), 4 };
	static const struct {
		const uint8_t *data;
		size_t size;
	} seeds[] = {
		{ life, sizeof(life) },
		{ pair, sizeof(pair) },
		{ rest, sizeof(rest) },
		{ lies, sizeof(lies) },
	};

	if (number >= SLU_ARRAY_SIZE(seeds) || seeds[number].size > size)
		return 0;
	memcpy(ret_data, seeds[number].data, seeds[number].size);
	return seeds[number].size;
}
