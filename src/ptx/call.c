/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls: what they pass, and whether the function takes it. Values go through .param variables. A
 * register or constant that stands in a list itself gets such a variable for the time of the call,
 * a store in front of it, or a load behind it.
 */
#include <errno.h>

#include "base/error.h"
#include "ptx/operand.h"

/* One value of a list. */
struct value {
	struct slu_ptx_raw raw;
	const struct slu_ptx_variable *variable; /* NULL: @raw stands there itself */
};

/* "(a, %r1, 5)"; the opening one is behind us */
static int parse_list(struct slu_ptx_parser *p, struct slu_ptx_list *list)
{
	int r;

	if (slu_ptx_accept(p, ')'))
		return 0;
	do {
		struct value v = { 0 };
		const struct slu_ptx_operand *o = &v.raw.operand;

		r = slu_ptx_parse_raw(p, &v.raw);
		if (r)
			return r;
		if (v.raw.is_unknown)
			return slu_ptx_refuse_unknown(p, &v.raw.token);
		if (v.raw.is_minus || o->is_negated || o->selector)
			return slu_ptx_refuse_operand(p, &v.raw, "a value as it is");
		if (o->kind == SLU_PTX_OPERAND_VARIABLE) {
			if (o->variable->space != SLU_PTX_SPACE_PARAM || o->offset)
				return slu_ptx_refuse_operand(p, &v.raw, "a .param variable");
			v.variable = o->variable;
		}
		r = slu_fold(slu_ptx_list_add(list, &v));
		if (r)
			return r;
	} while (slu_ptx_accept(p, ','));
	return slu_ptx_expect(p, ')');
}

/* Gives a register or constant its variable, as @wanted is. */
static int bind(struct slu_ptx_parser *p, struct value *v, const struct slu_ptx_variable *wanted,
		bool is_result)
{
	struct slu_ptx_operand *o = &v->raw.operand;
	struct slu_ptx_demand d = { .type = wanted->type };
	int r = 0;

	d.size = slu_ptx_type_size(d.type);
	if (d.size != wanted->size)
		return slu_ptx_refuse_operand(p, &v->raw, "a .param variable of an array");
	if (!is_result)
		r = slu_ptx_check_source(p, &v->raw, &d);
	else if (o->kind == SLU_PTX_OPERAND_REG)
		r = slu_ptx_check_reg(p, &v->raw, o->reg, &d);
	else if (o->kind != SLU_PTX_OPERAND_SINK)
		r = slu_ptx_refuse_operand(p, &v->raw, "a register");
	return r ? r : slu_ptx_take_param(p, d.size, &v->variable);
}

/* @wanted are the function's parameters or results */
static int bind_list(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
		     const struct slu_ptx_list *list, struct slu_ptx_variable *const *wanted,
		     unsigned n_wanted, bool is_result,
		     const struct slu_ptx_variable ***ret_variables)
{
	const struct slu_ptx_variable **variables;
	struct value *values = list->items;
	int r;

	variables = slu_ptx_arena_take(p->module->arena, list->n * sizeof(*variables));
	if (!variables)
		return slu_error(-ENOMEM);
	if (list->n != n_wanted)
		return slu_ptx_refuse(p, opcode, "the function takes %u values here, not %u",
				      n_wanted, (unsigned)list->n);
	for (size_t i = 0; i < list->n; i++) {
		if (!values[i].variable) {
			r = bind(p, &values[i], wanted[i], is_result);
			if (r)
				return r;
		} else if (values[i].variable->size != wanted[i]->size) {
			return slu_ptx_refuse(p, opcode, "'%s' has %llu bytes, not %llu",
					      values[i].variable->name,
					      (unsigned long long)values[i].variable->size,
					      (unsigned long long)wanted[i]->size);
		}
		variables[i] = values[i].variable;
	}
	*ret_variables = variables;
	return 0;
}

static bool is_direct(const struct value *v)
{
	return v->raw.operand.kind != SLU_PTX_OPERAND_VARIABLE &&
	       v->raw.operand.kind != SLU_PTX_OPERAND_SINK;
}

