/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which units leave and come, by tables and against a brute-force model: of all sets of units
 * that reach a shortfall, the chosen one must contain no superfluous unit.
 */

#include "lib/test.h"

#include "base/util.h"
#include "place/place.h"

#define N_MAX 12
/* the launch counter is later than any use */
static const struct slu_foresight now = { .now = 100 };

struct spec {
	uint64_t bytes;
	uint8_t place;
	bool dirty;
	uint64_t last_use;
};

static void make(struct slu_unit_list *list, struct slu_unit *units, const struct spec *specs,
		 size_t n)
{
	TAILQ_INIT(list);
	for (size_t i = 0; i < n; i++) {
		units[i] = (struct slu_unit){
			.bytes = specs[i].bytes,
			.place = specs[i].place,
			.device_version = specs[i].dirty ? 2 : 1,
			.host_version = 1,
			.last_use = specs[i].last_use,
		};
		TAILQ_INSERT_TAIL(list, &units[i], link);
	}
}

#define DEV SLU_PLACE_DEVICE
#define MAP SLU_PLACE_MAPPED
#define RAM SLU_PLACE_RAM

static void the_order_of_leaving(void **state)
{
	static const struct {
		const char *what;
		struct spec specs[4];
		size_t n;
		uint64_t shortfall;
		int expected; /* -1: no unit */
	} rows[] = {
		{ "nobody for no shortfall", { { 4, DEV, false, 1 } }, 1, 0, -1 },
		{ "nobody from an empty device", { { 4, RAM, false, 1 } }, 1, 3, -1 },
		{ "not a mapped one for device bytes", { { 4, MAP, false, 1 } }, 1, 3, -1 },
		{ "clean before dirty", { { 4, DEV, true, 1 }, { 4, DEV, false, 9 } }, 2, 3, 1 },
		{ "least recently used", { { 4, DEV, true, 7 }, { 4, DEV, true, 3 } }, 2, 3, 1 },
		{ "the first of equals", { { 4, DEV, true, 3 }, { 4, DEV, true, 3 } }, 2, 3, 0 },
		{ "not a small one that a large one makes superfluous",
		  { { 1, DEV, false, 1 }, { 12, DEV, false, 2 } },
		  2,
		  10,
		  1 },
		{ "a small one that is needed beside a large one",
		  { { 3, DEV, false, 1 }, { 8, DEV, false, 2 }, { 8, DEV, false, 3 } },
		  3,
		  10,
		  1 },
		{ "a clean one although it is a bit larger than needed",
		  { { 3, DEV, false, 1 }, { 2, DEV, true, 2 } },
		  2,
		  2,
		  0 },
		{ "a dirty one where the clean one is much larger",
		  { { 9, DEV, false, 1 }, { 2, DEV, true, 2 } },
		  2,
		  2,
		  1 },
		{ "the small one that is enough",
		  { { 32, DEV, true, 1 }, { 4, DEV, true, 1 } },
		  2,
		  4,
		  1 },
		{ "the large one alone where the small one is not enough",
		  { { 4, DEV, true, 1 }, { 32, DEV, true, 1 } },
		  2,
		  8,
		  1 },
		{ "those that are just enough together",
		  { { 32, DEV, true, 1 },
		    { 8, DEV, true, 1 },
		    { 8, DEV, true, 1 },
		    { 4, DEV, true, 1 } },
		  4,
		  20,
		  1 },
		{ "all of it if that is not enough", { { 3, DEV, true, 1 } }, 1, 10, 0 },
	};

	for (size_t r = 0; r < SLU_ARRAY_SIZE(rows); r++) {
		struct slu_unit units[4];
		struct slu_unit_list list;
		struct slu_unit *u;

		make(&list, units, rows[r].specs, rows[r].n);
		u = slu_place_next_out(&list, SLU_PLACE_DEVICE, rows[r].shortfall, &now);
		if ((u ? (int)(u - units) : -1) != rows[r].expected)
			fail_msg("%s: got %d", rows[r].what, u ? (int)(u - units) : -1);
	}
}

