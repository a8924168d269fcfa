/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/kernel.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "predict/analysis.h"
#include "predict/kernel-parts.h"

/* Steps of one kernel's analysis: what is larger is unknown, and costs a moment only. */
#define BUDGET 400000

static void find_loops(struct slu_predict_analysis *an)
{
	for (uint32_t l = 0; l < an->flow.n_loops; l++) {
		const struct slu_predict_block *head = &an->flow.blocks[an->flow.loops[l].head];

		an->loop_latch[l] = UINT32_MAX;
		for (uint32_t i = 0; i < head->n_in; i++) {
			uint32_t edge = an->flow.in[head->first_in + i];

			if (an->flow.loops[l].n_latches == 1 &&
			    an->flow.edges[edge].from >= an->flow.loops[l].head)
				an->loop_latch[l] = edge;
		}
	}
	for (uint32_t edge = 0; edge < an->flow.n_edges; edge++) {
		uint32_t loop = slu_predict_loop_stayed(an, edge);

		if (loop != SLU_PREDICT_NO_LOOP)
			an->turns[loop].n_tests++;
	}
}

static int analyse(struct slu_predict_analysis *an, struct slu_predict_why *ret_why)
{
	size_t n_blocks = an->flow.n_blocks, n_edges = an->flow.n_edges, n_loops = an->flow.n_loops;
	int r;

	r = slu_predict_define_init(&an->define, &an->flow);
	if (r)
		return slu_fold(r);
	an->block_facts = calloc(n_blocks, sizeof(*an->block_facts));
	an->edge_facts = calloc(n_edges + 1, sizeof(*an->edge_facts));
	an->loop_latch = calloc(n_loops + 1, sizeof(*an->loop_latch));
	an->turns = calloc(n_loops + 1, sizeof(*an->turns));
	if (!an->block_facts || !an->edge_facts || !an->loop_latch || !an->turns)
		return slu_error(-ENOMEM);
	find_loops(an);
	slu_predict_guard_all(an);
	ret_why->reason = slu_predict_access_all(an, &ret_why->line);
	if (an->error)
		return slu_fold(an->error);
	if (an->define.error)
		return slu_fold(an->define.error);
	return slu_fold(slu_predict_program_finish(an->program));
}

int slu_predict_kernel_new(const struct slu_ptx_module *module,
			   const struct slu_ptx_function *function,
			   struct slu_predict_kernel **ret_kernel)
{
	struct slu_predict_kernel *k = calloc(1, sizeof(*k));
	struct slu_predict_analysis an = { .module = module,
					   .function = function,
					   .budget = BUDGET };
	int r;

	if (!k)
		return slu_error(-ENOMEM);
	an.program = &k->program;
	k->param_bytes = function->param_bytes;
	r = slu_predict_flow_init(&an.flow, function);
	if (r > 0) {
		k->why.reason = r == SLU_PREDICT_FLOW_E_IRREDUCIBLE ? SLU_PREDICT_REASON_IRREDUCIBLE
								    : SLU_PREDICT_REASON_LARGE;
		k->why.line = function->line;
		r = 0;
	} else if (!r && an.flow.n_blocks) {
		r = analyse(&an, &k->why);
	}
	slu_predict_define_deinit(&an.define);
	slu_predict_flow_deinit(&an.flow);
	free(an.facts);
	free(an.block_facts);
	free(an.edge_facts);
	free(an.loop_latch);
	free(an.turns);
	free(an.memo);
	if (r) {
		slu_predict_kernel_free(k);
		return slu_fold(r);
	}
	/* a program that is not whole is no program */
	if (k->why.reason)
		slu_predict_program_deinit(&k->program);
	*ret_kernel = k;
	return 0;
}

void slu_predict_kernel_free(struct slu_predict_kernel *kernel)
{
	if (!kernel)
		return;
	slu_predict_program_deinit(&kernel->program);
	free(kernel);
}

size_t slu_predict_kernel_n_ranges(const struct slu_predict_kernel *kernel)
{
	return kernel->program.n_accesses;
}

size_t slu_predict_kernel_n_ops(const struct slu_predict_kernel *kernel)
{
	return kernel->program.n_ops;
}
