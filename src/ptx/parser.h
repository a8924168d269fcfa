/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of the parser share. Each parse function takes the lexer at the first token of
 * what it parses, leaves it behind the last, and returns 0, SLU_PTX_E_REFUSED with the error
 * written down, or -ENOMEM. Only the first error counts: everybody returns at once.
 *
 *   parse.c     the module: directives, linkage
 *   function.c  functions and their signatures; prototype.c those of functions without a name
 *   declare.c   variables; initial.c their initial values, register.c registers
 *   body.c      what stands between the braces of a function
 *   constant.c  constants and expressions of them; operator.c operators
 *   operand.c   operands; sreg.c special registers, call.c calls
 *   check.c     whether a row of opcodes.def takes them
 *   lower.c     instructions that are written as one and are several
 *   shared.c    where a kernel's shared memory lies
 *   source.c    which line of which file an instruction was made from
 */

#include "ptx/arena.h"
#include "ptx/lexer.h"
#include "ptx/ptx.h"
#include "ptx/scope.h"

#define SLU_PTX_MAX_REGS  (1u << 20)	      /* of a function */
#define SLU_PTX_MAX_DEPTH 64		      /* of braces */
#define SLU_PTX_MAX_BYTES (UINT64_C(1) << 40) /* of a variable */

/* A growing array of things that end up in the arena. */
struct slu_ptx_list {
	void *items;
	size_t n;
	size_t n_allocated;
	size_t item_size;
};

/* A label that was named before it is known; resolved when its scope ends. */
struct slu_ptx_pending {
	const char *name;
	size_t size;
	struct slu_ptx_operand *operand;
	unsigned line;
	unsigned column;
};

/* A register that is a parameter or result of the function at hand, and how it comes and goes. */
struct slu_ptx_bound {
	const struct slu_ptx_variable *variable;
	uint32_t reg;
};

/* What calls pass lies thread behind thread: no one's share begins between two words. */
#define SLU_PTX_PARAM_ALIGN 16

struct slu_ptx_parser {
	struct slu_ptx_lexer lexer;
	struct slu_ptx_scope scope;
	struct slu_ptx_module *module;
	struct slu_ptx_error *error;

	struct slu_ptx_list variables; /* of pointers */
	struct slu_ptx_list functions; /* of pointers */
	struct slu_ptx_list files;
	/* forms already met: open addressing, by the hash of their text; nothing but the pointer is
	 * kept, where uthash adds 56 bytes to each form */
	struct slu_ptx_form **forms;
	uint32_t n_forms;
	uint32_t n_form_slots; /* a power of two */

	/* of the function at hand */
	struct slu_ptx_function *function;
	struct slu_ptx_list reg_types; /* of uint8_t */
	struct slu_ptx_list instrs;
	struct slu_ptx_list labels;
	struct slu_ptx_list pending;
	struct slu_ptx_list bound;
	uint32_t source_file, source_line; /* what the last .loc said */
	uint64_t call_top; /* bytes of .param variables in the scopes that are open */
	uint64_t local_top;
};

int slu_ptx_list_add(struct slu_ptx_list *list, const void *item);
void slu_ptx_list_deinit(struct slu_ptx_list *list);

int slu_ptx_refuse(struct slu_ptx_parser *p, const struct slu_ptx_token *at, const char *format,
		   ...) __attribute__((__format__(__printf__, 3, 4)));
/* The token at hand is not what should stand there. */
int slu_ptx_refuse_token(struct slu_ptx_parser *p, const char *expected);
int slu_ptx_expect(struct slu_ptx_parser *p, char c);
bool slu_ptx_accept(struct slu_ptx_parser *p, char c);
bool slu_ptx_at_directive(const struct slu_ptx_parser *p, const char *name);
char *slu_ptx_intern(struct slu_ptx_parser *p, const struct slu_ptx_token *token);

/* The size of a token for "%.*s", so that a long one does not fill the error. */
static inline int slu_ptx_shown(const struct slu_ptx_token *token)
{
	return token->size > 80 ? 80 : (int)token->size;
}