static void units_that_may_not_leave_stay(void **state)
{
	static const struct spec spec = { 4, DEV, false, 1 };
	struct slu_unit_list list;
	struct slu_unit u;

	make(&list, &u, &spec, 1);
	assert_ptr_equal(slu_place_next_out(&list, DEV, 1, &now), &u);
	u.n_named = 1;
	assert_null(slu_place_next_out(&list, DEV, 1, &now));
	u.n_named = 0;
	u.blocked = true;
	assert_null(slu_place_next_out(&list, DEV, 1, &now));
	u.blocked = false;
	u.frozen = SLU_FROZEN_SVM;
	assert_null(slu_place_next_out(&list, DEV, 1, &now));
	u.frozen = SLU_FROZEN_NO;
	u.moving = SLU_MOVING_OUT;
	assert_null(slu_place_next_out(&list, DEV, 1, &now));
	u.moving = SLU_MOVING_NO;
	u.place = MAP;
	assert_ptr_equal(slu_place_next_out(&list, MAP, 1, &now), &u);
}

static void units_of_a_waiting_command_leave_last(void **state)
{
	static const struct spec specs[] = { { 4, DEV, false, 1 }, { 4, DEV, true, 9 } };
	struct slu_unit_list list;
	struct slu_unit units[2];

	make(&list, units, specs, 2);
	units[0].wanted = true;
	assert_ptr_equal(slu_place_next_out(&list, DEV, 4, &now), &units[1]);
	units[1].place = RAM;
	assert_ptr_equal(slu_place_next_out(&list, DEV, 4, &now), &units[0]);
}

static void the_order_of_coming_in(void **state)
{
	static const struct {
		const char *what;
		struct spec specs[3];
		size_t n;
		int wanted; /* the unit that a command names, or -1 */
		enum slu_place_in which;
		uint64_t free_bytes;
		int expected;
	} rows[] = {
		{ "no unit without free bytes",
		  { { 4, RAM, false, 1 } },
		  1,
		  -1,
		  SLU_PLACE_IN_ANY,
		  3,
		  -1 },
		{ "most recently used",
		  { { 4, RAM, 0, 1 }, { 4, RAM, 0, 5 } },
		  2,
		  -1,
		  SLU_PLACE_IN_ANY,
		  4,
		  1 },
		{ "the one that fits",
		  { { 4, RAM, 0, 1 }, { 8, RAM, 0, 5 } },
		  2,
		  -1,
		  SLU_PLACE_IN_ANY,
		  4,
		  0 },
		{ "the named one",
		  { { 4, RAM, 0, 1 }, { 4, RAM, 0, 5 } },
		  2,
		  0,
		  SLU_PLACE_IN_ANY,
		  9,
		  0 },
		{ "only a named one",
		  { { 4, RAM, 0, 1 }, { 4, RAM, 0, 5 } },
		  2,
		  -1,
		  SLU_PLACE_IN_WANTED,
		  9,
		  -1 },
		{ "not one that is there",
		  { { 4, DEV, 0, 1 }, { 4, MAP, 0, 5 } },
		  2,
		  -1,
		  SLU_PLACE_IN_ANY,
		  9,
		  -1 },
		{ "one from disk too",
		  { { 4, SLU_PLACE_DISK, 0, 1 } },
		  1,
		  -1,
		  SLU_PLACE_IN_ANY,
		  9,
		  0 },
	};

	for (size_t r = 0; r < SLU_ARRAY_SIZE(rows); r++) {
		struct slu_unit units[3];
		struct slu_unit_list list;
		struct slu_unit *u;

		make(&list, units, rows[r].specs, rows[r].n);
		if (rows[r].wanted >= 0)
			units[rows[r].wanted].wanted = true;
		u = slu_place_next_in(&list, rows[r].free_bytes, rows[r].which, &now);
		if ((u ? (int)(u - units) : -1) != rows[r].expected)
			fail_msg("%s: got %d", rows[r].what, u ? (int)(u - units) : -1);
	}
}

/*
 * One unit is needed in 24 launches and runs; the other is at rest and needed a bit, or much,
 * sooner.
 */
