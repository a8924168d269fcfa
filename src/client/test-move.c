/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Moves on a device in memory: contents survive each way, each operation may fail at each place,
 * and a failure leaves the unit where it was with the copy that it had.
 */

#include "lib/test.h"

#include "base/util.h"
#include "client/checksum.h"
#include "client/test-move.h"
#include "client/sizes.h"
#include "client/tiers.h"

static void world_init(struct world *w, bool with_staging, bool with_sum)
{
	memset(w, 0, sizeof(*w));
	slu_test_device_init(&w->device, 0);
	w->unit = (struct slu_unit){ .bytes = UNIT_BYTES, .owner = &w->object };
	w->pipe.most_bytes = DEPTH_BYTES;
	if (with_staging)
		assert_int_equal(slu_staging_init(&w->pipe.staging, &slu_test_backend, &w->device,
						  DEPTH_BYTES),
				 0);
	w->move = (struct slu_move){
		.backend = &slu_test_backend,
		.data = &w->device,
		.unit = &w->unit,
		.has_contents = true,
		.wants_sum = with_sum,
		.n_retries = 2,
		.is_cancelled = is_cancelled,
		.cancel_data = w,
	};
	w->device.n_ops = 0;
}

static void world_deinit(struct world *w)
{
	if (w->object.memory)
		slu_test_backend.destroy(&w->device, &w->unit);
	if (w->object.mapped)
		slu_test_backend.unmap(&w->device, &w->unit);
	slu_staging_deinit(&w->pipe.staging, &slu_test_backend, &w->device);
	slu_tiers_put(w->move.host, UNIT_BYTES);
	slu_tiers_trim();
	slu_test_device_deinit(&w->device);
}

static void alloc_with_contents(struct world *w)
{
	assert_int_equal(slu_test_backend.create(&w->device, &w->unit), 0);
	write_on_device(w);
	w->device.n_ops = 0;
}

static void contents_survive_both_ways(void **state)
{
	for (unsigned variant = 0; variant < 4; variant++) {
		struct world w;

		world_init(&w, variant & 1, variant & 2);
		alloc_with_contents(&w);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
			assert_null(w.object.memory);
			assert_contents(&w, w.move.host);
			assert_int_equal(move(&w, SLU_MOVING_IN), 0);
			assert_contents(&w, w.object.memory);
			write_on_device(&w);
		}
		world_deinit(&w);
	}
}

static void an_unchanged_unit_is_not_copied(void **state)
{
	struct world w;

	world_init(&w, true, true);
	alloc_with_contents(&w);
	w.move.has_contents = false;
	assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
	assert_null(w.move.host);
	assert_int_equal(move(&w, SLU_MOVING_IN), 0);
	assert_int_equal(w.device.n_copies, 0);
	world_deinit(&w);
}

static void mapped_bytes_are_the_units_bytes(void **state)
{
	struct world w;

	world_init(&w, false, true);
	alloc_with_contents(&w);
	assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
	assert_int_equal(move(&w, SLU_MOVING_MAP), 0);
	assert_contents(&w, w.object.mapped);
	write_on_device(&w);
	assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
	assert_null(w.object.mapped);
	assert_int_equal(move(&w, SLU_MOVING_IN), 0);
	assert_contents(&w, w.object.memory);
	world_deinit(&w);
}

/* Where the truth is, whatever happened: exactly one place has it. */
static void assert_legal(struct world *w, bool is_out)
{
	if (is_out) {
		assert_null(w->object.memory);
		assert_null(w->object.mapped);
		assert_contents(w, w->move.host);
	} else {
		assert_contents(w, slu_test_object_bytes(&w->object));
	}
}

static int step(struct world *w, unsigned i)
{
	switch (i) {
	case 0:
		return move(w, SLU_MOVING_OUT);
	case 1:
		return move(w, SLU_MOVING_IN);
	case 2:
		return move(w, SLU_MOVING_OUT);
	case 3:
		return move(w, SLU_MOVING_MAP);
	default:
		return move(w, SLU_MOVING_OUT);
	}
}

/*
 * The n-th operation fails, for every n until a round meets no fault. After each the unit is where
 * it was before the step, and a second try of the step works.
 */
