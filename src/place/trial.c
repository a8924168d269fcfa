/* SPDX-License-Identifier: Apache-2.0 */

#include "place/trial.h"

#include "base/util.h"

#define MEMORY_WINDOWS 8 /* when so much has come in on paper, what came before counts half */
#define LOSS_PARTS     8 /* foresight is given up for an eighth more */

static void drop(struct slu_trial *t, enum slu_paper paper, struct slu_unit *u)
{
	if (!u->on_paper[paper])
		return;
	u->on_paper[paper] = false;
	t->held_bytes[paper] -= u->bytes;
}

/* Who leaves @paper next, by what was known before this command, whose own units stay. */
static struct slu_unit *next_out(const struct slu_foresight *f, enum slu_paper paper,
				 const struct slu_unit_list *units)
{
	uint64_t distance = 0, most = 0;
	struct slu_unit *u, *best = NULL;
	struct slu_foresight before = *f;

	before.now--;
	TAILQ_FOREACH (u, units, link) {
		if (!u->on_paper[paper] || u->last_use == f->now)
			continue;
		if (paper == SLU_PAPER_FORESEEN)
			distance = slu_foresight_guess(&before, u);
		if (!best || distance > most ||
		    (distance == most && u->last_use < best->last_use)) {
			best = u;
			most = distance;
		}
	}
	return best;
}

static void judge(struct slu_trial *t, struct slu_foresight *f, uint64_t window_bytes)
{
	uint64_t *recent = &t->came_bytes[SLU_PAPER_RECENT];
	uint64_t *foreseen = &t->came_bytes[SLU_PAPER_FORESEEN];

	if (*foreseen <= *recent)
		f->is_blind = false;
	else if (*foreseen > *recent + *recent / LOSS_PARTS)
		f->is_blind = true;
	if (*recent + *foreseen > MEMORY_WINDOWS * window_bytes) {
		*recent /= 2;
		*foreseen /= 2;
	}
}

void slu_trial_named(struct slu_trial *t, struct slu_foresight *f,
		     const struct slu_unit_list *units, struct slu_unit *u, uint64_t window_bytes)
{
	struct slu_unit *out;

	for (enum slu_paper k = 0; k < _SLU_PAPER_MAX; k++) {
		if (!u->on_paper[k]) {
			u->on_paper[k] = true;
			t->held_bytes[k] += u->bytes;
			t->came_bytes[k] += u->was_on_paper ? u->bytes : 0;
		}
		while (t->held_bytes[k] > window_bytes && (out = next_out(f, k, units)))
			drop(t, k, out);
	}
	if (u->was_on_paper)
		judge(t, f, window_bytes);
	u->was_on_paper = true;
}

bool slu_trial_holds(const struct slu_unit *u)
{
	return u->on_paper[SLU_PAPER_RECENT] && u->on_paper[SLU_PAPER_FORESEEN];
}

void slu_trial_gone(struct slu_trial *t, struct slu_unit *u)
{
	for (enum slu_paper k = 0; k < _SLU_PAPER_MAX; k++)
		drop(t, k, u);
}
