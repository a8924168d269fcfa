/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How many units programs of many kinds bring in, compared with Belady's optimum, which knows the
 * future, and with eviction of the least recently named, which knows nothing of it. Judged
 * foresight comes near the first if a program repeats itself, and is never much worse than the
 * second.
 */

#include "lib/test.h"

#include "lib/namings.h"
#include "place/place.h"
#include "place/shadow.h"

struct pattern {
	const char *name;
	unsigned window;
	unsigned belady_percent; /* of Belady's count, at most; 0: only the other bound holds */
	void (*make)(struct slu_namings *n);
};

static void rounds(struct slu_namings *n, unsigned first, unsigned n_units, unsigned n_rounds)
{
	for (unsigned i = 0; i < n_units * n_rounds; i++)
		slu_namings_add(n, first + i % n_units);
}

/* -- the programs ----------------------------------------------------------------------------- */

static void go_round(struct slu_namings *n)
{
	rounds(n, 0, 24, 13);
}

static void go_round_through_many(struct slu_namings *n)
{
	rounds(n, 0, 240, 13);
}

static void lack_little(struct slu_namings *n)
{
	rounds(n, 0, 100, 13);
}

static void name_each_twice(struct slu_namings *n)
{
	for (unsigned i = 0; i < 26 * 24; i++)
		slu_namings_add(n, i / 2 % 24);
}

static void go_to_and_fro(struct slu_namings *n)
{
	for (unsigned r = 0; r < 13; r++)
		for (unsigned i = 0; i < 24; i++)
			slu_namings_add(n, r % 2 ? 23 - i : i);
}

static void keep_one_at_hand(struct slu_namings *n)
{
	for (unsigned i = 0; i < 13 * 24; i++) {
		slu_namings_add(n, 24);
		slu_namings_add(n, i % 24);
	}
}

static void shuffle_each_round(struct slu_namings *n)
{
	unsigned order[24];

	for (unsigned i = 0; i < 24; i++)
		order[i] = i;
	for (unsigned r = 0; r < 13; r++)
		for (unsigned i = 0; i < 24; i++) {
			unsigned k = i + slu_namings_chance(n, 24 - i), u = order[k];

			order[k] = order[i];
			order[i] = u;
			slu_namings_add(n, u);
		}
}

static void change_the_subject(struct slu_namings *n)
{
	rounds(n, 0, 24, 6);
	rounds(n, 100, 20, 6);
	rounds(n, 0, 24, 6);
}

static void loop_and_sweep(struct slu_namings *n)
{
	for (unsigned r = 0; r < 20; r++) {
		rounds(n, 0, 8, 4);
		rounds(n, 8, 16, 1);
	}
}

static void follow_chance(struct slu_namings *n)
{
	for (unsigned i = 0; i < 1000; i++)
		slu_namings_add(n, slu_namings_chance(n, 24));
}

static void drift(struct slu_namings *n)
{
	for (unsigned i = 0; i < 1000; i++)
		slu_namings_add(n, i / 8 + slu_namings_chance(n, 16));
}

static void prefer_few(struct slu_namings *n)
{
	for (unsigned i = 0; i < 1000; i++)
		slu_namings_add(
			n, slu_namings_chance(
				   n, 1 + slu_namings_chance(n, 1 + slu_namings_chance(n, 64))));
}

static void foresight_comes_near_the_optimum_and_never_loses_much(void **state)
{
	static const struct pattern patterns[] = {
		{ "round and round", 15, 110, go_round },
		{ "round through many", 150, 110, go_round_through_many },
		{ "lacks little", 98, 125, lack_little },
		{ "each twice", 15, 125, name_each_twice },
		{ "to and fro", 15, 125, go_to_and_fro },
		{ "one at hand", 16, 110, keep_one_at_hand },
		{ "shuffled rounds", 15, 130, shuffle_each_round },
		{ "another subject", 15, 140, change_the_subject },
		{ "a loop and a sweep", 15, 0, loop_and_sweep },
		{ "chance", 15, 0, follow_chance },
		{ "drift", 12, 0, drift },
		{ "few are preferred", 12, 0, prefer_few },
	};
	uint64_t seed = slu_test_seed(11);

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		const struct pattern *p = &patterns[i];
		struct slu_namings n = { .random = seed };
		unsigned belady, past, foreseen;

		p->make(&n);
		belady = slu_namings_run(&n, p->window, SLU_NAMINGS_BELADY);
		past = slu_namings_run(&n, p->window, SLU_NAMINGS_LRU);
		foreseen = slu_namings_run(&n, p->window, SLU_NAMINGS_FORESIGHT);
		slu_namings_deinit(&n);
		printf("# %s: %u come in; Belady %u, least recently named %u\n", p->name, foreseen,
		       belady, past);
		if (p->belady_percent)
			assert_in_range(foreseen, belady, belady * p->belady_percent / 100);
		/* the cost until the decision, and of the change */
		assert_in_range(foreseen, belady, past + past / 8 + 2 * p->window);
	}
}

/*
 * A program of eight units does one round a job. Between jobs another program takes its window down
 * to two and a half units; it grows again in the middle of a job. Then everything fits, and it must
 * not seem that all units had stayed in the shadow window of the least recently named, which had to
 * bring in all of them. The units needed first must stay.
 */
static void a_window_that_changes_does_not_disprove_foresight(void **state)
{
	enum { N = 8, BYTES = 10, SMALL = 25, N_JOBS = 50 };
	uint64_t seed = slu_test_seed(12);
	struct slu_unit units[N] = { 0 };
	struct slu_unit_list list;
	struct slu_foresight f = { 0 };
	struct slu_shadow shadow = { 0 };

	TAILQ_INIT(&list);
	for (unsigned i = 0; i < N; i++) {
		units[i].bytes = BYTES;
		TAILQ_INSERT_TAIL(&list, &units[i], link);
	}
	for (unsigned job = 0; job < N_JOBS; job++) {
		unsigned grows_at = job < 2 ? 0 : (unsigned)(slu_test_random(&seed) % N);

		for (unsigned i = 0; i < N; i++) {
			f.now++;
			slu_foresight_named(&f, &units[i]);
			slu_shadow_named(&shadow, &f, &list, &units[i],
					 i < grows_at ? SMALL : N * BYTES);
			units[i].place = SLU_PLACE_DEVICE;
		}
		assert_false(f.is_blind);
		if (job == 0)
			continue;
		for (unsigned held = N * BYTES; held > SMALL; held -= BYTES)
			slu_place_next_out(&list, SLU_PLACE_DEVICE, held - SMALL, &f)->place =
				SLU_PLACE_RAM;
		assert_int_equal(units[0].place, SLU_PLACE_DEVICE);
		assert_int_equal(units[1].place, SLU_PLACE_DEVICE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_that_changes_does_not_disprove_foresight),
		cmocka_unit_test(foresight_comes_near_the_optimum_and_never_loses_much),
	};

	return cmocka_run_group_tests_name("shadow", tests, NULL, NULL);
}
