/* SPDX-License-Identifier: Apache-2.0 */
/* Initial values of variables. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "ptx/constant.h"

/* Bytes of an initial value as they come in. */
struct filler {
	struct slu_ptx_variable *variable;
	unsigned element_size;
	uint8_t *bytes;
	uint64_t n;
	uint64_t n_allocated;
	struct slu_ptx_reloc *relocs;
};

static int filler_put(struct slu_ptx_parser *p, struct filler *f, const struct slu_ptx_token *at,
		      uint64_t value)
{
	if (!f->variable->is_open && f->n + f->element_size > f->variable->size)
		return slu_ptx_refuse(p, at, "more initial values than '%s' holds",
				      f->variable->name);
	if (f->n + f->element_size > f->n_allocated) {
		uint64_t n = f->n_allocated ? f->n_allocated * 2 : 256;
		uint8_t *bytes = realloc(f->bytes, n);

		if (!bytes)
			return slu_error(-ENOMEM);
		f->bytes = bytes;
		f->n_allocated = n;
	}
	memcpy(f->bytes + f->n, &value, f->element_size);
	f->n += f->element_size;
	return 0;
}

/* name, generic(name), name+8 */
static int filler_put_address(struct slu_ptx_parser *p, struct filler *f)
{
	struct slu_ptx_token name = p->lexer.token;
	struct slu_ptx_symbol *symbol;
	struct slu_ptx_reloc *reloc;
	bool is_generic = slu_ptx_token_is(&name, "generic");
	int r;

	slu_ptx_lexer_next(&p->lexer);
	if (is_generic) {
		r = slu_ptx_expect(p, '(');
		if (r)
			return r;
		name = p->lexer.token;
		slu_ptx_lexer_next(&p->lexer);
		r = slu_ptx_expect(p, ')');
		if (r)
			return r;
	}
	symbol = slu_ptx_scope_find(&p->scope, name.text, name.size);
	if (!symbol ||
	    (symbol->kind != SLU_PTX_SYMBOL_VARIABLE && symbol->kind != SLU_PTX_SYMBOL_FUNCTION))
		return slu_ptx_refuse(p, &name, "'%.*s' is no variable or function",
				      slu_ptx_shown(&name), name.text);
	if (symbol->kind == SLU_PTX_SYMBOL_VARIABLE &&
	    symbol->variable->space != SLU_PTX_SPACE_GLOBAL &&
	    symbol->variable->space != SLU_PTX_SPACE_CONST)
		return slu_ptx_refuse(p, &name,
				      "the address of '%.*s' is not known before a launch",
				      slu_ptx_shown(&name), name.text);
	if (f->element_size < 8)
		return slu_ptx_refuse(p, &name, "an address needs 64 bits, not .%s",
				      slu_ptx_type_name(f->variable->type));
	reloc = slu_ptx_arena_take(p->module->arena, sizeof(*reloc));
	if (!reloc)
		return slu_error(-ENOMEM);
	*reloc = (struct slu_ptx_reloc){ .offset = f->n,
					 .size = f->element_size,
					 .variable = symbol->variable,
					 .function = symbol->function,
					 .next = f->relocs };
	f->relocs = reloc;
	r = slu_ptx_parse_offset(p, &reloc->addend);
	if (r)
		return r;
	return filler_put(p, f, &name, 0);
}

static int filler_put_number(struct slu_ptx_parser *p, struct filler *f)
{
	enum slu_ptx_type type = f->variable->type;
	struct slu_ptx_constant c;
	uint64_t value;
	int r;

	r = slu_ptx_parse_constant(p, "an initial value", &c);
	if (r)
		return r;
	value = c.bits;
	if (c.kind == SLU_PTX_TOKEN_F64 && type == SLU_PTX_TYPE_F32) {
		double d;
		float s;

		memcpy(&d, &value, 8);
		s = (float)d;
		value = 0;
		memcpy(&value, &s, 4);
	} else if (c.kind == SLU_PTX_TOKEN_F32 && type == SLU_PTX_TYPE_F64) {
		float s;
		double d;

		memcpy(&s, &value, 4);
		d = s;
		memcpy(&value, &d, 8);
	} else if (c.kind == SLU_PTX_TOKEN_INT
			   ? slu_ptx_type_is_float(type) && type != SLU_PTX_TYPE_F16
			   : type != (c.kind == SLU_PTX_TOKEN_F32 ? SLU_PTX_TYPE_F32
								  : SLU_PTX_TYPE_F64)) {
		return slu_ptx_refuse(p, &c.token, "initial value does not fit .%s",
				      slu_ptx_type_name(type));
	}
	return filler_put(p, f, &c.token, value);
}

static int filler_fill(struct slu_ptx_parser *p, struct filler *f, unsigned depth)
{
	int r;

	if (!slu_ptx_accept(p, '{')) {
		return slu_ptx_may_be_constant(&p->lexer.token) ? filler_put_number(p, f)
								: filler_put_address(p, f);
	}
	if (depth > 8)
		return slu_ptx_refuse(p, &p->lexer.token, "initial values are nested too deep");
	if (slu_ptx_accept(p, '}'))
		return 0;
	do {
		r = filler_fill(p, f, depth + 1);
		if (r)
			return r;
	} while (slu_ptx_accept(p, ','));
	return slu_ptx_expect(p, '}');
}

int slu_ptx_parse_init(struct slu_ptx_parser *p, struct slu_ptx_variable *v)
{
	struct filler f = { .variable = v, .element_size = slu_ptx_type_size(v->type) };
	int r;

	if (v->space != SLU_PTX_SPACE_GLOBAL && v->space != SLU_PTX_SPACE_CONST)
		return slu_ptx_refuse(p, &p->lexer.token,
				      "only .global and .const have initial values");
	r = filler_fill(p, &f, 0);
	if (!r && f.n) {
		v->init = slu_ptx_arena_copy(p->module->arena, f.bytes, f.n);
		v->init_size = f.n;
		v->relocs = f.relocs;
		if (v->is_open) {
			v->size = f.n;
			v->is_open = false;
		}
		if (!v->init)
			r = slu_error(-ENOMEM);
	}
	free(f.bytes);
	return r;
}
