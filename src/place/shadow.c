/* SPDX-License-Identifier: Apache-2.0 */

#include "place/shadow.h"

#include "base/util.h"

#define MEMORY_WINDOWS 8 /* windows brought in after which older bytes count half */
#define LOSS_PARTS     8 /* an eighth more bytes than the other cache disproves foresight */

static void cache_drop(struct slu_shadow *shadow, enum slu_shadow_cache cache, struct slu_unit *u)
{
	if (!u->in_shadow[cache])
		return;
	u->in_shadow[cache] = false;
	shadow->held_bytes[cache] -= u->bytes;
}

/* The unit that @cache evicts next, by what was known before this command; its own units stay. */
static struct slu_unit *cache_victim(const struct slu_foresight *f, enum slu_shadow_cache cache,
				     const struct slu_unit_list *units)
{
	uint64_t distance = 0, most = 0;
	struct slu_unit *u, *best = NULL;
	struct slu_foresight before = *f;

	before.now--;
	TAILQ_FOREACH (u, units, link) {
		if (!u->in_shadow[cache] || u->last_use == f->now)
			continue;
		if (cache == SLU_SHADOW_FORESEEN)
			distance = slu_foresight_guess(&before, u);
		if (!best || distance > most ||
		    (distance == most && u->last_use < best->last_use)) {
			best = u;
			most = distance;
		}
	}
	return best;
}

static void shadow_judge(struct slu_shadow *shadow, struct slu_foresight *f, uint64_t window_bytes)
{
	uint64_t *recent = &shadow->came_bytes[SLU_SHADOW_RECENT];
	uint64_t *foreseen = &shadow->came_bytes[SLU_SHADOW_FORESEEN];

	if (*foreseen <= *recent)
		f->is_blind = false;
	else if (*foreseen > *recent + *recent / LOSS_PARTS)
		f->is_blind = true;
	if (*recent + *foreseen > MEMORY_WINDOWS * window_bytes) {
		*recent /= 2;
		*foreseen /= 2;
	}
}

void slu_shadow_named(struct slu_shadow *shadow, struct slu_foresight *f,
		      const struct slu_unit_list *units, struct slu_unit *u, uint64_t window_bytes)
{
	struct slu_unit *out;

	for (enum slu_shadow_cache cache = 0; cache < _SLU_SHADOW_MAX; cache++) {
		if (!u->in_shadow[cache]) {
			u->in_shadow[cache] = true;
			shadow->held_bytes[cache] += u->bytes;
			shadow->came_bytes[cache] += u->was_in_shadow ? u->bytes : 0;
		}
		while (shadow->held_bytes[cache] > window_bytes &&
		       (out = cache_victim(f, cache, units)))
			cache_drop(shadow, cache, out);
	}
	if (u->was_in_shadow)
		shadow_judge(shadow, f, window_bytes);
	u->was_in_shadow = true;
}

bool slu_shadow_holds(const struct slu_unit *u)
{
	return u->in_shadow[SLU_SHADOW_RECENT] && u->in_shadow[SLU_SHADOW_FORESEEN];
}

void slu_shadow_remove(struct slu_shadow *shadow, struct slu_unit *u)
{
	for (enum slu_shadow_cache cache = 0; cache < _SLU_SHADOW_MAX; cache++)
		cache_drop(shadow, cache, u);
}
