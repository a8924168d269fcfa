/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Names and what they stand for. Scopes nest: the module, a function, each pair of braces. A name
 * found in an inner scope hides the same name outside; leaving a scope forgets its names.
 *
 * The table is our own because a name is there once for each scope, the innermost first; uthash has
 * a key once.
 *
 * A range `%r<100>` is one symbol, whatever its length: %r7 is found by taking the number off.
 */

#include <stddef.h>
#include <stdint.h>

#include "ptx/ptx.h"

enum slu_ptx_symbol_kind {
	SLU_PTX_SYMBOL_REG,   /* @reg is its number */
	SLU_PTX_SYMBOL_RANGE, /* @reg is the number of the first, @count how many */
	SLU_PTX_SYMBOL_VARIABLE,
	SLU_PTX_SYMBOL_FUNCTION,
	SLU_PTX_SYMBOL_LABEL,	  /* @reg is its number */
	SLU_PTX_SYMBOL_PROTOTYPE, /* @function is the signature */
	SLU_PTX_SYMBOL_TARGETS,
};

struct slu_ptx_symbol {
	enum slu_ptx_symbol_kind kind;
	const char *name; /* not ended by a NUL */
	size_t size;
	uint32_t hash;
	unsigned depth;
	uint32_t reg;
	uint32_t count;
	uint32_t width; /* registers: how many make up one; 2 or 4 for a vector */
	struct slu_ptx_variable *variable;
	struct slu_ptx_function *function;
	const struct slu_ptx_targets *targets;
	struct slu_ptx_symbol *next;	 /* in its bucket, innermost first */
	struct slu_ptx_symbol *previous; /* declared before it */
};

struct slu_ptx_scope {
	struct slu_ptx_symbol **buckets;
	uint32_t n_buckets; /* a power of two */
	uint32_t n_symbols;
	struct slu_ptx_symbol *last;
	struct slu_ptx_symbol *spare;
	unsigned depth; /* 0 is the module */
};

int slu_ptx_scope_init(struct slu_ptx_scope *scope);
void slu_ptx_scope_deinit(struct slu_ptx_scope *scope);

void slu_ptx_scope_enter(struct slu_ptx_scope *scope);
void slu_ptx_scope_leave(struct slu_ptx_scope *scope);

/*
 * Declares a name in the innermost scope. The text must stay where it is. Return: 0, -ENOMEM, or
 * SLU_PTX_SCOPE_E_TAKEN if the scope has that name (*ret_symbol is then the older one).
 */
enum {
	_SLU_PTX_SCOPE_E_SUCCESS,
	SLU_PTX_SCOPE_E_TAKEN,
};
int slu_ptx_scope_declare(struct slu_ptx_scope *scope, const char *name, size_t size,
			  enum slu_ptx_symbol_kind kind, struct slu_ptx_symbol **ret_symbol);

/* NULL if no scope has that name. Ranges are only found by their bare prefix. */
struct slu_ptx_symbol *slu_ptx_scope_find(const struct slu_ptx_scope *scope, const char *name,
					  size_t size);
/* A single register or a member of a range; of a vector, *ret_reg is its first. */
struct slu_ptx_symbol *slu_ptx_scope_find_reg(const struct slu_ptx_scope *scope, const char *name,
					      size_t size, uint32_t *ret_reg);
