/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Moves of units whose backing is on disk: contents survive, each operation of the device and each
 * call of the disk may fail at each place, and a failure leaves the unit where it was. Bytes that
 * cannot be read back, or differ from what was written, are an error and never reach the unit.
 */

#include "lib/test.h"

#include <stdio.h>

#include "base/util.h"
#include "client/test-faulty-disk.h"
#include "client/test-move.h"
#include "client/tiers.h"

/* How a unit is reached on its device, and the staging between device and disk. */
enum way { STAGED, BOUNCED, MAPPED, _WAY_MAX };

static void world_init(struct world *w, enum way way)
{
	memset(w, 0, sizeof(*w));
	slu_test_disk = (struct slu_test_disk){ 0 };
	slu_test_device_init(&w->device, 0);
	slu_disk_init(&w->disk, &slu_test_disk_calls);
	slu_disk_set_folder(&w->disk, SLU_TEST_FOLDER);
	w->unit = (struct slu_unit){ .bytes = UNIT_BYTES, .owner = &w->object, .on_disk = true };
	w->pipe.most_bytes = DEPTH_BYTES;
	w->move = (struct slu_move){
		.backend = &slu_test_backend,
		.data = &w->device,
		.unit = &w->unit,
		.has_contents = true,
		.wants_sum = true,
		.disk = &w->disk,
	};
	assert_int_equal(slu_disk_take(&w->disk, UNIT_BYTES, &w->move.extent), 0);
	assert_true(slu_pipe_needs_bounce(&w->pipe, &w->move));
	if (way == STAGED)
		assert_int_equal(slu_staging_init(&w->pipe.staging, &slu_test_backend, &w->device,
						  DEPTH_BYTES),
				 0);
	else
		w->pipe.bounce = (struct slu_staging){ .host = w->bounce, .bytes = DEPTH_BYTES };
	assert_false(slu_pipe_needs_bounce(&w->pipe, &w->move));
	if (way == MAPPED)
		assert_int_equal(slu_test_backend.map(&w->device, &w->unit, &w->move.mapped), 0);
	else
		assert_int_equal(slu_test_backend.create(&w->device, &w->unit), 0);
	w->device.n_ops = slu_test_disk.n_calls = 0;
}

static void world_deinit(struct world *w)
{
	if (w->object.memory)
		slu_test_backend.destroy(&w->device, &w->unit);
	if (w->object.mapped)
		slu_test_backend.unmap(&w->device, &w->unit);
	slu_staging_deinit(&w->pipe.staging, &slu_test_backend, &w->device);
	slu_disk_give(&w->disk, &w->move.extent);
	slu_disk_deinit(&w->disk);
	slu_test_device_deinit(&w->device);
}

/* On the device. */
static void assert_there(struct world *w)
{
	assert_contents(w, slu_test_object_bytes(&w->object));
}

static bool is_present(const struct world *w)
{
	return w->object.memory || w->object.mapped;
}

static void contents_survive_the_way_to_disk_and_back(void **state)
{
	(void)state;
	for (enum way way = STAGED; way < _WAY_MAX; way++) {
		struct world w;

		world_init(&w, way);
		for (unsigned round = 0; round < 3; round++) {
			write_on_device(&w);
			assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
			assert_false(is_present(&w));
			assert_null(w.move.host);
			assert_int_equal(move(&w, way == MAPPED ? SLU_MOVING_MAP : SLU_MOVING_IN),
					 0);
			assert_there(&w);
		}
		world_deinit(&w);
	}
}

/*
 * The n-th call of the disk, or operation of the device, fails, for every n until a round meets no
 * fault. After each the unit is where it was, and a second try works.
 */
static void every_fault_leaves_the_unit_where_it_was(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 2u * _WAY_MAX; k++) {
		enum way way = k / 2;
		enum slu_moving in = way == MAPPED ? SLU_MOVING_MAP : SLU_MOVING_IN;

		for (unsigned n = 1;; n++) {
			unsigned n_failed;
			struct world w;
			int r;

			world_init(&w, way);
			write_on_device(&w);
			*(k % 2 ? &slu_test_disk.fail_at : &w.device.fail_at) = n;
			r = move(&w, SLU_MOVING_OUT);
			assert_int_equal(r != 0, is_present(&w));
			if (r) {
				assert_int_equal(r == SLU_MOVE_E_UNWRITTEN, k % 2);
				assert_there(&w);
				assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
			}
			r = move(&w, in);
			assert_int_equal(r == 0, is_present(&w));
			if (r) {
				assert_int_equal(r == SLU_MOVE_E_UNREAD, k % 2);
				assert_int_equal(move(&w, in), 0);
			}
			assert_there(&w);
			n_failed = k % 2 ? slu_test_disk.n_failed : w.device.n_failed;
			world_deinit(&w);
			if (!n_failed)
				break;
		}
	}
}

static void corrupt_contents_never_arrive(void **state)
{
	(void)state;
	for (enum way way = STAGED; way < _WAY_MAX; way++) {
		struct world w;

		world_init(&w, way);
		write_on_device(&w);
		assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
		slu_test_disk.spoils = true;
		assert_int_equal(move(&w, way == MAPPED ? SLU_MOVING_MAP : SLU_MOVING_IN),
				 SLU_MOVE_E_CORRUPT);
		assert_false(is_present(&w));
		world_deinit(&w);
	}
}

static void a_dead_disk_is_reported(void **state)
{
	struct world w;

	(void)state;
	world_init(&w, BOUNCED);
	write_on_device(&w);
	assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
	slu_test_disk.reads_fail = true;
	assert_int_equal(move(&w, SLU_MOVING_IN), SLU_MOVE_E_UNREAD);
	assert_int_equal(w.move.disk_error, EIO);
	assert_false(is_present(&w));
	slu_test_disk.reads_fail = false;
	assert_int_equal(move(&w, SLU_MOVING_IN), 0);
	slu_test_disk.writes_fail = true;
	write_on_device(&w);
	assert_int_equal(move(&w, SLU_MOVING_OUT), SLU_MOVE_E_UNWRITTEN);
	assert_there(&w);
	world_deinit(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_survive_the_way_to_disk_and_back),
		cmocka_unit_test(every_fault_leaves_the_unit_where_it_was),
		cmocka_unit_test(corrupt_contents_never_arrive),
		cmocka_unit_test(a_dead_disk_is_reported),
	};

	if (!slu_test_disk_is_present()) {
		puts("1..0 # SKIP " SLU_TEST_FOLDER " is not on disk");
		return 0;
	}
	return cmocka_run_group_tests_name("move-disk", tests, NULL, NULL);
}
