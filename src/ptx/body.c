/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a function: declarations, labels, instructions, and braces around more of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/parser.h"

static uint32_t hash_of(const char *text, size_t size)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619u;
	return h ^ h >> 15;
}

static struct slu_ptx_form **slot_of(struct slu_ptx_form **slots, uint32_t n_slots,
				     const char *text, size_t size)
{
	uint32_t i = hash_of(text, size) & (n_slots - 1);

	while (slots[i] && (strlen(slots[i]->text) != size || memcmp(slots[i]->text, text, size)))
		i = (i + 1) & (n_slots - 1);
	return &slots[i];
}

static int grow_forms(struct slu_ptx_parser *p)
{
	uint32_t n = p->n_form_slots ? p->n_form_slots * 2 : 512;
	struct slu_ptx_form **slots = calloc(n, sizeof(*slots));

	if (!slots)
		return slu_error(-ENOMEM);
	for (uint32_t i = 0; i < p->n_form_slots; i++)
		if (p->forms[i])
			*slot_of(slots, n, p->forms[i]->text, strlen(p->forms[i]->text)) =
				p->forms[i];
	free(p->forms);
	p->forms = slots;
	p->n_form_slots = n;
	return 0;
}

/* "ld.const[3].b32": a bank says nothing that the address does not. */
static int drop_bank(struct slu_ptx_parser *p, struct slu_ptx_token *t)
{
	const char *from = memchr(t->text, '[', t->size), *to;
	struct slu_ptx_token plain = *t;
	char *text;

	if (!from)
		return 0;
	to = memchr(from, ']', t->size - (size_t)(from - t->text));
	text = slu_ptx_intern(p, t);
	if (!text)
		return slu_error(-ENOMEM);
	memmove(text + (from - t->text), to + 1, t->size - (size_t)(to + 1 - t->text));
	plain.text = text;
	plain.size = t->size - (size_t)(to + 1 - from);
	*t = plain;
	return 0;
}

/* A text that was matched once is not matched again: a module has millions of `add.s32`. */
int slu_ptx_find_form(struct slu_ptx_parser *p, const struct slu_ptx_token *t,
		      const struct slu_ptx_form **ret_form)
{
	struct slu_ptx_form **slot, *form;
	int r;

	if (p->n_forms * 2 >= p->n_form_slots) {
		r = grow_forms(p);
		if (r)
			return r;
	}
	slot = slot_of(p->forms, p->n_form_slots, t->text, t->size);
	if (!*slot) {
		form = slu_ptx_arena_take(p->module->arena, sizeof(*form));
		if (!form)
			return slu_error(-ENOMEM);
		r = slu_ptx_form_match(t->text, t->size, form);
		if (r == SLU_PTX_FORM_E_OPCODE)
			return slu_ptx_refuse(p, t, "unknown instruction '%.*s'", slu_ptx_shown(t),
					      t->text);
		if (r == SLU_PTX_FORM_E_FORM)
			return slu_ptx_refuse(p, t, "form '%.*s' is not supported",
					      slu_ptx_shown(t), t->text);
		if (form->row->target > p->module->target)
			return slu_ptx_refuse(p, t, "'%.*s' needs .target sm_%u or higher",
					      slu_ptx_shown(t), t->text, form->row->target);
		form->text = slu_ptx_intern(p, t);
		if (!form->text)
			return slu_error(-ENOMEM);
		*slot = form;
		p->n_forms++;
	}
	*ret_form = *slot;
	return 0;
}

static int parse_instr(struct slu_ptx_parser *p)
{
	struct slu_ptx_instr instr = { .guard = SLU_PTX_NO_REG };
	struct slu_ptx_token opcode;
	int r;

	if (slu_ptx_accept(p, '@')) {
		struct slu_ptx_token *t = &p->lexer.token;

		instr.guard_is_negated = slu_ptx_accept(p, '!');
		if (t->kind != SLU_PTX_TOKEN_WORD ||
		    !slu_ptx_scope_find_reg(&p->scope, t->text, t->size, &instr.guard) ||
		    ((uint8_t *)p->reg_types.items)[instr.guard] != SLU_PTX_TYPE_PRED)
			return slu_ptx_refuse_token(p, "a predicate");
		slu_ptx_lexer_next(&p->lexer);
	}
	if (p->lexer.token.kind != SLU_PTX_TOKEN_WORD)
		return slu_ptx_refuse_token(p, "an instruction");
	slu_ptx_lexer_opcode(&p->lexer);
	opcode = p->lexer.token;
	r = drop_bank(p, &opcode);
	if (r)
		return r;
	instr.line = opcode.line;
	instr.column = opcode.column;
	instr.source_file = p->source_file;
	instr.source_line = p->source_line;
	r = slu_ptx_find_form(p, &opcode, &instr.form);
	if (r)
		return r;
	slu_ptx_lexer_next(&p->lexer);
	if (instr.form->opcode == SLU_PTX_OP_call)
		return slu_ptx_parse_call(p, &opcode, &instr);
	r = slu_ptx_parse_operands(p, &opcode, &instr);
	return r ? r : slu_ptx_lower(p, &instr);
}