static int add_call(struct slu_ptx_parser *p, const struct slu_ptx_instr *instr,
		    const struct slu_ptx_list *results, const struct slu_ptx_list *params)
{
	const struct value *v = params->items;
	int r = 0;

	for (size_t i = 0; !r && i < params->n; i++)
		if (is_direct(&v[i]))
			r = slu_ptx_add_store(p, instr, v[i].variable, &v[i].raw.operand);
	if (!r)
		r = slu_ptx_lower(p, instr);
	v = results->items;
	for (size_t i = 0; !r && i < results->n; i++)
		if (is_direct(&v[i]))
			r = slu_ptx_add_load(p, instr, &v[i].raw.operand, v[i].variable);
	return r;
}

/* "(results), target, (params), prototype"; the last one for an address alone */
static int parse_parts(struct slu_ptx_parser *p, struct slu_ptx_list *results,
		       struct slu_ptx_raw *target, struct slu_ptx_list *params,
		       const struct slu_ptx_function **ret_signature)
{
	bool has_more;
	int r;

	if (slu_ptx_accept(p, '(')) {
		r = parse_list(p, results);
		if (!r)
			r = slu_ptx_expect(p, ',');
		if (r)
			return r;
	}
	r = slu_ptx_parse_raw(p, target);
	if (r)
		return r;
	if (target->is_unknown)
		return slu_ptx_refuse_unknown(p, &target->token);
	if (target->is_minus || target->operand.is_negated || target->operand.selector ||
	    (target->operand.kind != SLU_PTX_OPERAND_FUNCTION &&
	     target->operand.kind != SLU_PTX_OPERAND_REG))
		return slu_ptx_refuse_operand(p, target, "a function");
	has_more = slu_ptx_accept(p, ',');
	/* the prototype may stand there alone if nothing is passed */
	if (has_more && (target->operand.kind != SLU_PTX_OPERAND_REG ||
			 p->lexer.token.kind != SLU_PTX_TOKEN_WORD)) {
		r = slu_ptx_expect(p, '(');
		if (!r)
			r = parse_list(p, params);
		if (r)
			return r;
		has_more = slu_ptx_accept(p, ',');
	}
	if (target->operand.kind == SLU_PTX_OPERAND_REG) {
		if (!has_more)
			return slu_ptx_refuse_token(p, "a prototype");
		r = slu_ptx_parse_callees(p, ret_signature);
		if (r)
			return r;
	} else if (has_more) {
		return slu_ptx_refuse_token(p, "';'");
	} else {
		*ret_signature = target->operand.function;
	}
	return slu_ptx_expect(p, ';');
}

static int parse_call(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
		      struct slu_ptx_instr *instr, struct slu_ptx_list *results,
		      struct slu_ptx_list *params)
{
	const struct slu_ptx_demand wide = { .size = 8 };
	const struct slu_ptx_function *f;
	uint64_t call_top = p->call_top;
	struct slu_ptx_raw target;
	struct slu_ptx_call *call;
	int r;

	r = parse_parts(p, results, &target, params, &f);
	if (r)
		return r;
	if (target.operand.kind == SLU_PTX_OPERAND_FUNCTION) {
		if (f->is_kernel)
			return slu_ptx_refuse(p, &target.token, "a kernel cannot be called");
	} else {
		r = slu_ptx_check_reg(p, &target, target.operand.reg, &wide);
		if (r)
			return r;
	}
	call = slu_ptx_arena_take(p->module->arena, sizeof(*call));
	instr->operands =
		slu_ptx_arena_copy(p->module->arena, &target.operand, sizeof(target.operand));
	if (!call || !instr->operands)
		return slu_error(-ENOMEM);
	instr->n_operands = 1;
	instr->call = call;
	call->n_params = (unsigned)params->n;
	call->n_results = (unsigned)results->n;
	r = bind_list(p, opcode, params, f->params, f->n_params, false, &call->params);
	if (!r)
		r = bind_list(p, opcode, results, f->results, f->n_results, true, &call->results);
	if (!r)
		r = add_call(p, instr, results, params);
	p->call_top = call_top;
	return r;
}

int slu_ptx_parse_call(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
		       struct slu_ptx_instr *instr)
{
	struct slu_ptx_list results = { .item_size = sizeof(struct value) };
	struct slu_ptx_list params = { .item_size = sizeof(struct value) };
	int r;

	r = parse_call(p, opcode, instr, &results, &params);
	slu_ptx_list_deinit(&results);
	slu_ptx_list_deinit(&params);
	return r;
}
