/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Units that die and live again, under torture: between two calls everything leaves the device. A
 * dead unit is not copied either way, and a living one keeps its contents whatever died before.
 */

#include "lib/test.h"

#include "client/test-thing.h"

enum { N = 6, STEPS = 3000 };

static struct slu_client_device *d;
static struct thing things[N];
static struct slu_unit *frozen; /* it is no object of the device */

static void begin(void)
{
	setenv("SLUICE_TORTURE", "1", 0);
	d = add(SLU_MODE_ALL, N * KIB_UNIT);
	assert(slu_client_unit_new(d, KIB_UNIT, SLU_FROZEN_POOL, NULL, &frozen) == 0);
	for (unsigned i = 0; i < N; i++) {
		thing_new(d, &things[i], KIB_UNIT);
		thing_write(d, &things[i], (unsigned char)i);
	}
}

static void end(void)
{
	slu_client_unit_free(frozen);
	for (unsigned i = 0; i < N; i++)
		slu_client_unit_free(things[i].unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void living_check(void)
{
	for (unsigned i = 0; i < N; i++)
		if (!things[i].object.is_dead)
			thing_check(d, &things[i]);
}

static void kill_all(void)
{
	for (unsigned i = 0; i < N; i++)
		things[i].object.is_dead = true;
}

/* A call of the program, before and after which everything moves. */
static void call(void)
{
	assert(slu_client_enter(d, slu_client_device_index(d)) == 0);
	slu_client_leave();
}

static void all_die(void)
{
	struct slu_client_counts before;

	begin();
	living_check();
	kill_all();
	call();
	before = counts();
	for (unsigned i = 0; i < 10; i++)
		call();
	assert(counts().n_moves_in - before.n_moves_in >= 9 * N);
	assert(counts().n_dead > before.n_dead);
	assert(counts().moved_in_bytes == before.moved_in_bytes);
	assert(counts().moved_out_bytes == before.moved_out_bytes);
	end();
}

static void what_is_dead_neither_leaves_nor_comes(void **state)
{
	run_apart(all_die);
}

static void some_die(void)
{
	uint64_t dice = slu_test_seed(1);

	begin();
	for (unsigned i = 0; i < STEPS; i++) {
		struct thing *t = &things[slu_test_random(&dice) % N];

		switch (slu_test_random(&dice) % 4) {
		case 0:
			t->object.is_dead = true;
			break;
		case 1:
			/* allocated anew, and written before it is read */
			t->object.is_dead = false;
			thing_write(d, t, (unsigned char)slu_test_random(&dice));
			break;
		case 2:
			if (!t->object.is_dead)
				thing_check(d, t);
			break;
		default:
			call();
		}
	}
	living_check();
	assert(counts().n_dead > STEPS / 20);
	end();
}

static void what_lives_keeps_its_contents(void **state)
{
	run_apart(some_die);
}

static void some_die_on_disk(void)
{
	setenv("SLUICE_TORTURE", "disk", 1);
	some_die();
}

static void the_same_on_disk(void **state)
{
	run_apart(some_die_on_disk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_dead_neither_leaves_nor_comes),
		cmocka_unit_test(what_lives_keeps_its_contents),
		cmocka_unit_test(the_same_on_disk),
	};

	return cmocka_run_group_tests_name("dead", tests, NULL, NULL);
}