static int skip_statement(struct slu_ptx_parser *p)
{
	while (!slu_ptx_lexer_is(&p->lexer, ';')) {
		if (p->lexer.token.kind == SLU_PTX_TOKEN_END)
			return slu_ptx_refuse_token(p, "';'");
		slu_ptx_lexer_next(&p->lexer);
	}
	slu_ptx_lexer_next(&p->lexer);
	return 0;
}

/* ".branchtargets A, B, C;": labels that may stand further down */
static int parse_targets(struct slu_ptx_parser *p, struct slu_ptx_symbol *symbol)
{
	struct slu_ptx_arena *arena = p->module->arena;
	struct slu_ptx_list names = { .item_size = sizeof(struct slu_ptx_token) };
	struct slu_ptx_targets *targets = slu_ptx_arena_take(arena, sizeof(*targets));
	const struct slu_ptx_token *name;
	int r = 0;

	do {
		slu_ptx_lexer_next(&p->lexer);
		if (p->lexer.token.kind != SLU_PTX_TOKEN_WORD)
			r = slu_ptx_refuse_token(p, "a label");
		else
			r = slu_fold(slu_ptx_list_add(&names, &p->lexer.token));
		if (!r)
			slu_ptx_lexer_next(&p->lexer);
	} while (!r && slu_ptx_lexer_is(&p->lexer, ','));
	if (!r && targets)
		targets->labels = slu_ptx_arena_take(arena, names.n * sizeof(*targets->labels));
	if (!r && (!targets || !targets->labels))
		r = slu_error(-ENOMEM);
	name = names.items;
	for (size_t i = 0; !r && i < names.n; i++) {
		struct slu_ptx_pending pending = {
			.name = name[i].text,
			.size = name[i].size,
			.operand = &targets->labels[i],
			.line = name[i].line,
			.column = name[i].column,
		};

		targets->labels[i] = (struct slu_ptx_operand){ .kind = SLU_PTX_OPERAND_LABEL };
		r = slu_fold(slu_ptx_list_add(&p->pending, &pending));
	}
	if (!r) {
		targets->n_labels = (uint32_t)names.n;
		symbol->targets = targets;
		r = slu_ptx_expect(p, ';');
	}
	slu_ptx_list_deinit(&names);
	return r;
}

/* "name:", and what may follow it: an ordinary label, or a list or prototype of that name */
static int parse_label(struct slu_ptx_parser *p)
{
	struct slu_ptx_token name = p->lexer.token;
	struct slu_ptx_label label = { .instr = (uint32_t)p->instrs.n };
	enum slu_ptx_symbol_kind kind = SLU_PTX_SYMBOL_LABEL;
	struct slu_ptx_symbol *symbol;
	bool is_list;
	int r;

	slu_ptx_lexer_next(&p->lexer);
	slu_ptx_lexer_next(&p->lexer);
	is_list = slu_ptx_at_directive(p, "calltargets");
	if (is_list || slu_ptx_at_directive(p, "callprototype"))
		kind = SLU_PTX_SYMBOL_PROTOTYPE;
	else if (slu_ptx_at_directive(p, "branchtargets"))
		kind = SLU_PTX_SYMBOL_TARGETS;
	r = slu_ptx_scope_declare(&p->scope, name.text, name.size, kind, &symbol);
	if (r == SLU_PTX_SCOPE_E_TAKEN)
		return slu_ptx_refuse(p, &name, "'%.*s' is declared twice", slu_ptx_shown(&name),
				      name.text);
	if (r)
		return slu_fold(r);
	if (kind == SLU_PTX_SYMBOL_PROTOTYPE)
		return is_list ? slu_ptx_parse_call_targets(p, symbol)
			       : slu_ptx_parse_prototype(p, symbol);
	if (kind == SLU_PTX_SYMBOL_TARGETS)
		return parse_targets(p, symbol);
	symbol->reg = (uint32_t)p->labels.n;
	label.name = slu_ptx_intern(p, &name);
	if (!label.name)
		return slu_error(-ENOMEM);
	return slu_fold(slu_ptx_list_add(&p->labels, &label));
}

static int parse_directive(struct slu_ptx_parser *p)
{
	static const struct {
		const char *name;
		enum slu_ptx_space space;
	} spaces[] = {
		{ "param", SLU_PTX_SPACE_PARAM },   { "local", SLU_PTX_SPACE_LOCAL },
		{ "shared", SLU_PTX_SPACE_SHARED }, { "global", SLU_PTX_SPACE_GLOBAL },
		{ "const", SLU_PTX_SPACE_CONST },
	};
	const struct slu_ptx_token *t = &p->lexer.token;
	enum slu_ptx_linkage linkage = SLU_PTX_LINKAGE_NONE;

	if (slu_ptx_token_is(t, "loc"))
		return slu_ptx_parse_loc(p);
	if (slu_ptx_token_is(t, "file"))
		return slu_ptx_parse_file(p);
	if (slu_ptx_token_is(t, "pragma"))
		return skip_statement(p);
	if (slu_ptx_token_is(t, "extern")) {
		linkage = SLU_PTX_LINKAGE_EXTERN;
		slu_ptx_lexer_next(&p->lexer);
	}
	if (slu_ptx_token_is(t, "reg")) {
		slu_ptx_lexer_next(&p->lexer);
		return slu_ptx_parse_registers(p);
	}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(spaces); i++)
		if (slu_ptx_token_is(t, spaces[i].name)) {
			slu_ptx_lexer_next(&p->lexer);
			return slu_ptx_parse_variables(p, spaces[i].space, linkage);
		}
	return slu_ptx_refuse(p, t, "directive '.%.*s' is not supported here", slu_ptx_shown(t),
			      t->text);
}

