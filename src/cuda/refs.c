/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/refs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The first item at or above @at. */
static size_t refs_lower_bound(const struct slu_refs *refs, uint64_t at)
{
	size_t low = 0, high = refs->n_items;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (refs->items[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int slu_refs_add(struct slu_refs *refs, struct slu_ref ref)
{
	size_t at;

	if (refs->n_items == refs->max_items) {
		size_t more = refs->max_items ? 2 * refs->max_items : 64;
		struct slu_ref *grown = realloc(refs->items, more * sizeof(*grown));

		if (!grown)
			return slu_error(-ENOMEM);
		refs->items = grown;
		refs->max_items = more;
	}
	at = refs_lower_bound(refs, ref.at);
	while (at < refs->n_items && refs->items[at].at == ref.at)
		at++;
	memmove(&refs->items[at + 1], &refs->items[at], (refs->n_items - at) * sizeof(ref));
	refs->items[at] = ref;
	refs->n_items++;
	return 0;
}

const struct slu_ref *slu_refs_find(const struct slu_refs *refs, uint64_t at)
{
	size_t i = refs_lower_bound(refs, at);

	if (i < refs->n_items && refs->items[i].at == at)
		return &refs->items[i];
	/* those that cover more than one place do not overlap: only the one before can reach here
	 */
	if (i && at - refs->items[i - 1].at < refs->items[i - 1].n)
		return &refs->items[i - 1];
	return NULL;
}

bool slu_refs_overlaps(const struct slu_refs *refs, uint64_t at, uint64_t n)
{
	size_t i = refs_lower_bound(refs, at);

	return (i < refs->n_items && refs->items[i].at - at < n) ||
	       (i && at - refs->items[i - 1].at < refs->items[i - 1].n);
}

void slu_refs_retarget(struct slu_refs *refs, uint64_t at, void *target)
{
	size_t i = refs_lower_bound(refs, at);

	if (i < refs->n_items && refs->items[i].at == at)
		refs->items[i].target = target;
}

bool slu_refs_take(struct slu_refs *refs, uint64_t at, uint64_t n, struct slu_ref *ret_ref)
{
	size_t i = refs_lower_bound(refs, at);

	if (i == refs->n_items || refs->items[i].at - at >= n ||
	    refs->items[i].n > n - (refs->items[i].at - at))
		return false;
	*ret_ref = refs->items[i];
	refs->n_items--;
	memmove(&refs->items[i], &refs->items[i + 1], (refs->n_items - i) * sizeof(refs->items[0]));
	return true;
}

void slu_refs_deinit(struct slu_refs *refs)
{
	free(refs->items);
	*refs = (struct slu_refs){ 0 };
}
