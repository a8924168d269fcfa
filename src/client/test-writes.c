/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Calls that tell what they write, in mode ALL under torture: between two calls everything leaves
 * the device. What no call told stays clean, as long as each call of the turn vouches.
 */

#include "lib/test.h"

#include "client/test-thing.h"

enum { N = 5, ROUNDS = 20 };

static struct slu_client_device *d;
static struct thing things[N];

/* All of them filled, and with a host copy. */
static void begin(bool is_watched)
{
	setenv("SLUICE_TORTURE", "1", 0);
	d = add(SLU_MODE_ALL, N * KIB_UNIT);
	for (unsigned i = 0; i < N; i++) {
		thing_new(d, &things[i], KIB_UNIT);
		if (is_watched)
			slu_client_unit_watch(things[i].unit);
		thing_write(d, &things[i], (unsigned char)i);
	}
	for (unsigned i = 0; i < N; i++)
		thing_check(d, &things[i]);
}

static void end(void)
{
	for (unsigned i = 0; i < N; i++) {
		thing_check(d, &things[i]);
		slu_client_unit_free(things[i].unit);
	}
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

/* What a call says about its writes. */
enum tells { TELLS, TELLS_NOTHING, NESTS };

/* A call that writes @t, or reads it where @pattern is -1. */
static void call(struct thing *t, int pattern, enum tells tells)
{
	unsigned index = slu_client_device_index(d);

	assert(slu_client_enter(d, index) == 0);
	if (slu_gate_wants_writes(index) && tells != TELLS_NOTHING) {
		if (pattern >= 0)
			slu_client_unit_write(t->unit);
		slu_gate_vouch();
	}
	if (tells == NESTS) {
		assert(slu_client_enter(d, index) == 0);
		slu_client_leave();
	}
	if (pattern >= 0) {
		memset(slu_test_object_bytes(&t->object), pattern, t->unit->bytes);
		t->pattern = (unsigned char)pattern;
	}
	assert(slu_test_object_bytes(&t->object)[0] == t->pattern);
	slu_client_leave();
}

/* Bytes that went out while each round wrote one unit and read all. */
static uint64_t rounds(enum tells tells)
{
	struct slu_client_counts before;

	/* what was written before goes out */
	call(&things[1], -1, tells);
	call(&things[1], -1, tells);
	before = counts();
	for (int round = 0; round < ROUNDS; round++) {
		call(&things[0], 100 + round, tells);
		for (unsigned i = 0; i < N; i++)
			call(&things[i], -1, tells);
	}
	assert(counts().moved_in_bytes - before.moved_in_bytes >= ROUNDS * N * KIB_UNIT);
	return counts().moved_out_bytes - before.moved_out_bytes;
}

static void told(void)
{
	begin(true);
	assert(rounds(TELLS) <= ROUNDS * KIB_UNIT);
	end();
}

static void audited(void)
{
	setenv("SLUICE_TORTURE", "audit", 1);
	begin(true);
	assert(rounds(TELLS) > ROUNDS * KIB_UNIT); /* the first ones are copied */
	assert(slu_client_global.audit.n_passed >= SLU_CLIENT_AUDITS);
	assert(rounds(TELLS) <= ROUNDS * KIB_UNIT);
	end();
}

static void the_first_units_that_no_call_wrote_are_copied_and_compared(void **state)
{
	run_apart(audited);
}

static void what_no_call_wrote_is_not_copied_out(void **state)
{
	run_apart(told);
}

/* A call that writes another unit than it tells. */
static void lie(struct thing *t, int pattern)
{
	unsigned index = slu_client_device_index(d);

	assert(slu_client_enter(d, index) == 0);
	if (slu_gate_wants_writes(index))
		slu_gate_vouch();
	memset(slu_test_object_bytes(&t->object), pattern, t->unit->bytes);
	t->pattern = (unsigned char)pattern;
	slu_client_leave();
}

static void lied(void)
{
	setenv("SLUICE_TORTURE", "audit", 1);
	begin(true);
	for (int round = 0; round < ROUNDS; round++) {
		lie(&things[round % N], 50 + round);
		for (unsigned i = 0; i < N; i++)
			call(&things[i], -1, TELLS);
	}
	assert(slu_client_global.audit.has_failed);
	assert(rounds(TELLS) >= ROUNDS * N * KIB_UNIT);
	end();
}

static void a_program_that_writes_past_its_calls_is_found_out(void **state)
{
	run_apart(lied);
}

static void not_told(void)
{
	begin(true);
	assert(rounds(TELLS_NOTHING) >= ROUNDS * N * KIB_UNIT);
	end();
}

static void a_call_that_does_not_vouch_may_write_everything(void **state)
{
	run_apart(not_told);
}

static void nested(void)
{
	begin(true);
	assert(rounds(NESTS) >= ROUNDS * N * KIB_UNIT);
	end();
}

static void a_call_inside_another_that_does_not_vouch_counts(void **state)
{
	run_apart(nested);
}

static void unwatched(void)
{
	begin(false);
	assert(rounds(TELLS) >= ROUNDS * N * KIB_UNIT);
	end();
}

static void a_unit_that_is_not_watched_may_be_written_by_each_call(void **state)
{
	run_apart(unwatched);
}

static void past(void)
{
	struct slu_client_counts before;

	begin(true);
	rounds(TELLS);
	before = counts();
	assert(slu_client_enter(d, slu_client_device_index(d)) == 0);
	slu_gate_vouch();
	slu_gate_unvouch();
	memset(slu_test_object_bytes(&things[2].object), 200, KIB_UNIT);
	things[2].pattern = 200;
	slu_client_leave();
	call(&things[1], -1, TELLS);
	call(&things[1], -1, TELLS);
	assert(counts().moved_out_bytes - before.moved_out_bytes >= N * KIB_UNIT);
	end();
}

static void a_call_past_the_gate_may_write_everything(void **state)
{
	run_apart(past);
}

static void fresh(void)
{
	struct thing t;

	begin(true);
	rounds(TELLS);
	slu_client_unit_free(things[4].unit);
	thing_new(d, &t, KIB_UNIT);
	slu_client_unit_watch(t.unit);
	/* work that was queued before the allocation fills it, and the next call vouches */
	assert(slu_client_enter(d, slu_client_device_index(d)) == 0);
	slu_gate_vouch();
	memset(slu_test_object_bytes(&t.object), 77, KIB_UNIT);
	t.pattern = 77;
	slu_client_leave();
	thing_check(d, &t);
	slu_client_unit_free(t.unit);
	thing_new(d, &things[4], KIB_UNIT);
	thing_write(d, &things[4], 4);
	end();
}

static void a_unit_without_a_host_copy_is_never_taken_for_clean(void **state)
{
	run_apart(fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_no_call_wrote_is_not_copied_out),
		cmocka_unit_test(the_first_units_that_no_call_wrote_are_copied_and_compared),
		cmocka_unit_test(a_program_that_writes_past_its_calls_is_found_out),
		cmocka_unit_test(a_call_that_does_not_vouch_may_write_everything),
		cmocka_unit_test(a_call_inside_another_that_does_not_vouch_counts),
		cmocka_unit_test(a_unit_that_is_not_watched_may_be_written_by_each_call),
		cmocka_unit_test(a_call_past_the_gate_may_write_everything),
		cmocka_unit_test(a_unit_without_a_host_copy_is_never_taken_for_clean),
	};

	return cmocka_run_group_tests_name("writes", tests, NULL, NULL);
}