/* Labels named inside the scope that ends now, and declared in it. The others wait for an outer
 * one. */
static void resolve(struct slu_ptx_parser *p, size_t first)
{
	struct slu_ptx_pending *pending = p->pending.items;
	size_t n = first;

	for (size_t i = first; i < p->pending.n; i++) {
		struct slu_ptx_symbol *s =
			slu_ptx_scope_find(&p->scope, pending[i].name, pending[i].size);

		if (s && s->kind == SLU_PTX_SYMBOL_LABEL && s->depth == p->scope.depth)
			pending[i].operand->label = s->reg;
		else
			pending[n++] = pending[i];
	}
	p->pending.n = n;
}

static int parse_block(struct slu_ptx_parser *p)
{
	size_t first_pending = p->pending.n;
	uint64_t call_top = p->call_top, local_top = p->local_top;
	int r;

	if (p->scope.depth > SLU_PTX_MAX_DEPTH)
		return slu_ptx_refuse(p, &p->lexer.token, "braces are nested too deep");
	r = slu_ptx_expect(p, '{');
	if (r)
		return r;
	slu_ptx_scope_enter(&p->scope);
	while (!slu_ptx_lexer_is(&p->lexer, '}')) {
		if (p->lexer.token.kind == SLU_PTX_TOKEN_DIRECTIVE)
			r = parse_directive(p);
		else if (p->lexer.token.kind == SLU_PTX_TOKEN_WORD &&
			 slu_ptx_lexer_touches_label(&p->lexer))
			r = parse_label(p);
		else if (slu_ptx_lexer_is(&p->lexer, '{'))
			r = parse_block(p);
		else if (slu_ptx_lexer_is(&p->lexer, ';'))
			slu_ptx_lexer_next(&p->lexer);
		else
			r = parse_instr(p);
		if (r)
			return r;
	}
	resolve(p, first_pending);
	slu_ptx_scope_leave(&p->scope);
	slu_ptx_lexer_next(&p->lexer);
	p->call_top = call_top;
	p->local_top = local_top;
	return 0;
}

/* What a driver would report: live registers are fewer than names, so this is only a figure. */
static unsigned count_registers(const struct slu_ptx_parser *p)
{
	const uint8_t *types = p->reg_types.items;
	uint64_t n = 0;

	for (size_t i = 0; i < p->reg_types.n; i++)
		n += slu_ptx_type_size((enum slu_ptx_type)types[i]) == 8 ? 2
		     : types[i] == SLU_PTX_TYPE_PRED			 ? 0
									 : 1;
	n = SLU_MAX(n, UINT64_C(16));
	return (unsigned)SLU_MIN(n, UINT64_C(255));
}

int slu_ptx_parse_body(struct slu_ptx_parser *p)
{
	struct slu_ptx_function *f = p->function;
	struct slu_ptx_arena *arena = p->module->arena;
	struct slu_ptx_instr edge = { .guard = SLU_PTX_NO_REG, .line = f->line, .column = 1 };
	int r;

	p->instrs.n = p->labels.n = p->pending.n = 0;
	p->call_top = p->local_top = 0;
	p->source_file = p->source_line = 0;
	r = slu_ptx_add_bound(p, &edge, SLU_PTX_ROLE_PARAM);
	if (!r)
		r = parse_block(p);
	if (!r)
		r = slu_ptx_add_bound(p, &edge, SLU_PTX_ROLE_RESULT);
	if (r)
		return r;
	if (p->pending.n) {
		const struct slu_ptx_pending *first = p->pending.items;
		struct slu_ptx_token t = { .text = first->name,
					   .size = first->size,
					   .line = first->line,
					   .column = first->column };

		return slu_ptx_refuse(p, &t, "label '%.*s' is not declared", slu_ptx_shown(&t),
				      t.text);
	}
	f->n_registers_used = count_registers(p);
	f->n_regs = (uint32_t)p->reg_types.n;
	f->n_instrs = (uint32_t)p->instrs.n;
	f->n_labels = (uint32_t)p->labels.n;
	f->reg_types = slu_ptx_arena_copy(arena, p->reg_types.items, p->reg_types.n);
	f->instrs = slu_ptx_arena_copy(arena, p->instrs.items, p->instrs.n * sizeof(*f->instrs));
	f->labels = slu_ptx_arena_copy(arena, p->labels.items, p->labels.n * sizeof(*f->labels));
	if (!f->reg_types || !f->instrs || !f->labels)
		return slu_error(-ENOMEM);
	f->is_defined = true;
	return 0;
}
