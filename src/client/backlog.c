/* SPDX-License-Identifier: Apache-2.0 */
#include "client/backlog.h"

/* launches before these count half */
#define N_LEARNED_MAX 32
#define BUSY_MAX_NS   (8 * SLU_BACKLOG_TARGET_NS)

void slu_backlog_learn(struct slu_backlog *b, uint64_t n, uint64_t took_ns, bool is_exact)
{
	if (is_exact || !b->n_learned || took_ns <= n * b->cost_ns) {
		b->busy_ns += took_ns;
		b->n_learned += n;
		b->cost_ns = b->busy_ns / b->n_learned;
	}
	/* one report may cover many times that: without the loop it would count for long */
	while (b->n_learned > N_LEARNED_MAX || (b->busy_ns > BUSY_MAX_NS && b->n_learned > 1)) {
		b->busy_ns /= 2;
		b->n_learned = (b->n_learned + 1) / 2;
	}
}

uint32_t slu_backlog_limit(const struct slu_backlog *b, uint32_t most)
{
	uint64_t n = b->cost_ns ? SLU_BACKLOG_TARGET_NS / b->cost_ns : most;

	if (!b->n_learned)
		return SLU_BACKLOG_UNKNOWN;
	n = SLU_MAX(n, b->cost_ns < SLU_BACKLOG_PAIRED_NS ? UINT64_C(2) : UINT64_C(1));
	return (uint32_t)SLU_MIN(n, (uint64_t)most);
}
