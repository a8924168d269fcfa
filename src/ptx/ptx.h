/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * PTX text, parsed. Pure: text in, a tree out; no file, thread or clock. The software GPU's
 * interpreter runs the tree, predict/ reads it.
 *
 * One call parses a whole module, bodies included. Everything that is accepted is understood: an
 * instruction is looked up in opcodes.def, where each row is an opcode with the modifiers and
 * operands that it takes, and anything else is refused with the line, the column and the form's
 * own text. So whoever walks the tree needs no second check of the grammar.
 *
 *   module ── variables[]   .global and .const at module scope, .shared wherever it stands
 *          └─ functions[]   .entry and .func ── params[], results[], locals[], registers
 *                                            └─ instrs[] ── form (interned), operands[]
 *
 * Names, arrays and strings belong to the module and live until slu_ptx_module_free().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/form.h"

/* Where and why a text was refused. Lines and columns count from 1; a tab is one column. */
struct slu_ptx_error {
	unsigned line;
	unsigned column;
	char text[192];
};

enum slu_ptx_linkage {
	SLU_PTX_LINKAGE_NONE, /* visible in this module only */
	SLU_PTX_LINKAGE_VISIBLE,
	SLU_PTX_LINKAGE_WEAK,
	SLU_PTX_LINKAGE_COMMON,
	SLU_PTX_LINKAGE_EXTERN, /* defined elsewhere */
};

struct slu_ptx_variable;
struct slu_ptx_function;

/* The address of a variable or function, plus @addend, belongs at @offset of the initial bytes. */
struct slu_ptx_reloc {
	uint64_t offset;
	unsigned size; /* 4 or 8 bytes */
	int64_t addend;
	const struct slu_ptx_variable *variable; /* one of these two is set */
	const struct slu_ptx_function *function;
	struct slu_ptx_reloc *next;
};

/* Which of a function's three parameter buffers a .param variable lies in. */
enum slu_ptx_role {
	SLU_PTX_ROLE_PARAM,  /* what the function was given */
	SLU_PTX_ROLE_RESULT, /* what it gives back */
	SLU_PTX_ROLE_CALL,   /* what it exchanges with those it calls */
};

struct slu_ptx_variable {
	const char *name;
	enum slu_ptx_space space;
	enum slu_ptx_linkage linkage;
	enum slu_ptx_role role; /* .param only */
	enum slu_ptx_type type; /* of one element of one vector lane */
	uint64_t size;		/* bytes; 0 for an open array such as dynamic shared memory */
	unsigned align;		/* a power of two */
	unsigned index;		/* place in module->variables, or in its function's array */
	uint64_t offset;	/* .param: in the parameter buffer; .local: in the frame; else 0 */
	const uint8_t *init;	/* first @init_size bytes; the rest is zero; NULL if all zero */
	uint64_t init_size;
	const struct slu_ptx_reloc *relocs;
	bool is_managed; /* .attribute(.managed) */
	bool is_open;	 /* an array without a size: `.extern .shared .b8 smem[]` */
};

enum slu_ptx_operand_kind {
	SLU_PTX_OPERAND_SINK,	  /* `_` */
	SLU_PTX_OPERAND_REG,	  /* %r1 */
	SLU_PTX_OPERAND_PAIR,	  /* %p1|%p2: @reg and @second */
	SLU_PTX_OPERAND_SREG,	  /* %tid.x: @sreg */
	SLU_PTX_OPERAND_IMM,	  /* 42, 0f3F800000: @imm holds the bits, as wide as its type */
	SLU_PTX_OPERAND_VARIABLE, /* the address of @variable plus @offset */
	SLU_PTX_OPERAND_FUNCTION, /* the address of @function */
	SLU_PTX_OPERAND_LABEL,	  /* @label: index into function->labels */
	SLU_PTX_OPERAND_VECTOR,	  /* {a, b, …}: @elements, @n_elements; {…}|p: @second */
	/* [base + offset]: the first of @elements is the base; of [object, {x, y}], the others are
	 * the coordinates */
	SLU_PTX_OPERAND_ADDRESS,
	SLU_PTX_OPERAND_TARGETS, /* the name of a list of labels: @targets */
};

struct slu_ptx_targets;

struct slu_ptx_operand {
	enum slu_ptx_operand_kind kind;
	bool is_negated; /* !%p, or -%r of a video instruction */
	uint8_t n_elements;
	uint16_t selector; /* parts of a register: selector.h */
	uint32_t reg;	   /* index of a register of the function */
	uint32_t second;
	union {
		uint64_t imm;
		int64_t offset; /* ADDRESS, VARIABLE */
		enum slu_ptx_sreg sreg;
		uint32_t label;
	};
	union {
		const struct slu_ptx_variable *variable;
		const struct slu_ptx_function *function;
		struct slu_ptx_operand *elements;
		const struct slu_ptx_targets *targets;
	};
};

