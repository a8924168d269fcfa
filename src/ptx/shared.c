/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which shared memory a kernel needs. Variables of .shared stand at module scope or in functions;
 * a kernel gets those that it names, and those that functions it may call name. An indirect call
 * may reach every function whose address is taken.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/parser.h"

struct walk {
	const struct slu_ptx_module *module;
	uint32_t *functions_seen; /* the number of the kernel that last came by */
	uint32_t *variables_seen;
	uint32_t *to_visit; /* functions */
	uint32_t n_to_visit;
	uint32_t *found; /* variables, in the order of being named */
	uint32_t n_found;
	uint32_t stamp;
};

static void visit_function(struct walk *w, const struct slu_ptx_function *f)
{
	if (w->functions_seen[f->index] == w->stamp)
		return;
	w->functions_seen[f->index] = w->stamp;
	w->to_visit[w->n_to_visit++] = f->index;
}

static void visit_operand(struct walk *w, const struct slu_ptx_operand *o)
{
	if (o->kind == SLU_PTX_OPERAND_FUNCTION) {
		visit_function(w, o->function);
	} else if (o->kind == SLU_PTX_OPERAND_ADDRESS) {
		visit_operand(w, o->elements);
	} else if (o->kind == SLU_PTX_OPERAND_VARIABLE) {
		const struct slu_ptx_variable *v = o->variable;

		if (v->space == SLU_PTX_SPACE_SHARED && w->variables_seen[v->index] != w->stamp) {
			w->variables_seen[v->index] = w->stamp;
			w->found[w->n_found++] = v->index;
		}
	}
}

static void visit_taken(struct walk *w)
{
	for (unsigned i = 0; i < w->module->n_variables; i++)
		for (const struct slu_ptx_reloc *r = w->module->variables[i]->relocs; r;
		     r = r->next)
			if (r->function)
				visit_function(w, r->function);
}

static void visit_body(struct walk *w, const struct slu_ptx_function *f)
{
	for (uint32_t i = 0; i < f->n_instrs; i++) {
		const struct slu_ptx_instr *instr = &f->instrs[i];

		if (instr->call && instr->operands[0].kind == SLU_PTX_OPERAND_REG)
			visit_taken(w);
		for (unsigned k = 0; k < instr->n_operands; k++)
			visit_operand(w, &instr->operands[k]);
	}
}

static int place_kernel(struct walk *w, struct slu_ptx_function *kernel)
{
	struct slu_ptx_arena *arena = w->module->arena;
	uint64_t bytes = 0;
	unsigned dynamic_align = 16;

	w->stamp++;
	w->n_found = 0;
	w->n_to_visit = 0;
	visit_function(w, kernel);
	while (w->n_to_visit)
		visit_body(w, w->module->functions[w->to_visit[--w->n_to_visit]]);
	kernel->shared = slu_ptx_arena_take(arena, w->n_found * sizeof(*kernel->shared));
	kernel->shared_offsets =
		slu_ptx_arena_take(arena, w->n_found * sizeof(*kernel->shared_offsets));
	if (!kernel->shared || !kernel->shared_offsets)
		return slu_error(-ENOMEM);
	for (uint32_t i = 0; i < w->n_found; i++) {
		const struct slu_ptx_variable *v = w->module->variables[w->found[i]];

		if (v->is_open) {
			dynamic_align = SLU_MAX(dynamic_align, v->align);
			continue;
		}
		bytes = slu_round_up(bytes, v->align);
		kernel->shared[kernel->n_shared] = v;
		kernel->shared_offsets[kernel->n_shared++] = bytes;
		bytes += v->size;
	}
	kernel->shared_bytes = bytes;
	kernel->dynamic_shared_align = dynamic_align;
	return 0;
}

int slu_ptx_place_shared(struct slu_ptx_module *module)
{
	struct walk w = { .module = module };
	int r = 0;

	w.functions_seen = calloc(module->n_functions + 1, sizeof(uint32_t));
	w.variables_seen = calloc(module->n_variables + 1, sizeof(uint32_t));
	w.to_visit = calloc(module->n_functions + 1, sizeof(uint32_t));
	w.found = calloc(module->n_variables + 1, sizeof(uint32_t));
	if (!w.functions_seen || !w.variables_seen || !w.to_visit || !w.found)
		r = slu_error(-ENOMEM);
	for (unsigned i = 0; !r && i < module->n_functions; i++)
		if (module->functions[i]->is_kernel)
			r = place_kernel(&w, module->functions[i]);
	free(w.functions_seen);
	free(w.variables_seen);
	free(w.to_visit);
	free(w.found);
	return r;
}
