/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ptx/scope.h"

static uint32_t hash_of(const char *name, size_t size)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return h ^ h >> 15;
}

int slu_ptx_scope_init(struct slu_ptx_scope *scope)
{
	*scope = (struct slu_ptx_scope){ .n_buckets = 1024 };
	scope->buckets = calloc(scope->n_buckets, sizeof(*scope->buckets));
	return scope->buckets ? 0 : slu_error(-ENOMEM);
}

static void free_all(struct slu_ptx_symbol *s)
{
	while (s) {
		struct slu_ptx_symbol *previous = s->previous;

		free(s);
		s = previous;
	}
}

void slu_ptx_scope_deinit(struct slu_ptx_scope *scope)
{
	if (!scope)
		return;
	free_all(scope->last);
	free_all(scope->spare);
	free(scope->buckets);
	*scope = (struct slu_ptx_scope){ 0 };
}

static struct slu_ptx_symbol **bucket_of(const struct slu_ptx_scope *scope, uint32_t hash)
{
	return &scope->buckets[hash & (scope->n_buckets - 1)];
}

void slu_ptx_scope_enter(struct slu_ptx_scope *scope)
{
	scope->depth++;
}

void slu_ptx_scope_leave(struct slu_ptx_scope *scope)
{
	assert(scope->depth > 0);
	while (scope->last && scope->last->depth == scope->depth) {
		struct slu_ptx_symbol *s = scope->last;
		struct slu_ptx_symbol **at = bucket_of(scope, s->hash);

		while (*at != s)
			at = &(*at)->next;
		*at = s->next;
		scope->last = s->previous;
		scope->n_symbols--;
		s->previous = scope->spare;
		scope->spare = s;
	}
	scope->depth--;
}

/* Oldest first, so that the innermost name of a bucket comes to its front again. */
static void rehash(struct slu_ptx_scope *scope)
{
	uint32_t n = scope->n_buckets * 4;
	struct slu_ptx_symbol **buckets = calloc(n, sizeof(*buckets));
	struct slu_ptx_symbol **in_order;
	uint32_t k = scope->n_symbols;

	in_order = malloc(k * sizeof(*in_order));
	/* without memory the chains are merely longer */
	if (!buckets || !in_order) {
		free(buckets);
		free(in_order);
		return;
	}
	for (struct slu_ptx_symbol *s = scope->last; s; s = s->previous)
		in_order[--k] = s;
	assert(k == 0);
	free(scope->buckets);
	scope->buckets = buckets;
	scope->n_buckets = n;
	for (k = 0; k < scope->n_symbols; k++) {
		struct slu_ptx_symbol **b = bucket_of(scope, in_order[k]->hash);

		in_order[k]->next = *b;
		*b = in_order[k];
	}
	free(in_order);
}

int slu_ptx_scope_declare(struct slu_ptx_scope *scope, const char *name, size_t size,
			  enum slu_ptx_symbol_kind kind, struct slu_ptx_symbol **ret_symbol)
{
	struct slu_ptx_symbol *s = slu_ptx_scope_find(scope, name, size);
	struct slu_ptx_symbol **b;

	if (s && s->depth == scope->depth) {
		*ret_symbol = s;
		return SLU_PTX_SCOPE_E_TAKEN;
	}
	if (scope->n_symbols >= scope->n_buckets * 2)
		rehash(scope);
	s = scope->spare;
	if (s)
		scope->spare = s->previous;
	else
		s = malloc(sizeof(*s));
	if (!s)
		return slu_error(-ENOMEM);
	*s = (struct slu_ptx_symbol){
		.kind = kind,
		.name = name,
		.size = size,
		.hash = hash_of(name, size),
		.depth = scope->depth,
		.width = 1,
		.previous = scope->last,
	};
	b = bucket_of(scope, s->hash);
	s->next = *b;
	*b = s;
	scope->last = s;
	scope->n_symbols++;
	*ret_symbol = s;
	return 0;
}

struct slu_ptx_symbol *slu_ptx_scope_find(const struct slu_ptx_scope *scope, const char *name,
					  size_t size)
{
	uint32_t hash = hash_of(name, size);

	for (struct slu_ptx_symbol *s = *bucket_of(scope, hash); s; s = s->next)
		if (s->hash == hash && s->size == size && !memcmp(s->name, name, size))
			return s;
	return NULL;
}

struct slu_ptx_symbol *slu_ptx_scope_find_reg(const struct slu_ptx_scope *scope, const char *name,
					      size_t size, uint32_t *ret_reg)
{
	struct slu_ptx_symbol *s, *range = NULL;
	size_t n = size;
	uint32_t index = 0;

	while (n > 1 && size - n < 9 && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	/* %r07 is no member of %r<10> */
	while (n < size - 1 && name[n] == '0')
		n++;
	if (n < size) {
		for (size_t i = n; i < size; i++)
			index = index * 10 + (uint32_t)(name[i] - '0');
		range = slu_ptx_scope_find(scope, name, n);
		if (range && (range->kind != SLU_PTX_SYMBOL_RANGE || index >= range->count))
			range = NULL;
	}
	s = range && range->depth == scope->depth ? NULL : slu_ptx_scope_find(scope, name, size);
	if (s && s->kind == SLU_PTX_SYMBOL_REG && (!range || s->depth >= range->depth)) {
		*ret_reg = s->reg;
		return s;
	}
	if (range)
		*ret_reg = range->reg + index * range->width;
	return range;
}
