/* SPDX-License-Identifier: Apache-2.0 */
#include "base/suggest.h"

#include <string.h>

#include "base/util.h"

#define LENGTH_MAX 64

/* Edits from @a to @b: a letter more, less, another one, or two that changed places. */
static size_t distance_of(const char *a, size_t n_a, const char *b, size_t n_b)
{
	size_t rows[3][LENGTH_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= n_b; j++)
		last[j] = j;
	for (size_t i = 1; i <= n_a; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= n_b; j++) {
			row[j] = SLU_MIN(last[j], row[j - 1]) + 1;
			row[j] = SLU_MIN(row[j], last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = SLU_MIN(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[n_b];
}

void slu_suggest_offer(struct slu_suggest *suggest, const char *candidate)
{
	size_t n = strlen(suggest->word), n_candidate = strlen(candidate), distance;

	if (n < 2 || n > LENGTH_MAX || n_candidate > LENGTH_MAX)
		return;
	distance = distance_of(suggest->word, n, candidate, n_candidate);
	/* whoever wrote the beginning alone made one mistake, however much is missing */
	if (!strncmp(suggest->word, candidate, n))
		distance = SLU_MIN(distance, (size_t)1);
	if (distance > 1 + n / 4 || (suggest->best && distance >= suggest->distance))
		return;
	suggest->best = candidate;
	suggest->distance = distance;
}
