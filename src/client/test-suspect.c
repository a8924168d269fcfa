/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Moves of units that a front end promised not to write: the back end's comparison decides whether
 * they are copied out, and a back end that cannot compare copies them.
 */

#include "lib/test.h"

#include "client/move.h"
#include "client/test-device.h"
#include "client/tiers.h"

enum { BYTES = 4096 };

static struct slu_backend backend;
static unsigned n_compared, n_prepared;
static bool was_always;

static int compare(void *data, struct slu_unit *unit, const void *host, bool always)
{
	const struct slu_test_object *object = unit->owner;

	n_compared++;
	was_always = always;
	return memcmp(object->memory, host, BYTES) ? SLU_BACKEND_E_DIFFERENT : 0;
}

static void will_compare(void *data, struct slu_unit *unit)
{
	n_prepared++;
}

struct world {
	struct slu_test_device device;
	struct slu_test_object object;
	struct slu_unit unit;
	struct slu_move move;
};

/* On the device and in host memory, both full of ones. */
static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	slu_test_device_init(&w->device, 0);
	backend = slu_test_backend_launch;
	backend.compare = compare;
	backend.will_compare = will_compare;
	n_compared = n_prepared = 0;
	w->unit = (struct slu_unit){ .bytes = BYTES, .owner = &w->object };
	assert_int_equal(backend.create(&w->device, &w->unit), 0);
	w->move = (struct slu_move){
		.backend = &backend,
		.data = &w->device,
		.unit = &w->unit,
		.moving = SLU_MOVING_OUT,
		.is_suspect = true,
		.wants_drain = true,
		.host = slu_tiers_get(BYTES),
	};
	assert_non_null(w->move.host);
	memset(w->object.memory, 1, BYTES);
	memset(w->move.host, 1, BYTES);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	if (w->object.memory)
		backend.destroy(&w->device, &w->unit);
	slu_tiers_put(w->move.host, BYTES);
	slu_tiers_trim();
	slu_test_device_deinit(&w->device);
	free(w);
	return 0;
}

static int copy_out(struct world *w)
{
	struct slu_piece piece;

	assert_int_equal(slu_move_remaining_bytes(&w->move), BYTES);
	slu_move_cut(&w->move, BYTES, NULL, &piece);
	slu_move_piece_feed(&piece);
	return slu_move_piece_reap(&piece);
}

static void equal_copies_move_nothing(void **state)
{
	struct world *w = *state;

	assert_int_equal(slu_move_begin(&w->move), 0);
	assert_true(w->move.has_compared);
	assert_false(w->move.has_contents);
	assert_int_equal(slu_move_remaining_bytes(&w->move), 0);
	assert_int_equal(slu_move_end(&w->move, 0), 0);
	assert_null(w->object.memory);
	assert_int_equal(w->device.n_copies, 0);
}

static void a_copy_that_differs_is_brought_out(void **state)
{
	struct world *w = *state;

	w->object.memory[BYTES - 1] = 2;
	w->move.always_compares = true;
	assert_int_equal(slu_move_begin(&w->move), 0);
	assert_true(was_always && w->move.has_compared && w->move.has_contents);
	assert_int_equal(slu_move_end(&w->move, copy_out(w)), 0);
	assert_null(w->object.memory);
	assert_int_equal(((unsigned char *)w->move.host)[BYTES - 1], 2);
}

static void a_back_end_that_cannot_compare_copies(void **state)
{
	struct world *w = *state;

	backend.compare = NULL;
	assert_int_equal(slu_move_begin(&w->move), 0);
	assert_true(w->move.has_compared && w->move.has_contents);
	assert_int_equal(slu_move_end(&w->move, copy_out(w)), 0);
}

static void nothing_is_compared_before_the_unit_rests(void **state)
{
	struct world *w = *state;

	w->device.drain_unit_answer = SLU_BACKEND_E_BUSY;
	assert_int_equal(slu_move_begin(&w->move), SLU_MOVE_E_BUSY);
	assert_int_equal(n_compared, 0);
	assert_false(w->move.has_compared);
}

static void a_failed_copy_leaves_the_device_copy(void **state)
{
	struct world *w = *state;

	w->object.memory[0] = 2;
	assert_int_equal(slu_move_begin(&w->move), 0);
	w->device.fail_at = w->device.n_ops + 1;
	assert_int_not_equal(slu_move_end(&w->move, copy_out(w)), 0);
	assert_non_null(w->object.memory);
	assert_int_equal(w->object.memory[0], 2);
	assert_true(w->move.has_contents);
}

/* will_compare() is called as soon as contents move, but not if nothing will be compared. */
static void the_first_move_prepares_the_comparison(void **state)
{
	struct world *w = *state;

	w->move.is_suspect = false;
	w->move.has_contents = w->move.may_compare = true;
	assert_int_equal(slu_move_begin(&w->move), 0);
	assert_int_equal(n_prepared, 1);
	assert_int_equal(slu_move_end(&w->move, copy_out(w)), 0);
	w->move.moving = SLU_MOVING_IN;
	assert_int_equal(slu_move_begin(&w->move), 0);
	assert_int_equal(n_prepared, 2);
	assert_int_equal(slu_move_end(&w->move, copy_out(w)), 0);
	w->move.moving = SLU_MOVING_OUT;
	w->move.may_compare = false;
	assert_int_equal(slu_move_begin(&w->move), 0);
	assert_int_equal(n_prepared, 2);
	assert_int_equal(slu_move_end(&w->move, copy_out(w)), 0);
	assert_int_equal(n_compared, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(equal_copies_move_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_copy_that_differs_is_brought_out, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_back_end_that_cannot_compare_copies, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nothing_is_compared_before_the_unit_rests, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_failed_copy_leaves_the_device_copy, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_first_move_prepares_the_comparison, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("suspect", tests, NULL, NULL);
}
