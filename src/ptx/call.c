/* SPDX-License-Identifier: Apache-2.0 */
/* Calls: lists of .param variables, and whether the function takes them. */
#include <errno.h>

#include "base/error.h"
#include "ptx/operand.h"

/* "(a, b)": names of .param variables */
static int parse_call_list(struct slu_ptx_parser *p, const struct slu_ptx_variable ***ret_list,
			   unsigned *ret_n)
{
	struct slu_ptx_list list = { .item_size = sizeof(struct slu_ptx_variable *) };
	struct slu_ptx_symbol *symbol;
	int r = 0;

	if (slu_ptx_accept(p, ')'))
		return 0;
	do {
		struct slu_ptx_token name = p->lexer.token;

		symbol = slu_ptx_scope_find(&p->scope, name.text, name.size);
		if (name.kind != SLU_PTX_TOKEN_WORD || !symbol ||
		    symbol->kind != SLU_PTX_SYMBOL_VARIABLE ||
		    symbol->variable->space != SLU_PTX_SPACE_PARAM) {
			r = slu_ptx_refuse_token(p, "a .param variable");
			break;
		}
		slu_ptx_lexer_next(&p->lexer);
		r = slu_fold(slu_ptx_list_add(&list, &symbol->variable));
	} while (!r && slu_ptx_accept(p, ','));
	if (!r) {
		*ret_list =
			slu_ptx_arena_copy(p->module->arena, list.items, list.n * list.item_size);
		*ret_n = (unsigned)list.n;
		r = *ret_list ? slu_ptx_expect(p, ')') : slu_error(-ENOMEM);
	}
	slu_ptx_list_deinit(&list);
	return r;
}

static int check_call_list(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
			   const struct slu_ptx_variable *const *given, unsigned n_given,
			   struct slu_ptx_variable *const *wanted, unsigned n_wanted)
{
	if (n_given != n_wanted)
		return slu_ptx_refuse(p, opcode, "the function takes %u values here, not %u",
				      n_wanted, n_given);
	for (unsigned i = 0; i < n_given; i++)
		if (given[i]->size != wanted[i]->size)
			return slu_ptx_refuse(p, opcode, "'%s' has %llu bytes, not %llu",
					      given[i]->name, (unsigned long long)given[i]->size,
					      (unsigned long long)wanted[i]->size);
	return 0;
}

int slu_ptx_parse_call(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
		       struct slu_ptx_instr *instr)
{
	struct slu_ptx_demand wide = { .size = 8 };
	struct slu_ptx_call *call;
	struct slu_ptx_raw target;
	bool has_more;
	int r;

	call = slu_ptx_arena_take(p->module->arena, sizeof(*call));
	if (!call)
		return slu_error(-ENOMEM);
	if (slu_ptx_accept(p, '(')) {
		r = parse_call_list(p, &call->results, &call->n_results);
		if (!r)
			r = slu_ptx_expect(p, ',');
		if (r)
			return r;
	}
	r = slu_ptx_parse_raw(p, &target);
	if (r)
		return r;
	if (target.is_unknown)
		return slu_ptx_refuse_unknown(p, &target.token);
	if (target.is_minus || target.operand.is_negated || target.operand.selector)
		return slu_ptx_refuse_operand(p, &target, "a function");
	has_more = slu_ptx_accept(p, ',');
	/* the prototype may stand there alone if nothing is passed */
	if (has_more && (target.operand.kind != SLU_PTX_OPERAND_REG ||
			 p->lexer.token.kind != SLU_PTX_TOKEN_WORD)) {
		r = slu_ptx_expect(p, '(');
		if (!r)
			r = parse_call_list(p, &call->params, &call->n_params);
		if (r)
			return r;
		has_more = slu_ptx_accept(p, ',');
	}
	if (target.operand.kind == SLU_PTX_OPERAND_FUNCTION) {
		const struct slu_ptx_function *f = target.operand.function;

		if (has_more)
			return slu_ptx_refuse_token(p, "';'");
		if (f->is_kernel)
			return slu_ptx_refuse(p, &target.token, "a kernel cannot be called");
		r = check_call_list(p, opcode, call->params, call->n_params, f->params,
				    f->n_params);
		if (!r)
			r = check_call_list(p, opcode, call->results, call->n_results, f->results,
					    f->n_results);
	} else if (target.operand.kind == SLU_PTX_OPERAND_REG) {
		r = slu_ptx_check_reg(p, &target, target.operand.reg, &wide);
		/* the prototype says what the call says itself */
		if (!r && has_more) {
			if (p->lexer.token.kind != SLU_PTX_TOKEN_WORD)
				return slu_ptx_refuse_token(p, "a prototype");
			slu_ptx_lexer_next(&p->lexer);
		}
	} else {
		r = slu_ptx_refuse_operand(p, &target, "a function");
	}
	if (r)
		return r;
	instr->operands =
		slu_ptx_arena_copy(p->module->arena, &target.operand, sizeof(target.operand));
	if (!instr->operands)
		return slu_error(-ENOMEM);
	instr->n_operands = 1;
	instr->call = call;
	return slu_ptx_expect(p, ';');
}