static void every_fault_leaves_the_unit_where_it_was(void **state)
{
	static const int answers[] = { -EIO, -ENOMEM };
	unsigned n_faults = 0;

	for (unsigned variant = 0; variant < 16; variant++) {
		for (unsigned n = 1;; n++) {
			unsigned n_failed;
			struct world w;

			world_init(&w, variant & 1, variant & 2);
			alloc_with_contents(&w);
			w.device.fail_at = n;
			w.device.fail_with = answers[variant >> 2 & 1];
			w.move.host_is_pinned = variant & 8;
			w.move.host = variant & 8 ? slu_tiers_get(UNIT_BYTES) : NULL;
			for (unsigned i = 0; i < 5; i++) {
				int r = step(&w, i);

				if (r) {
					assert_true(r < 0);
					assert_int_equal(w.device.n_failed, 1);
					assert_legal(&w, i == 1 || i == 3);
					assert_int_equal(step(&w, i), 0);
				}
				assert_legal(&w, i != 1 && i != 3);
				assert_int_equal(w.device.n_copying, 0);
			}
			n_failed = w.device.n_failed;
			world_deinit(&w);
			if (!n_failed)
				break;
			n_faults++;
		}
	}
	printf("# %u faults\n", n_faults);
	assert_true(n_faults > 100);
}

/* Each way, with every operation failing once: nothing is copied, and a second try works. */
static void dead_contents_are_not_copied(void **state)
{
	unsigned n_faults = 0;

	for (unsigned n = 1;; n++) {
		unsigned n_failed;
		struct world w;

		world_init(&w, true, true);
		alloc_with_contents(&w);
		assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
		assert_int_equal(move(&w, SLU_MOVING_IN), 0);
		w.device.n_ops = w.device.n_copies = 0;
		w.device.fail_at = n;
		w.object.is_dead = true;
		for (unsigned i = 0; i < 5; i++) {
			int r;

			w.move.has_contents = i != 2;
			w.move.is_suspect = i == 2;
			w.move.is_dead = false;
			r = step(&w, i);
			n_faults += r != 0;
			if (r) {
				bool is_away = !w.object.memory && !w.object.mapped;

				assert_int_equal(is_away, i == 1 || i == 3);
				w.move.has_contents = true;
				r = step(&w, i);
			}
			assert_int_equal(r, 0);
			assert_true(w.move.is_dead && !w.move.has_contents && !w.move.is_suspect);
			assert_false(w.move.has_compared);
		}
		assert_int_equal(w.device.n_copies, 0);
		n_failed = w.device.n_failed;
		world_deinit(&w);
		if (!n_failed)
			break;
	}
	assert_true(n_faults >= 2);
}

static void a_pinned_host_copy_needs_no_staging(void **state)
{
	struct world w;

	world_init(&w, true, true);
	alloc_with_contents(&w);
	w.move.host = slu_tiers_get(UNIT_BYTES);
	w.move.host_is_pinned = true;
	w.move.moving = SLU_MOVING_OUT;
	assert_int_equal(slu_move_begin(&w.move), 0);
	while (slu_move_remaining_bytes(&w.move)) {
		struct slu_piece *p = slu_pipe_put(&w.pipe, &w.move);

		if (p) {
			assert_ptr_equal(p->buffer, (char *)w.move.host + p->offset);
			slu_move_piece_feed(p);
		} else {
			assert_int_equal(reap(&w), 0);
		}
	}
	assert_int_equal(w.pipe.staging.head, 0);
	while (slu_pipe_oldest(&w.pipe))
		assert_int_equal(reap(&w), 0);
	assert_int_equal(slu_move_end(&w.move, 0), 0);
	assert_legal(&w, true);
	assert_int_equal(move(&w, SLU_MOVING_IN), 0);
	assert_legal(&w, false);
	assert_int_equal(w.pipe.staging.head, 0);
	world_deinit(&w);
}

/* The same with a cancellation at every place. */
static void every_cancellation_leaves_the_unit_where_it_was(void **state)
{
	unsigned n_cancelled = 0;

	for (unsigned variant = 0; variant < 2; variant++) {
		for (unsigned n = 1;; n++) {
			bool was_cancelled = false;
			struct world w;

			world_init(&w, variant & 1, true);
			alloc_with_contents(&w);
			w.cancel_at = n;
			for (unsigned i = 0; i < 5; i++) {
				int r = step(&w, i);

				if (r) {
					assert_int_equal(r, SLU_MOVE_E_CANCELLED);
					was_cancelled = true;
					assert_legal(&w, i == 1 || i == 3);
					assert_int_equal(step(&w, i), 0);
				}
				assert_legal(&w, i != 1 && i != 3);
			}
			world_deinit(&w);
			if (!was_cancelled)
				break;
			n_cancelled++;
		}
	}
	printf("# %u cancellations\n", n_cancelled);
	assert_true(n_cancelled > 50);
}

