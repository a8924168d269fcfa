/* SPDX-License-Identifier: Apache-2.0 */

#include "predict/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "predict/number.h"

static const uint8_t n_operands[] = {
#define SLU_PREDICT_OP(name, n) n,
#include "predict/opcodes.def"
};

void slu_predict_program_deinit(struct slu_predict_program *p)
{
	free(p->ops);
	free(p->accesses);
	free(p->buckets);
	*p = (struct slu_predict_program){ 0 };
}

static uint32_t hash_of(const struct slu_predict_op *op)
{
	uint64_t h = op->code * UINT64_C(0x9E3779B97F4A7C15);

	h = (h ^ op->a) * UINT64_C(0xBF58476D1CE4E5B9);
	h = (h ^ op->b ^ (uint64_t)op->c << 32) * UINT64_C(0x94D049BB133111EB);
	h = (h ^ (uint64_t)op->imm) * UINT64_C(0xBF58476D1CE4E5B9);
	h ^= h >> 31;
	h += (uint64_t)op->relation << 8 | (uint64_t)op->type.bits << 16 |
	     (uint64_t)op->type.is_signed << 24 | op->shift;
	h *= UINT64_C(0x94D049BB133111EB);
	return (uint32_t)(h >> 32);
}

static bool is_same(const struct slu_predict_op *x, const struct slu_predict_op *y)
{
	return x->code == y->code && x->relation == y->relation && x->shift == y->shift &&
	       x->is_fixed == y->is_fixed && x->type.bits == y->type.bits &&
	       x->type.is_signed == y->type.is_signed && x->a == y->a && x->b == y->b &&
	       x->c == y->c && x->imm == y->imm &&
	       /* what was loaded at one place is not what was loaded at another */
	       (x->line == y->line ||
		(x->code != SLU_PREDICT_CODE_LOADED && x->code != SLU_PREDICT_CODE_UNKNOWN));
}

static bool grow_buckets(struct slu_predict_program *p)
{
	uint32_t n = p->n_buckets ? p->n_buckets * 2 : 256;
	uint32_t *buckets = calloc(n, sizeof(*buckets));

	if (!buckets)
		return false;
	for (uint32_t i = 0; i < p->n_ops; i++) {
		uint32_t k = hash_of(&p->ops[i]) & (n - 1);

		while (buckets[k])
			k = (k + 1) & (n - 1);
		buckets[k] = i + 1;
	}
	free(p->buckets);
	p->buckets = buckets;
	p->n_buckets = n;
	return true;
}

static bool grow(void **array, uint32_t n, uint32_t *max, size_t size)
{
	uint32_t more = *max ? *max * 2 : 64;
	void *bigger;

	if (n < *max)
		return true;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return false;
	*array = bigger;
	*max = more;
	return true;
}

static bool is_constant(const struct slu_predict_program *p, uint32_t op, int64_t *ret_number)
{
	*ret_number = p->ops[op].imm;
	return p->ops[op].code == SLU_PREDICT_CODE_CONSTANT;
}

/*
 * An op that needs no launch. Return: an earlier op of the same value, or 0; then *op may have
 * become a constant. Sound: the rules for numbers are those of a launch, and x + 0, x - 0 and x * 1
 * are x in any register.
 */
static uint32_t fold(const struct slu_predict_program *p, struct slu_predict_op *op)
{
	enum slu_predict_code code = (enum slu_predict_code)op->code;
	unsigned n = n_operands[code];
	int64_t a = 0, b = 0, number;
	bool is_a, is_b;

	if (n != 1 && n != 2)
		return 0;
	is_a = is_constant(p, op->a, &a);
	is_b = n == 2 && is_constant(p, op->b, &b);
	if (is_a && (is_b || n == 1) && slu_predict_number_op(op, a, b, &number)) {
		*op = (struct slu_predict_op){ .code = SLU_PREDICT_CODE_CONSTANT, .imm = number };
		return 0;
	}
	switch (code) {
	case SLU_PREDICT_CODE_ADD:
		return is_b && !b ? op->a : is_a && !a ? op->b : 0;
	case SLU_PREDICT_CODE_SUB:
		return is_b && !b ? op->a : 0;
	case SLU_PREDICT_CODE_MUL:
		return is_b && b == 1 ? op->a : is_a && a == 1 ? op->b : 0;
	default:
		return 0;
	}
}

uint32_t slu_predict_program_op(struct slu_predict_program *p, const struct slu_predict_op *asked)
{
	struct slu_predict_op folded = *asked, *op = &folded;
	uint32_t k;

	if (p->error || p->n_ops == SLU_PREDICT_MAX_OPS)
		return 0;
	if ((p->n_ops * 2 >= p->n_buckets && !grow_buckets(p)) ||
	    !grow((void **)&p->ops, p->n_ops, &p->max_ops, sizeof(*p->ops))) {
		p->error = slu_error(-ENOMEM);
		return 0;
	}
	if (!p->n_ops) {
		/* op 0 stands for nothing */
		p->ops[p->n_ops++] = (struct slu_predict_op){ .code = SLU_PREDICT_CODE_NONE };
		return slu_predict_program_op(p, asked);
	}
	k = fold(p, op);
	if (k)
		return k;
	for (k = hash_of(op) & (p->n_buckets - 1); p->buckets[k]; k = (k + 1) & (p->n_buckets - 1))
		if (is_same(&p->ops[p->buckets[k] - 1], op))
			return p->buckets[k] - 1;
	p->ops[p->n_ops] = *op;
	p->buckets[k] = ++p->n_ops;
	return p->n_ops - 1;
}

