/* SPDX-License-Identifier: Apache-2.0 */

#include "cuabi/names.h"

#include <stdlib.h>
#include <string.h>

const struct slu_cuname slu_cunames[_SLU_CUNAME_MAX] = {
#define SLU_CUNAME(symbol, base, version, thread) { #symbol, #base, version, thread },
#include "cuabi/names.def"
#undef SLU_CUNAME
};

static int compare(const void *key, const void *row)
{
	return strcmp(key, ((const struct slu_cuname *)row)->symbol);
}

int slu_cuname_find(const char *symbol)
{
	const struct slu_cuname *row =
		bsearch(symbol, slu_cunames, _SLU_CUNAME_MAX, sizeof(slu_cunames[0]), compare);

	return row ? (int)(row - slu_cunames) : -1;
}

int slu_cuname_resolve(const char *base, int version, bool per_thread)
{
	int best = SLU_CUNAME_E_UNKNOWN;
	int first = slu_cuname_find(base);

	/* All forms of a base name begin with it, and the table is sorted. */
	for (int i = first; i >= 0 && i < _SLU_CUNAME_MAX; i++) {
		const struct slu_cuname *row = &slu_cunames[i];

		if (strncmp(row->symbol, base, strlen(base)))
			break;
		if (strcmp(row->base, base))
			continue;
		if (row->version > version) {
			if (best < 0)
				best = SLU_CUNAME_E_OLDER;
			continue;
		}
		if (row->per_thread && !per_thread)
			continue;
		if (best < 0 || row->per_thread > slu_cunames[best].per_thread ||
		    (row->per_thread == slu_cunames[best].per_thread &&
		     row->version > slu_cunames[best].version))
			best = i;
	}
	return best;
}