static void a_refusal_is_tried_again_as_often_as_asked(void **state)
{
	struct world w;

	world_init(&w, false, false);
	alloc_with_contents(&w);
	assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
	w.device.capacity_bytes = UNIT_BYTES - 1;
	w.device.n_refused = 0;
	assert_int_equal(move(&w, SLU_MOVING_IN), SLU_MOVE_E_REFUSED);
	assert_int_equal(w.device.n_refused, 3);
	assert_int_equal(w.move.n_refusals, 3);
	assert_legal(&w, true);
	w.device.capacity_bytes = UNIT_BYTES;
	assert_int_equal(move(&w, SLU_MOVING_IN), 0);
	assert_legal(&w, false);
	world_deinit(&w);
}

static void a_single_refusal_is_not_reported(void **state)
{
	struct world w;

	world_init(&w, false, false);
	alloc_with_contents(&w);
	assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
	w.device.n_ops = 0;
	w.device.fail_at = 1;
	w.device.fail_with = SLU_BACKEND_E_REFUSED;
	assert_int_equal(move(&w, SLU_MOVING_IN), 0);
	assert_legal(&w, false);
	world_deinit(&w);
}

static void a_lost_context_is_reported(void **state)
{
	struct world w;

	world_init(&w, true, false);
	alloc_with_contents(&w);
	w.device.n_ops = 0;
	w.device.fail_at = 4;
	w.device.fail_with = SLU_BACKEND_E_LOST;
	assert_int_equal(move(&w, SLU_MOVING_OUT), SLU_MOVE_E_LOST);
	assert_int_equal(w.device.n_copying, 0);
	world_deinit(&w);
}

static void blocked_commands_keep_a_unit(void **state)
{
	struct world w;

	world_init(&w, false, false);
	w.move.backend = &slu_test_backend_launch;
	w.move.wants_drain = true;
	alloc_with_contents(&w);
	w.device.drain_unit_answer = SLU_BACKEND_E_BLOCKED;
	assert_int_equal(move(&w, SLU_MOVING_OUT), SLU_MOVE_E_BLOCKED);
	assert_legal(&w, false);
	w.device.drain_unit_answer = 0;
	assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
	assert_legal(&w, true);
	world_deinit(&w);
}

static void a_unit_whose_commands_run_is_asked_again(void **state)
{
	struct world w;

	world_init(&w, false, false);
	w.move.backend = &slu_test_backend_launch;
	w.move.wants_drain = true;
	w.move.moving = SLU_MOVING_OUT;
	alloc_with_contents(&w);
	w.device.drain_unit_answer = SLU_BACKEND_E_BUSY;
	assert_int_equal(slu_move_begin(&w.move), SLU_MOVE_E_BUSY);
	assert_legal(&w, false);
	w.device.drain_unit_answer = 0;
	assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
	assert_legal(&w, true);
	world_deinit(&w);
}

/* Many units of many sizes, as deep as the ring allows; each piece ends in its own order. */
static void pieces_of_many_units_follow_each_other(void **state)
{
	enum { N_UNITS = 40 };
	struct slu_test_object objects[N_UNITS] = { 0 };
	struct slu_unit units[N_UNITS];
	struct slu_move moves[N_UNITS];
	unsigned n_most = 0, i = 0;
	struct slu_piece *p;
	struct world w;

	world_init(&w, true, true);
	for (unsigned k = 0; k < N_UNITS; k++) {
		units[k] = (struct slu_unit){ .bytes = 1 + k * 37 % 700, .owner = &objects[k] };
		assert_int_equal(slu_test_backend.create(&w.device, &units[k]), 0);
		memset(objects[k].memory, (int)k + 1, units[k].bytes);
		moves[k] = w.move;
		moves[k].unit = &units[k];
		moves[k].moving = SLU_MOVING_OUT;
		assert_int_equal(slu_move_begin(&moves[k]), 0);
	}
	while (i < N_UNITS || slu_pipe_oldest(&w.pipe)) {
		p = i < N_UNITS ? slu_pipe_put(&w.pipe, &moves[i]) : NULL;
		if (p)
			slu_move_piece_feed(p);
		else
			assert_int_equal(reap(&w), 0);
		n_most = SLU_MAX(n_most, w.pipe.n_pieces);
		assert_true(w.pipe.n_bytes <= DEPTH_BYTES);
		while (i < N_UNITS && !slu_move_remaining_bytes(&moves[i]))
			i++;
	}
	assert_in_range(n_most, SLU_PIPE_PARTS, SLU_PIPE_PIECES);
	for (unsigned k = 0; k < N_UNITS; k++) {
		assert_int_equal(slu_move_end(&moves[k], 0), 0);
		for (uint64_t at = 0; at < units[k].bytes; at++)
			assert_int_equal(((unsigned char *)moves[k].host)[at], k + 1);
		slu_tiers_put(moves[k].host, units[k].bytes);
	}
	world_deinit(&w);
}