bool slu_predict_program_access(struct slu_predict_program *p,
				const struct slu_predict_access *access)
{
	if (p->error || p->n_accesses == SLU_PREDICT_MAX_ACCESSES)
		return false;
	if (!grow((void **)&p->accesses, p->n_accesses, &p->max_accesses, sizeof(*p->accesses))) {
		p->error = slu_error(-ENOMEM);
		return false;
	}
	p->accesses[p->n_accesses++] = *access;
	return true;
}

/* -- the end of its making ------------------------------------------------------------------ */

static int compare(const void *x, const void *y)
{
	const struct slu_predict_access *a = x, *b = y;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->guard != b->guard)
		return a->guard < b->guard ? -1 : 1;
	if (a->is_written != b->is_written || a->is_read != b->is_read)
		return a->is_written * 2 + a->is_read < b->is_written * 2 + b->is_read ? -1 : 1;
	if (a->may_be_window != b->may_be_window)
		return a->may_be_window < b->may_be_window ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Sound: bytes that follow each other at one address are one piece; nothing else is joined. */
static void join_accesses(struct slu_predict_program *p)
{
	uint32_t n = 0;

	if (p->n_accesses)
		qsort(p->accesses, p->n_accesses, sizeof(*p->accesses), compare);
	for (uint32_t i = 0; i < p->n_accesses; i++) {
		struct slu_predict_access *last = n ? &p->accesses[n - 1] : NULL;
		const struct slu_predict_access *a = &p->accesses[i];
		int64_t end;

		if (last && last->address == a->address && last->guard == a->guard &&
		    last->is_read == a->is_read && last->is_written == a->is_written &&
		    last->may_be_window == a->may_be_window &&
		    a->offset <= last->offset + (int64_t)last->bytes) {
			end = SLU_MAX(last->offset + (int64_t)last->bytes,
				      a->offset + (int64_t)a->bytes);
			last->bytes = (uint32_t)(end - last->offset);
		} else {
			p->accesses[n++] = *a;
		}
	}
	p->n_accesses = n;
}

static void mark(const struct slu_predict_program *p, bool *is_needed)
{
	for (uint32_t i = 0; i < p->n_accesses; i++) {
		is_needed[p->accesses[i].address] = true;
		is_needed[p->accesses[i].guard] = true;
	}
	/* operands come first: from behind, who needs an op has been looked at */
	for (uint32_t i = p->n_ops; i-- > 1;) {
		const struct slu_predict_op *op = &p->ops[i];
		unsigned n = n_operands[op->code];

		if (!is_needed[i])
			continue;
		if (n > 0)
			is_needed[op->a] = true;
		if (n > 1)
			is_needed[op->b] = true;
		if (n > 2)
			is_needed[op->c] = true;
	}
}

static bool is_leaf(const struct slu_predict_op *op)
{
	return op->code == SLU_PREDICT_CODE_PARAM || op->code == SLU_PREDICT_CODE_SPECIAL ||
	       op->code == SLU_PREDICT_CODE_VARIABLE;
}

/*
 * Moves the ops that are needed together: the leaves, then all others, each in their order. Leaves
 * have no operands, so that operands still come first.
 */
static void order_ops(struct slu_predict_program *p, const bool *is_needed,
		      struct slu_predict_op *ops, uint32_t *where)
{
	uint32_t n = 1;

	ops[0] = p->ops[0];
	for (uint32_t i = 1; i < p->n_ops; i++)
		if (is_needed[i] && is_leaf(&p->ops[i])) {
			ops[n] = p->ops[i];
			ops[n].needs = UINT64_C(1) << n % 64;
			where[i] = n++;
		}
	p->end_leaf = n;
	for (uint32_t i = 1; i < p->n_ops; i++) {
		struct slu_predict_op *op = &ops[n];

		if (!is_needed[i] || is_leaf(&p->ops[i]))
			continue;
		*op = p->ops[i];
		op->a = where[op->a];
		op->b = where[op->b];
		op->c = where[op->c];
		op->needs = ops[op->a].needs | ops[op->b].needs | ops[op->c].needs;
		where[i] = n++;
	}
	p->n_ops = n;
}

int slu_predict_program_finish(struct slu_predict_program *p)
{
	struct slu_predict_op *ops;
	uint32_t *where;
	bool *is_needed;

	if (p->error)
		return slu_fold(p->error);
	join_accesses(p);
	if (!p->n_ops)
		return 0;
	is_needed = calloc(p->n_ops, sizeof(*is_needed));
	where = calloc(p->n_ops, sizeof(*where));
	ops = calloc(p->n_ops, sizeof(*ops));
	if (!is_needed || !where || !ops) {
		free(is_needed);
		free(where);
		free(ops);
		return slu_error(-ENOMEM);
	}
	mark(p, is_needed);
	order_ops(p, is_needed, ops, where);
	for (uint32_t i = 0; i < p->n_accesses; i++) {
		p->accesses[i].address = where[p->accesses[i].address];
		p->accesses[i].guard = where[p->accesses[i].guard];
	}
	free(p->ops);
	p->ops = ops;
	free(is_needed);
	free(where);
	free(p->buckets);
	p->buckets = NULL;
	p->n_buckets = 0;
	return 0;
}