/* .branchtargets: every one is a LABEL. */
struct slu_ptx_targets {
	struct slu_ptx_operand *labels;
	uint32_t n_labels;
};

#define SLU_PTX_NO_REG UINT32_MAX

struct slu_ptx_instr {
	const struct slu_ptx_form *form;
	struct slu_ptx_operand *operands;
	/* what a call passes; NULL for everything else */
	const struct slu_ptx_call *call;
	uint32_t guard;	       /* register of @%p, or SLU_PTX_NO_REG */
	bool guard_is_negated; /* @!%p */
	uint8_t n_operands;
	uint32_t line; /* in this text, as @column */
	uint32_t column;
	/* in the program that the text was made from, by the last .loc; 0: it does not say */
	uint32_t source_file; /* slu_ptx_module_file() */
	uint32_t source_line;
};

/* call (results), target, (params): each is a .param variable of the calling function. */
struct slu_ptx_call {
	const struct slu_ptx_variable **results;
	const struct slu_ptx_variable **params;
	unsigned n_results;
	unsigned n_params;
};

struct slu_ptx_label {
	const char *name;
	uint32_t instr; /* the instruction in front of which it stands; n_instrs at the very end */
};

struct slu_ptx_function {
	const char *name;
	enum slu_ptx_linkage linkage;
	bool is_kernel;
	bool is_defined; /* has a body; else only declared */
	unsigned index;	 /* place in module->functions */
	unsigned line;

	/* parameters in order, with their offset in one buffer; for a kernel, the launch's buffer
	 */
	struct slu_ptx_variable **params;
	unsigned n_params;
	uint64_t param_bytes;
	unsigned param_align;

	/* what a device function gives back, offsets in a buffer of their own */
	struct slu_ptx_variable **results;
	unsigned n_results;
	uint64_t result_bytes;

	/* .param variables of the body, through which it calls others */
	uint64_t call_bytes;

	/* .local variables of the body */
	uint64_t local_bytes;
	unsigned local_align;

	/* registers: their types; all scopes of the body in one numbering */
	const uint8_t *reg_types;
	uint32_t n_regs;

	struct slu_ptx_instr *instrs;
	uint32_t n_instrs;
	const struct slu_ptx_label *labels;
	uint32_t n_labels;

	/*
	 * Of a kernel: shared memory that it and everything it may call name. @shared lists the
	 * variables with a size, at rising offsets @shared_offsets in the block's window; dynamic
	 * shared memory begins at @shared_bytes rounded up to @dynamic_shared_align.
	 */
	const struct slu_ptx_variable **shared;
	uint64_t *shared_offsets;
	unsigned n_shared;
	uint64_t shared_bytes;
	unsigned dynamic_shared_align;

	/* performance directives; 0 if absent */
	unsigned max_threads[3];      /* .maxntid */
	unsigned required_threads[3]; /* .reqntid */
	unsigned min_blocks;	      /* .minnctapersm */
	unsigned max_registers;	      /* .maxnreg */
	unsigned n_registers_used;    /* 32-bit registers, as a driver would report them */
};

/* .file: a number that .loc names, and a path. */
struct slu_ptx_file {
	uint32_t number;
	const char *name;
};

struct slu_ptx_module {
	unsigned version_major;
	unsigned version_minor;
	unsigned target; /* 75 for sm_75 */
	/* 'a' of sm_90a: for no other device; 'f' of sm_100f: for none of another family; else 0 */
	char target_suffix;

	struct slu_ptx_variable **variables;
	unsigned n_variables;
	struct slu_ptx_function **functions;
	unsigned n_functions;
	const struct slu_ptx_file *files;
	unsigned n_files;

	struct slu_ptx_arena *arena; /* owns all of the above */
};

/*
 * Parses @size bytes of @text (a NUL ends it early). On a refusal *ret_error says why, and the
 * answer is SLU_PTX_E_REFUSED.
 *
 * Return: 0, SLU_PTX_E_REFUSED, -ENOMEM.
 */
enum {
	_SLU_PTX_E_SUCCESS,
	SLU_PTX_E_REFUSED,
};
int slu_ptx_parse(const char *text, size_t size, struct slu_ptx_module **ret_module,
		  struct slu_ptx_error *ret_error);

void slu_ptx_module_free(struct slu_ptx_module *module);

/* A kernel, or a variable of .global or .const, by its name; NULL if there is none. */
struct slu_ptx_function *slu_ptx_module_kernel(const struct slu_ptx_module *module,
					       const char *name);
struct slu_ptx_variable *slu_ptx_module_variable(const struct slu_ptx_module *module,
						 const char *name);

/* The path of the file that a text calls @number; NULL if it does not say. */
const char *slu_ptx_module_file(const struct slu_ptx_module *module, uint32_t number);
