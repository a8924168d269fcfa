/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <stdbool.h>

#include "softgpu/driver/bus.h"
#include "softgpu/driver/fault.h"
#include "softgpu/driver/memory/spans.h"
#include "softgpu/driver/object.h"

/* The small parts: spans, handles that may be stale, faults on order, two directions of one bus. */

static void spans_agree_with_a_naive_model(void **state)
{
	enum { WORLD = 256, STEPS = 20000 };
	uint64_t random = slu_test_seed(20260701);
	struct dev_spans spans = { 0 };
	uint64_t owner[WORLD] = { 0 }; /* base + 1 of the span that holds a place */

	(void)state;
	for (unsigned step = 0; step < STEPS; step++) {
		uint64_t base = slu_test_random(&random) % WORLD;
		uint64_t bytes = 1 + slu_test_random(&random) % 24;
		const struct dev_span *found;
		bool is_free = base + bytes <= WORLD;

		switch (slu_test_random(&random) % 3) {
		case 0:
			for (uint64_t i = base; i < base + bytes && is_free; i++)
				is_free = !owner[i];
			if (base + bytes > WORLD)
				break;
			if (dev_spans_add(&spans, base, bytes, owner)) {
				assert_false(is_free);
				break;
			}
			assert_true(is_free);
			for (uint64_t i = base; i < base + bytes; i++)
				owner[i] = base + 1;
			break;
		case 1:
			if (!dev_spans_remove(&spans, base)) {
				assert_true(owner[base] != base + 1);
				break;
			}
			for (uint64_t i = 0; i < WORLD; i++)
				if (owner[i] == base + 1)
					owner[i] = 0;
			break;
		default:
			found = dev_spans_find(&spans, base);
			assert_int_equal(found ? found->base + 1 : 0, owner[base]);
			break;
		}
	}
	dev_spans_deinit(&spans);
}

static void free_range_is_the_lowest_that_fits(void **state)
{
	struct dev_spans spans = { 0 };

	(void)state;
	assert_int_equal(dev_spans_find_free(&spans, 16, 100, 8, 8), 16);
	assert_int_equal(dev_spans_add(&spans, 16, 8, &spans), 0);
	assert_int_equal(dev_spans_add(&spans, 32, 8, &spans), 0);
	assert_int_equal(dev_spans_find_free(&spans, 16, 100, 8, 8), 24);
	assert_int_equal(dev_spans_find_free(&spans, 16, 100, 9, 8), 40);
	assert_int_equal(dev_spans_find_free(&spans, 16, 100, 8, 32), 64);
	assert_int_equal(dev_spans_find_free(&spans, 16, 100, 61, 8), 0);
	assert_int_equal(dev_spans_find_free(&spans, 32, 100, 8, 8), 40);
	dev_spans_deinit(&spans);
}

struct thing {
	struct dev_object object;
	int value;
};

static void dead_and_foreign_handles_are_told_from_live_ones(void **state)
{
	static struct dev_objects things = DEV_OBJECTS_INIT(struct thing);
	struct thing *all[500], stranger;

	(void)state;
	for (int i = 0; i < 500; i++) {
		all[i] = dev_object_new(&things);
		assert_non_null(all[i]);
		all[i]->value = i;
	}
	assert_null(dev_object_get(&things, NULL));
	assert_null(dev_object_get(&things, &stranger));
	assert_null(dev_object_get(&things, (char *)all[0] + 4));
	for (int i = 0; i < 500; i += 2)
		dev_object_free(&things, all[i]);
	for (int i = 0; i < 500; i++) {
		struct thing *t = dev_object_get(&things, all[i]);

		if (i % 2)
			assert_int_equal(t->value, i);
		else
			assert_null(t);
	}
	for (unsigned i = 0; i < things.n_pools; i++)
		free(things.pools[i]);
}

