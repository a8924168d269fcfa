/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What programs of many families bring in (lib/families.h), compared with Belady's optimum and with
 * eviction of the least recently named.
 */

#include "lib/test.h"

#include "lib/families.h"

enum { SEED = 20 };

/* The cost until the shadow windows have decided, and of the change. */
static unsigned margin(unsigned lru)
{
	return lru / 16 + 4;
}

static void judge(const struct slu_family *f, unsigned parameter, uint64_t seed)
{
	struct slu_namings n = { .random = seed };
	unsigned belady, lru, foresight;

	f->make(&n, parameter);
	belady = slu_namings_run(&n, f->window, SLU_NAMINGS_BELADY);
	lru = slu_namings_run(&n, f->window, SLU_NAMINGS_LRU);
	foresight = slu_namings_run(&n, f->window, SLU_NAMINGS_FORESIGHT);
	slu_namings_deinit(&n);
	printf("# %s %u: %u come in; Belady %u, least recently named %u\n", f->name, parameter,
	       foresight, belady, lru);
	if (f->belady_percent)
		assert_in_range(foresight, belady, belady * f->belady_percent / 100);
	assert_in_range(foresight, belady, lru + margin(lru));
}

static void foresight_stays_near_the_optimum_in_every_family(void **state)
{
	uint64_t seed = slu_test_seed(SEED);

	for (size_t i = 0; i < slu_n_families; i++)
		for (unsigned p = slu_families[i].least; p;
		     p = slu_family_next(&slu_families[i], p))
			judge(&slu_families[i], p, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foresight_stays_near_the_optimum_in_every_family),
	};

	return cmocka_run_group_tests_name("families", tests, NULL, NULL);
}