static void a_spoilt_host_copy_never_reaches_the_device(void **state)
{
	for (unsigned with_staging = 0; with_staging < 2; with_staging++) {
		struct world w;

		world_init(&w, with_staging, true);
		alloc_with_contents(&w);
		assert_int_equal(move(&w, SLU_MOVING_OUT), 0);
		((unsigned char *)w.move.host)[UNIT_BYTES - 1] ^= 4;
		assert_int_equal(move(&w, SLU_MOVING_IN), SLU_MOVE_E_CORRUPT);
		assert_null(w.object.memory);
		assert_int_equal(move(&w, SLU_MOVING_MAP), SLU_MOVE_E_CORRUPT);
		assert_null(w.object.mapped);
		world_deinit(&w);
	}
}

static void a_checksum_sees_lost_swapped_and_torn_bytes(void **state)
{
	unsigned char bytes[200];
	struct slu_checksum sum;
	uint64_t first;

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7);
	slu_checksum_init(&sum);
	slu_checksum_add(&sum, bytes, sizeof(bytes));
	first = slu_checksum_end(&sum);

	slu_checksum_init(&sum);
	slu_checksum_add(&sum, bytes, 96);
	slu_checksum_add(&sum, bytes + 96, sizeof(bytes) - 96);
	assert_true(slu_checksum_end(&sum) == first);

	slu_checksum_init(&sum);
	slu_checksum_add(&sum, bytes + 32, 32);
	slu_checksum_add(&sum, bytes, 32);
	slu_checksum_add(&sum, bytes + 64, sizeof(bytes) - 64);
	assert_true(slu_checksum_end(&sum) != first);

	slu_checksum_init(&sum);
	slu_checksum_add(&sum, bytes, sizeof(bytes) - 1);
	assert_true(slu_checksum_end(&sum) != first);

	for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		slu_checksum_init(&sum);
		slu_checksum_add(&sum, bytes, sizeof(bytes));
		assert_true(slu_checksum_end(&sum) != first);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
}

static void classes_waste_at_most_an_eighth(void **state)
{
	for (uint64_t bytes = 1; bytes < 100 * SLU_MIB; bytes += 1 + bytes / 37) {
		uint64_t class = slu_tiers_class(bytes);

		assert_true(class >= bytes);
		assert_true(class - bytes < SLU_MAX(UINT64_C(4096), bytes / 8 + 1));
		assert_int_equal(class % 4096, 0);
	}
}

static void the_pool_reuses_a_region(void **state)
{
	void *a = slu_tiers_get(100000);
	void *b;

	assert_non_null(a);
	memset(a, 1, 100000);
	slu_tiers_put(a, 100000);
	b = slu_tiers_get(100000);
	assert_ptr_equal(a, b);
	slu_tiers_put(b, 100000);
	for (unsigned i = 0; i < 200; i++)
		slu_tiers_put(slu_tiers_get(SLU_MIB * (i % 7 + 1)), SLU_MIB * (i % 7 + 1));
	slu_tiers_put(slu_tiers_get(2 * SLU_SIZES_POOL_BYTES), 2 * SLU_SIZES_POOL_BYTES);
	slu_tiers_put(NULL, 7);
	slu_tiers_trim();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_survive_both_ways),
		cmocka_unit_test(an_unchanged_unit_is_not_copied),
		cmocka_unit_test(dead_contents_are_not_copied),
		cmocka_unit_test(mapped_bytes_are_the_units_bytes),
		cmocka_unit_test(every_fault_leaves_the_unit_where_it_was),
		cmocka_unit_test(a_pinned_host_copy_needs_no_staging),
		cmocka_unit_test(every_cancellation_leaves_the_unit_where_it_was),
		cmocka_unit_test(a_refusal_is_tried_again_as_often_as_asked),
		cmocka_unit_test(a_single_refusal_is_not_reported),
		cmocka_unit_test(a_lost_context_is_reported),
		cmocka_unit_test(blocked_commands_keep_a_unit),
		cmocka_unit_test(a_unit_whose_commands_run_is_asked_again),
		cmocka_unit_test(pieces_of_many_units_follow_each_other),
		cmocka_unit_test(a_spoilt_host_copy_never_reaches_the_device),
		cmocka_unit_test(a_checksum_sees_lost_swapped_and_torn_bytes),
		cmocka_unit_test(classes_waste_at_most_an_eighth),
		cmocka_unit_test(the_pool_reuses_a_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