static void a_running_unit_leaves_if_no_other_is_as_good(void **state)
{
	const struct slu_gap gap = { .launches = 24, .n = 1 };
	struct slu_unit units[] = {
		{ .bytes = 4, .last_use = 100, .was_named = true, .ran_at = 101 },
		{ .bytes = 4, .last_use = 99, .was_named = true },
	};
	struct slu_unit_list list;

	TAILQ_INIT(&list);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(units); i++) {
		units[i].gaps[4] = gap;
		TAILQ_INSERT_TAIL(&list, &units[i], link);
	}
	assert_ptr_equal(slu_place_next_out(&list, DEV, 4, &now), &units[1]);
	units[1].last_use = 98;
	assert_ptr_equal(slu_place_next_out(&list, DEV, 4, &now), &units[0]);
	/* seen at another launch: the command may have ended */
	units[1].last_use = 99;
	units[0].ran_at = 100;
	assert_ptr_equal(slu_place_next_out(&list, DEV, 4, &now), &units[0]);
}

static void the_working_set_comes_first_and_leaves_last(void **state)
{
	static const struct spec specs[] = { { 4, RAM, false, 1 }, { 4, RAM, false, 5 } };
	struct slu_unit_list list;
	struct slu_unit units[2];

	make(&list, units, specs, 2);
	assert_null(slu_place_next_in(&list, 9, SLU_PLACE_IN_WORKING, &now));
	units[0].working = true;
	assert_ptr_equal(slu_place_next_in(&list, 9, SLU_PLACE_IN_WORKING, &now), &units[0]);
	assert_ptr_equal(slu_place_next_in(&list, 9, SLU_PLACE_IN_ANY, &now), &units[0]);
	units[1].wanted = true;
	assert_ptr_equal(slu_place_next_in(&list, 9, SLU_PLACE_IN_WORKING, &now), &units[1]);

	units[0].place = units[1].place = DEV;
	units[1].wanted = false;
	units[1].device_version = 2; /* dirty: otherwise the other one would leave */
	assert_ptr_equal(slu_place_next_out(&list, DEV, 4, &now), &units[1]);
}

static void the_least_recently_used_is_mapped(void **state)
{
	static const struct spec specs[] = { { 4, RAM, 0, 5 }, { 4, RAM, 0, 2 }, { 8, RAM, 0, 1 } };
	struct slu_unit units[3];
	struct slu_unit_list list;

	make(&list, units, specs, 3);
	assert_ptr_equal(slu_place_next_map(&list, 4), &units[1]);
	assert_ptr_equal(slu_place_next_map(&list, 8), &units[2]);
	assert_null(slu_place_next_map(&list, 3));
}

/* The fewest bytes of any set of units that reaches @shortfall, by trying all sets. */
static uint64_t least_sum(const struct slu_unit *units, size_t n, uint64_t shortfall)
{
	uint64_t least = UINT64_MAX;

	for (unsigned set = 0; set < 1u << n; set++) {
		uint64_t sum = 0;

		for (size_t i = 0; i < n; i++)
			if (set & 1u << i)
				sum += units[i].bytes;
		if (sum >= shortfall)
			least = SLU_MIN(least, sum);
	}
	return least;
}

static void no_unit_leaves_for_nothing(void **state)
{
	uint64_t random = slu_test_seed(11);

	for (unsigned round = 0; round < 3000; round++) {
		size_t n = 1 + slu_test_random(&random) % N_MAX;
		struct spec specs[N_MAX];
		struct slu_unit units[N_MAX];
		struct slu_unit_list list;
		uint64_t total = 0, shortfall, missing, out = 0, smallest = UINT64_MAX, least;
		struct slu_unit *u, *last = NULL;

		for (size_t i = 0; i < n; i++) {
			specs[i] = (struct spec){
				.bytes = 1 + slu_test_random(&random) % 20,
				.place = DEV,
				.dirty = slu_test_random(&random) % 2,
				.last_use = slu_test_random(&random) % 5,
			};
			total += specs[i].bytes;
		}
		make(&list, units, specs, n);
		shortfall = 1 + slu_test_random(&random) % total;
		least = least_sum(units, n, shortfall);

		for (missing = shortfall; missing > 0; missing = slu_sub_floor(missing, u->bytes)) {
			u = slu_place_next_out(&list, DEV, missing, &now);
			assert_non_null(u);
			u->place = RAM;
			out += u->bytes;
			last = u;
			smallest = SLU_MIN(smallest, u->bytes);
		}
		assert_true(out >= shortfall);
		assert_true(out - last->bytes < shortfall); /* I11 */
		assert_true(out >= least);
		/* below FAR largest units every choice is planned: nothing superfluous */
		if (shortfall <= 8)
			assert_true(out - shortfall < smallest);
		assert_true(out < least + 20);
	}
}