/* function.c: the lexer is at .entry or .func, and at .alias */
int slu_ptx_parse_function(struct slu_ptx_parser *p, enum slu_ptx_linkage linkage, bool is_kernel);
int slu_ptx_parse_alias(struct slu_ptx_parser *p);
/* one list of parameters or results, behind its opening parenthesis */
int slu_ptx_parse_signature(struct slu_ptx_parser *p, enum slu_ptx_role role,
			    struct slu_ptx_variable ***ret_list, unsigned *ret_n,
			    uint64_t *ret_bytes, unsigned *ret_align);
/* the directives behind a signature; a function without a name is a prototype */
int slu_ptx_parse_performance(struct slu_ptx_parser *p, struct slu_ptx_function *f);

/* prototype.c: the lexer is at .callprototype or .calltargets, whose label @symbol is */
int slu_ptx_parse_prototype(struct slu_ptx_parser *p, struct slu_ptx_symbol *symbol);
int slu_ptx_parse_call_targets(struct slu_ptx_parser *p, struct slu_ptx_symbol *symbol);
/* the name of either, or of a table of functions: whom the call of an address may reach */
int slu_ptx_parse_callees(struct slu_ptx_parser *p, const struct slu_ptx_function **ret_signature);

/* declare.c: the lexer is behind the space's directive */
int slu_ptx_parse_variables(struct slu_ptx_parser *p, enum slu_ptx_space space,
			    enum slu_ptx_linkage linkage);
/* one parameter of a function */
int slu_ptx_parse_param(struct slu_ptx_parser *p, enum slu_ptx_role role, uint64_t *bytes,
			struct slu_ptx_variable **ret_variable);
/* a .param variable without a name, of @size bytes, through which a value goes to a call */
int slu_ptx_take_param(struct slu_ptx_parser *p, unsigned size,
		       const struct slu_ptx_variable **ret_variable);
int slu_ptx_parse_align(struct slu_ptx_parser *p, unsigned *ret_align);

/* register.c: the lexer is behind ".reg" */
int slu_ptx_parse_registers(struct slu_ptx_parser *p);
/* @n registers that have no name yet; @at: what wants them */
int slu_ptx_take_registers(struct slu_ptx_parser *p, const struct slu_ptx_token *at,
			   enum slu_ptx_type type, uint64_t n, uint32_t *ret_first);
/* one parameter of a function, which comes and goes as a .param variable does */
int slu_ptx_parse_bound(struct slu_ptx_parser *p, enum slu_ptx_role role, uint64_t *bytes,
			struct slu_ptx_variable **ret_variable);

/* initial.c: what follows a variable's '=' */
int slu_ptx_parse_init(struct slu_ptx_parser *p, struct slu_ptx_variable *v);

/* body.c: the lexer is at the opening brace */
int slu_ptx_parse_body(struct slu_ptx_parser *p);
/* the form of an opcode with its modifiers, which is @t */
int slu_ptx_find_form(struct slu_ptx_parser *p, const struct slu_ptx_token *t,
		      const struct slu_ptx_form **ret_form);

/* source.c: the lexer is at .file, and at .loc */
int slu_ptx_parse_file(struct slu_ptx_parser *p);
int slu_ptx_parse_loc(struct slu_ptx_parser *p);

/* lower.c: adds the instructions that @instr stands for */
int slu_ptx_lower(struct slu_ptx_parser *p, const struct slu_ptx_instr *instr);
/* ld.param or st.param of a whole variable, guarded as @model is */
int slu_ptx_add_load(struct slu_ptx_parser *p, const struct slu_ptx_instr *model,
		     const struct slu_ptx_operand *to, const struct slu_ptx_variable *from);
int slu_ptx_add_store(struct slu_ptx_parser *p, const struct slu_ptx_instr *model,
		      const struct slu_ptx_variable *to, const struct slu_ptx_operand *from);
/* The function's bound registers of one role: parameters are loaded, results stored. */
int slu_ptx_add_bound(struct slu_ptx_parser *p, const struct slu_ptx_instr *model,
		      enum slu_ptx_role role);

/* operand.c */
int slu_ptx_parse_operands(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
			   struct slu_ptx_instr *instr);
/* call.c: adds the call, and around it what fetches and puts away its values */
int slu_ptx_parse_call(struct slu_ptx_parser *p, const struct slu_ptx_token *opcode,
		       struct slu_ptx_instr *instr);

/* shared.c */
int slu_ptx_place_shared(struct slu_ptx_module *module);
