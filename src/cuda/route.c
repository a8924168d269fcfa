/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/route.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/util.h"
#include "cuda/real.h"

struct pair {
	void *real, *ours;
};

static const struct {
	enum slu_cuname_id id;
	void *ours;
} calls[] = {
#define SLU_CALL(name) { SLU_CUNAME_##name, (void *)name },
#include "cuda/calls.def"
#undef SLU_CALL
};

static struct {
	pthread_once_t once;
	struct pair pairs[SLU_ARRAY_SIZE(calls)]; /* sorted by real; constant after once */
	size_t n;
} table = { .once = PTHREAD_ONCE_INIT };

static int pair_compare(const void *a, const void *b)
{
	uintptr_t left = (uintptr_t)((const struct pair *)a)->real;
	uintptr_t right = (uintptr_t)((const struct pair *)b)->real;

	return (left > right) - (left < right);
}

static void routes_fill(void)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(calls); i++)
		if (slu_real_has(calls[i].id))
			table.pairs[table.n++] = (struct pair){
				.real = slu_real_get(calls[i].id),
				.ours = calls[i].ours,
			};
	qsort(table.pairs, table.n, sizeof(table.pairs[0]), pair_compare);
}

void *slu_route_find(void *real)
{
	const struct pair key = { .real = real };
	const struct pair *found;

	pthread_once(&table.once, routes_fill);
	found = bsearch(&key, table.pairs, table.n, sizeof(key), pair_compare);
	return found ? found->ours : real;
}