static void a_plan_near_its_end_has_no_superfluous_unit(void **state)
{
	uint64_t random = slu_test_seed(12);

	for (unsigned round = 0; round < 3000; round++) {
		size_t n = 2 + slu_test_random(&random) % 7;
		struct spec specs[N_MAX];
		struct slu_unit units[N_MAX];
		struct slu_unit_list list;
		uint64_t total = 0, shortfall, missing, out = 0, smallest = UINT64_MAX;
		struct slu_unit *u;

		/* few enough that the whole switch is planned */
		for (size_t i = 0; i < n; i++) {
			specs[i] = (struct spec){
				.bytes = i ? 1 + slu_test_random(&random) % 16 : 40,
				.place = DEV,
				.dirty = slu_test_random(&random) % 2,
				.last_use = slu_test_random(&random) % 5,
			};
			total += specs[i].bytes;
		}
		make(&list, units, specs, n);
		shortfall = 1 + slu_test_random(&random) % total;

		for (missing = shortfall; missing > 0; missing = slu_sub_floor(missing, u->bytes)) {
			u = slu_place_next_out(&list, DEV, missing, &now);
			assert_non_null(u);
			u->place = RAM;
			out += u->bytes;
			smallest = SLU_MIN(smallest, u->bytes);
		}
		assert_true(out >= shortfall);
		assert_true(out - shortfall < smallest);
	}
}

/* Units that nothing tells apart: little more leaves than the best set of them. */
static void the_smallest_set_that_reaches_the_shortfall_leaves(void **state)
{
	static const uint64_t sizes[] = { 2, 2, 4, 6, 8, 16, 32, 32 };
	uint64_t random = slu_test_seed(13), sum = 0, least = 0;

	for (unsigned round = 0; round < 3000; round++) {
		size_t n = 2 + slu_test_random(&random) % (N_MAX - 2);
		uint64_t total = 0, shortfall, missing;
		struct spec specs[N_MAX];
		struct slu_unit units[N_MAX];
		struct slu_unit_list list;
		struct slu_unit *u;

		for (size_t i = 0; i < n; i++) {
			uint64_t k = slu_test_random(&random) % SLU_ARRAY_SIZE(sizes);

			specs[i] = (struct spec){ sizes[k], DEV, true, i % 3 };
			total += specs[i].bytes;
		}
		make(&list, units, specs, n);
		shortfall = 1 + slu_test_random(&random) % total;
		least += least_sum(units, n, shortfall);
		for (missing = shortfall; missing > 0; missing = slu_sub_floor(missing, u->bytes)) {
			u = slu_place_next_out(&list, DEV, missing, &now);
			assert_non_null(u);
			u->place = RAM;
			sum += u->bytes;
		}
	}
	printf("# %llu departed, %llu would do\n", (unsigned long long)sum,
	       (unsigned long long)least);
	assert_true(sum - least <= least / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_order_of_leaving),
		cmocka_unit_test(units_that_may_not_leave_stay),
		cmocka_unit_test(units_of_a_waiting_command_leave_last),
		cmocka_unit_test(the_order_of_coming_in),
		cmocka_unit_test(a_running_unit_leaves_if_no_other_is_as_good),
		cmocka_unit_test(the_working_set_comes_first_and_leaves_last),
		cmocka_unit_test(the_least_recently_used_is_mapped),
		cmocka_unit_test(no_unit_leaves_for_nothing),
		cmocka_unit_test(a_plan_near_its_end_has_no_superfluous_unit),
		cmocka_unit_test(the_smallest_set_that_reaches_the_shortfall_leaves),
	};

	return cmocka_run_group_tests_name("place", tests, NULL, NULL);
}