static void the_ordered_operation_fails_and_no_other(void **state)
{
	uint64_t extra_ns;

	(void)state;
	assert_int_equal(dev_fault_init("create:2,hang:copy:1,slow:launch:3:250ms"), 0);
	assert_int_equal(dev_fault_next(DEV_FAULT_CREATE, &extra_ns), DEV_FAULT_NONE);
	assert_int_equal(dev_fault_next(DEV_FAULT_MAP, &extra_ns), DEV_FAULT_NONE);
	assert_int_equal(dev_fault_next(DEV_FAULT_CREATE, &extra_ns), DEV_FAULT_FAIL);
	assert_int_equal(dev_fault_next(DEV_FAULT_CREATE, &extra_ns), DEV_FAULT_NONE);
	assert_int_equal(dev_fault_next(DEV_FAULT_COPY, &extra_ns), DEV_FAULT_HANG);
	assert_int_equal(dev_fault_next(DEV_FAULT_LAUNCH, &extra_ns), DEV_FAULT_NONE);
	assert_int_equal(dev_fault_next(DEV_FAULT_LAUNCH, &extra_ns), DEV_FAULT_NONE);
	assert_int_equal(dev_fault_next(DEV_FAULT_LAUNCH, &extra_ns), DEV_FAULT_SLOW);
	assert_int_equal(extra_ns, 250000000);
	assert_int_equal(dev_fault_init(NULL), 0);
	assert_int_equal(dev_fault_next(DEV_FAULT_CREATE, &extra_ns), DEV_FAULT_NONE);
}

static void orders_that_are_not_understood_are_refused(void **state)
{
	static const char *const bad[] = { "create",	    "create:",	    "create:0",
					   "create:x",	    "nothing:1",    "slow:copy:1",
					   "hang:1",	    "copy:1:2",	    "slow:copy",
					   "slow:copy:1:x", "hang:copy:",   "create:2x",
					   "hang:create:1", "slow:map:1:1s" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!dev_fault_init(bad[i]))
			fail_msg("'%s' was taken", bad[i]);
	assert_int_equal(dev_fault_init(""), 0);
}

/* Slices of two directions are booked in any order, one up to @late_ns behind the other. */
static void run_directions(uint64_t *random, uint64_t late_ns, double *ret_first_s,
			   double *ret_second_s)
{
	static const struct dev_bus_rate rates[] = { { 400000000, 250000000 },
						     { 300000000, 150000000 } };
	enum { SLICES = 1000, SLICE = 300000 };
	struct dev_bus_direction directions[2] = { 0 };
	uint64_t end_ns[2] = { 0 };
	unsigned left[2] = { SLICES, SLICES };

	while (left[0] || left[1]) {
		unsigned i = slu_test_random(random) % 2;

		if (left[!i] && end_ns[i] > end_ns[!i] + late_ns)
			i = !i;
		if (!left[i])
			continue;
		left[i]--;
		end_ns[i] += dev_bus_book(&directions[i], &rates[i], end_ns[i], &directions[!i],
					  &rates[!i], end_ns[!i], end_ns[i], SLICE);
	}
	*ret_first_s = (double)end_ns[0] / 1e9;
	*ret_second_s = (double)end_ns[1] / 1e9;
}

static void both_directions_take_what_they_must_whoever_is_late(void **state)
{
	static const uint64_t late_ns[] = { 0, 100000, 5000000, 100000000 };
	uint64_t random = slu_test_seed(20260703);
	double first_s, second_s;

	(void)state;
	for (size_t i = 0; i < sizeof(late_ns) / sizeof(*late_ns); i++) {
		run_directions(&random, late_ns[i], &first_s, &second_s);
		/* 300 MB at 250 MB/s; the other one has moved 180 MB by then, and 120 go alone */
		assert_in_range((uint64_t)(first_s * 1e6), 1200000 * 0.99, 1200000 * 1.01);
		assert_in_range((uint64_t)(second_s * 1e6), 1600000 * 0.99, 1600000 * 1.01);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(spans_agree_with_a_naive_model),
		cmocka_unit_test(free_range_is_the_lowest_that_fits),
		cmocka_unit_test(dead_and_foreign_handles_are_told_from_live_ones),
		cmocka_unit_test(the_ordered_operation_fails_and_no_other),
		cmocka_unit_test(orders_that_are_not_understood_are_refused),
		cmocka_unit_test(both_directions_take_what_they_must_whoever_is_late),
	};

	return cmocka_run_group_tests_name("softgpu-parts", tests, NULL, NULL);
}
