/* SPDX-License-Identifier: Apache-2.0 */

#include "place/trial.h"

#include "base/util.h"

#define MEMORY_WINDOWS 8 /* when so much has come in on paper, what came before counts half */
#define LOSS_PARTS     8 /* foresight is given up for an eighth more */

/*
 * Whether what was named since its last naming leaves room for @u in a window. A unit that a
 * command waits for is at the end of the list already, and was not named yet.
 */
static bool is_recent(const struct slu_unit_list *recent, const struct slu_unit *u,
		      uint64_t window_bytes)
{
	uint64_t bytes = u->bytes;
	const struct slu_unit *other;

	TAILQ_FOREACH_REVERSE(other, recent, slu_unit_list, working_link)
	{
		if (other->last_use > u->last_use && other != u)
			bytes += other->bytes;
		else if (!other->wanted && other != u)
			break;
		if (bytes > window_bytes)
			return false;
	}
	return true;
}

/* The command's own units stay. */
static struct slu_unit *last_needed(const struct slu_foresight *f,
				    const struct slu_unit_list *units, const struct slu_unit *named)
{
	uint64_t distance, most = 0;
	struct slu_unit *u, *best = NULL;

	TAILQ_FOREACH (u, units, link) {
		if (!u->on_paper || u == named || u->last_use == f->now)
			continue;
		distance = slu_foresight_guess(f, u);
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
	if (t->foreseen_bytes <= t->recent_bytes)
		f->is_blind = false;
	else if (t->foreseen_bytes > t->recent_bytes + t->recent_bytes / LOSS_PARTS)
		f->is_blind = true;
	if (t->recent_bytes + t->foreseen_bytes > MEMORY_WINDOWS * window_bytes) {
		t->recent_bytes /= 2;
		t->foreseen_bytes /= 2;
	}
}

void slu_trial_named(struct slu_trial *t, struct slu_foresight *f,
		     const struct slu_unit_list *units, const struct slu_unit_list *recent,
		     struct slu_unit *u, uint64_t window_bytes)
{
	bool was_on_paper = u->on_paper;
	struct slu_unit *out;

	if (u->was_named && u->last_use == f->now)
		return; /* the same command */
	if (!was_on_paper) {
		u->on_paper = true;
		t->held_bytes += u->bytes;
	}
	while (t->held_bytes > window_bytes && (out = last_needed(f, units, u)))
		slu_trial_gone(t, out);
	if (!u->was_named)
		return;
	t->foreseen_bytes += was_on_paper ? 0 : u->bytes;
	t->recent_bytes += is_recent(recent, u, window_bytes) ? 0 : u->bytes;
	judge(t, f, window_bytes);
}

void slu_trial_gone(struct slu_trial *t, struct slu_unit *u)
{
	if (!u->on_paper)
		return;
	u->on_paper = false;
	t->held_bytes -= u->bytes;
}
