/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random kernels, run byte by byte on the interpreter: what was touched is in the predicted sets.
 * They are made of what compilers emit (affine addresses, guards, loops, tiles) and of what no
 * compiler would (numbers that wrap around, guards that leave old values, loops that change their
 * own bounds, addresses from memory). Most of them shall be proven, or nothing is tested.
 */
#include "lib/test.h"

#include "predict/test-truth.h"

#define WINDOW	(UINT64_C(1) << 16)
#define N_REGS	10u /* of 32 bits */
#define N_WIDES 6u  /* of 64 bits */
#define N_PREDS 5u
#define N_U32	4u /* parameters */

static struct truth truth;

/* A kernel in the making. */
struct maker {
	uint64_t *random;
	FILE *out;
	unsigned n_labels;
	unsigned n_statements; /* that may still come */
	unsigned n_loops;      /* counters that are taken */
	unsigned depth;
};

static unsigned pick(struct maker *m, unsigned n)
{
	return (unsigned)(slu_test_random(m->random) >> 33) % n;
}

static bool chance(struct maker *m, unsigned percent)
{
	return pick(m, 100) < percent;
}

#define PUT(m, ...) fprintf((m)->out, __VA_ARGS__)

/* -- operands ------------------------------------------------------------------------------- */

/* Numbers at which something happens. */
static int number(struct maker *m)
{
	static const int numbers[] = { 0,    1,		 2,	  3,	       4,  7,	8,   12,
				       15,   16,	 31,	  32,	       33, 100, 255, 256,
				       1000, 4096,	 -1,	  -2,	       -3, -4,	-16, -32,
				       -100, 0x7fffffff, 0x10001, -2147483647, 64, 5 };

	return chance(m, 70) ? (int)pick(m, 20) : numbers[pick(m, SLU_ARRAY_SIZE(numbers))];
}

static const char *reg(struct maker *m)
{
	static char names[8][16];
	static unsigned n;
	char *name = names[n++ % 8];

	if (m->n_loops && chance(m, 35))
		snprintf(name, 16, "%%c%u", pick(m, m->n_loops));
	else
		snprintf(name, 16, "%%r%u", pick(m, N_REGS));
	return name;
}

static const char *source(struct maker *m)
{
	static char names[8][16];
	static unsigned n;
	char *name = names[n++ % 8];

	if (chance(m, 65))
		return reg(m);
	snprintf(name, 16, "%d", number(m));
	return name;
}

/* A guard now and then. */
static void put_guard(struct maker *m, unsigned percent)
{
	PUT(m, "\t");
	if (chance(m, percent))
		PUT(m, "@%s%%p%u ", chance(m, 30) ? "!" : "", pick(m, N_PREDS));
}

/* -- statements ----------------------------------------------------------------------------- */

static void put_setp(struct maker *m, unsigned p)
{
	static const char *const relations[] = { "lt", "le", "gt", "ge", "eq", "ne" };
	static const char *const types[] = { "s32", "u32" };

	switch (pick(m, 8)) {
	case 0:
		PUT(m, "\tsetp.%s.s64 %%p%u, %%d%u, %%d%u;\n", relations[pick(m, 6)], p,
		    pick(m, N_WIDES), pick(m, N_WIDES));
		break;
	case 1:
		PUT(m, "\t%s.pred %%p%u, %%p%u, %%p%u;\n", chance(m, 50) ? "and" : "or", p,
		    pick(m, N_PREDS), pick(m, N_PREDS));
		break;
	case 2:
		PUT(m, "\tsetp.%s.%s.%s %%p%u, %s, %s, %s%%p%u;\n", relations[pick(m, 6)],
		    chance(m, 50) ? "and" : "or", types[pick(m, 2)], p, reg(m), source(m),
		    chance(m, 30) ? "!" : "", pick(m, N_PREDS));
		break;
	default:
		put_guard(m, 15);
		PUT(m, "setp.%s.%s %%p%u, %s, %s;\n", relations[pick(m, 6)], types[pick(m, 2)], p,
		    reg(m), source(m));
		break;
	}
}

static void put_narrow(struct maker *m)
{
	static const char *const sums[] = { "add.s32", "sub.s32", "add.u32", "mul.lo.s32" };
	static const char *const bits[] = { "and.b32", "or.b32", "xor.b32" };
	static const char *const order[] = { "min.s32", "max.s32", "min.u32", "max.u32" };
	static const char *const quotients[] = { "div.s32", "rem.s32", "div.u32", "rem.u32" };
	static const char *const cuts[] = { "u8", "s8", "u16", "s16" };
	static const int masks[] = { 1, 3, 7, 15, 31, 63, 255, 1023, -2, -4, -8, -32, 12, 0x0ff0 };
	unsigned to = pick(m, N_REGS);

	/* a number, and what remains of it when its quotient is taken out, as compilers do it */
	if (chance(m, 8)) {
		unsigned d = 2 + pick(m, 12);

		PUT(m, "\tmov.u32 %%t0, %s;\n\tand.b32 %%t0, %%t0, 255;\n", reg(m));
		PUT(m, "\tdiv.u32 %%t1, %%t0, %u;\n\tmul.lo.s32 %%t1, %%t1, %u;\n", d, d);
		PUT(m, "\tsub.s32 %%r%u, %%t0, %%t1;\n", to);
		return;
	}
	put_guard(m, 15);
	switch (pick(m, 16)) {
	case 0:
	case 1:
	case 2:
		PUT(m, "%s %%r%u, %s, %s;\n", sums[pick(m, 4)], to, reg(m), source(m));
		break;
	case 3:
		PUT(m, "mad.lo.s32 %%r%u, %s, %s, %s;\n", to, reg(m), source(m), reg(m));
		break;
	case 4:
		PUT(m, "and.b32 %%r%u, %s, %d;\n", to, reg(m),
		    masks[pick(m, SLU_ARRAY_SIZE(masks))]);
		break;
	case 5:
		PUT(m, "%s %%r%u, %s, %s;\n", bits[pick(m, 3)], to, reg(m), source(m));
		break;
	case 6:
		PUT(m, "shl.b32 %%r%u, %s, %u;\n", to, reg(m), pick(m, chance(m, 90) ? 6 : 40));
		break;
	case 7:
		PUT(m, "shr.%s %%r%u, %s, %u;\n", chance(m, 50) ? "s32" : "u32", to, reg(m),
		    pick(m, chance(m, 90) ? 8 : 40));
		break;
	case 8:
		PUT(m, "%s %%r%u, %s, %s;\n", order[pick(m, 4)], to, reg(m), source(m));
		break;
	case 9:
	case 10:
		PUT(m, "%s %%r%u, %s, %d;\n", quotients[pick(m, 4)], to, reg(m),
		    1 + (int)pick(m, 40));
		break;
	case 11:
		PUT(m, "cvt.u32.%s %%r%u, %s;\n", cuts[pick(m, 4)], to, reg(m));
		break;
	case 12:
		PUT(m, "selp.b32 %%r%u, %s, %s, %%p%u;\n", to, source(m), source(m),
		    pick(m, N_PREDS));
		break;
	case 13:
		if (chance(m, 50))
			PUT(m, "mul.hi.%s %%r%u, %s, %u;\n", chance(m, 50) ? "s32" : "u32", to,
			    reg(m), 715827883u * (1 + pick(m, 5)));
		else
			PUT(m, "bfe.u32 %%r%u, %s, %u, %u;\n", to, reg(m), pick(m, 8),
			    1 + pick(m, 8));
		break;
	case 14:
		PUT(m, "%s %%r%u, %s;\n",
		    chance(m, 40)   ? "neg.s32"
		    : chance(m, 50) ? "not.b32"
				    : "abs.s32",
		    to, reg(m));
		break;
	default:
		if (chance(m, 50))
			PUT(m, "mov.u32 %%r%u, %s;\n", to, source(m));
		else
			PUT(m, "cvt.u32.u64 %%r%u, %%d%u;\n", to, pick(m, N_WIDES));
		break;
	}
}

static void put_wide(struct maker *m)
{
	unsigned to = pick(m, N_WIDES);

	put_guard(m, 10);
	switch (pick(m, 7)) {
	case 0:
		PUT(m, "cvt.s64.s32 %%d%u, %s;\n", to, reg(m));
		break;
	case 1:
		PUT(m, "cvt.u64.u32 %%d%u, %s;\n", to, reg(m));
		break;
	case 2:
		PUT(m, "mul.wide.%s %%d%u, %s, %d;\n", chance(m, 60) ? "s32" : "u32", to, reg(m),
		    1 + (int)pick(m, 20));
		break;
	case 3:
		PUT(m, "mad.wide.s32 %%d%u, %s, %d, %%d%u;\n", to, reg(m), 1 + (int)pick(m, 9),
		    pick(m, N_WIDES));
		break;
	case 4:
		PUT(m, "add.s64 %%d%u, %%d%u, %d;\n", to, pick(m, N_WIDES), number(m));
		break;
	case 5:
		PUT(m, "and.b64 %%d%u, %%d%u, %u;\n", to, pick(m, N_WIDES),
		    (1u << pick(m, 13)) - 1);
		break;
	default:
		PUT(m, "%s.s64 %%d%u, %%d%u, %%d%u;\n", chance(m, 50) ? "add" : "sub", to,
		    pick(m, N_WIDES), pick(m, N_WIDES));
		break;
	}
}

/* An address in %a0: a base, and an offset that is mostly small. */
static void put_address(struct maker *m, unsigned size)
{
	unsigned kind = pick(m, 10);

	if (kind < 6)
		PUT(m, "\tmul.wide.%s %%a1, %s, %u;\n", chance(m, 75) ? "s32" : "u32", reg(m),
		    size);
	else if (kind < 8)
		PUT(m, "\tand.b32 %%t0, %s, %u;\n\tmul.wide.u32 %%a1, %%t0, %u;\n", reg(m),
		    (1u << pick(m, 11)) - 1, size);
	else
		PUT(m, "\tmul.lo.s64 %%a1, %%d%u, %u;\n", pick(m, N_WIDES), size);
	switch (pick(m, 12)) {
	case 0: /* from memory */
		PUT(m, "\tld.global.u64 %%a0, [%%b1+%u];\n\tadd.s64 %%a0, %%a0, %%a1;\n",
		    pick(m, 4) * 8);
		break;
	case 1: /* a field of a struct */
		PUT(m, "\tld.param.u64 %%a0, [s+8];\n\tadd.s64 %%a0, %%a0, %%a1;\n");
		break;
	case 2: /* a variable */
		PUT(m, "\tmov.u64 %%a0, v;\n\tadd.s64 %%a0, %%a0, %%a1;\n");
		break;
	case 3: /* one or the other */
		PUT(m, "\tselp.b64 %%a0, %%b0, %%b1, %%p%u;\n\tadd.s64 %%a0, %%a0, %%a1;\n",
		    pick(m, N_PREDS));
		break;
	default:
		PUT(m, "\tadd.s64 %%a0, %%b0, %%a1;\n");
		break;
	}
}

static void put_access(struct maker *m)
{
	static const unsigned sizes[] = { 1, 1, 4, 4, 8 };
	unsigned k = pick(m, SLU_ARRAY_SIZE(sizes)), size = sizes[k];
	static const char *const spaces[] = { ".global", ".global", "" };
	const char *space = spaces[pick(m, 3)];
	unsigned offset = pick(m, 4) * size;

	put_address(m, size);
	put_guard(m, 25);
	switch (pick(m, 7)) {
	case 0:
	case 1:
		if (size == 8)
			PUT(m, "ld%s.v2.u32 {%%r%u, %%t1}, [%%a0+%u];\n", space, pick(m, N_REGS),
			    offset);
		else
			PUT(m, "ld%s.%s %%r%u, [%%a0+%u];\n", space, size == 1 ? "u8" : "s32",
			    pick(m, N_REGS), offset);
		break;
	case 2:
		if (size == 4) {
			PUT(m, "atom%s.add.u32 %%r%u, [%%a0+%u], 1;\n", space, pick(m, N_REGS),
			    offset);
			break;
		}
		__attribute__((fallthrough));
	case 3:
		if (size == 4) {
			PUT(m, "red%s.add.u32 [%%a0+%u], 1;\n", space, offset);
			break;
		}
		__attribute__((fallthrough));
	default:
		if (size == 8)
			PUT(m, "st%s.v2.u32 [%%a0+%u], {%%t2, %%t2};\n", space, offset);
		else
			PUT(m, "st%s.%s [%%a0+%u], %%t2;\n", space, size == 1 ? "u8" : "u32",
			    offset);
		break;
	}
}

static void put_statements(struct maker *m, unsigned n);

static void put_if(struct maker *m)
{
	unsigned label = m->n_labels++, p = pick(m, N_PREDS);
	bool has_else = chance(m, 30);

	put_setp(m, p);
	PUT(m, "\t@%s%%p%u bra E%u;\n", chance(m, 50) ? "!" : "", p, label);
	put_statements(m, 1 + pick(m, 3));
	if (has_else)
		PUT(m, "\tbra F%u;\n", label);
	PUT(m, "E%u:\n", label);
	if (has_else) {
		put_statements(m, 1 + pick(m, 2));
		PUT(m, "F%u:\n", label);
	}
}

/*
 * A loop over %cN. One that is sure to end has constant steps and a near bound; any other has fuel
 * from memory, whose amount nobody can know.
 */
static void put_loop(struct maker *m)
{
	static const char *const types[] = { "s32", "u32" };
	unsigned label = m->n_labels++, c = m->n_loops, step = 1 + pick(m, 5);
	bool is_tame = chance(m, 60), is_up = chance(m, 70), is_top = chance(m, 50);
	const char *type = types[is_tame ? 0 : pick(m, 2)];
	static const char *const relations[] = { "lt", "le", "gt", "ge", "ne" };
	const char *relation;
	char bound[32];

	if (m->n_loops == 3 || m->depth > 3)
		return;
	if (is_tame) {
		relation = is_up ? (chance(m, 50) ? "lt" : "le") : (chance(m, 50) ? "gt" : "ge");
		if (chance(m, 40))
			PUT(m, "\tand.b32 %%c%u, %s, 31;\n", c, reg(m));
		else
			PUT(m, "\tmov.u32 %%c%u, %u;\n", c, pick(m, 20));
		if (chance(m, 40)) {
			PUT(m, "\tand.b32 %%n%u, %s, 31;\n", c, reg(m));
			snprintf(bound, sizeof(bound), "%%n%u", c);
		} else if (chance(m, 50)) {
			PUT(m, "\tadd.s32 %%n%u, %%c%u, %d;\n", c, c,
			    (int)pick(m, 9) * (is_up ? 1 : -1));
			snprintf(bound, sizeof(bound), "%%n%u", c);
		} else {
			snprintf(bound, sizeof(bound), "%u", pick(m, 30));
		}
	} else {
		relation = relations[pick(m, 5)];
		PUT(m, "\tmov.u32 %%c%u, %s;\n", c, source(m));
		snprintf(bound, sizeof(bound), "%s", source(m));
		PUT(m, "\tld.global.u32 %%f%u, [%%b1+64];\n", c);
		step = (unsigned)(chance(m, 70) ? (int)step : number(m));
	}
	m->n_loops++;
	m->depth++;
	PUT(m, "L%u:\n", label);
	if (is_top)
		PUT(m, "\tsetp.%s.%s %%q0, %%c%u, %s;\n\t@!%%q0 bra M%u;\n", relation, type, c,
		    bound, label);
	if (!is_tame)
		PUT(m,
		    "\tsub.s32 %%f%u, %%f%u, 1;\n\tsetp.eq.s32 %%q0, %%f%u, 0;\n\t@%%q0 bra M%u;\n",
		    c, c, c, label);
	put_statements(m, 1 + pick(m, 4));
	if (chance(m, 15)) {
		put_setp(m, 0);
		PUT(m, "\t@%%p0 bra M%u;\n", label);
	}
	/* others that go on beside the counter */
	if (chance(m, 30))
		PUT(m, "\tadd.s32 %%r%u, %%r%u, %d;\n", m->n_loops, m->n_loops, number(m));
	if (chance(m, 30))
		PUT(m, "\tadd.s64 %%d%u, %%d%u, %d;\n", c, c, (int)step * 4);
	/* one that does not go on in every turn */
	if (!is_tame && chance(m, 10))
		put_guard(m, 100);
	PUT(m, "\tadd.s32 %%c%u, %%c%u, %d;\n", c, c, is_up || !is_tame ? (int)step : -(int)step);
	if (is_top)
		PUT(m, "\tbra L%u;\n", label);
	else
		PUT(m, "\tsetp.%s.%s %%q0, %%c%u, %s;\n\t@%%q0 bra L%u;\n", relation, type, c,
		    bound, label);
	PUT(m, "M%u:\n", label);
	m->depth--;
	/* the counter stays readable: what it holds now is its last value */
	if (chance(m, 60))
		m->n_loops--;
}

/* Two loops, one in the other, or two choices that are alike and still not the same. */
static void put_twins(struct maker *m)
{
	unsigned label = m->n_labels++, first = pick(m, 4), factor = pick(m, 24);
	unsigned a = m->n_loops, b = a + 1, step = 1 + pick(m, 3), bound = first + pick(m, 12);

	if (chance(m, 40)) {
		for (unsigned i = 0; i < 2; i++)
			PUT(m, "\tselp.b32 %%t%u, %u, %u, %%p%u;\n", i, first, bound,
			    pick(m, N_PREDS));
		PUT(m, "\tmad.lo.u32 %%t0, %%t0, %u, %%t1;\n", factor);
		PUT(m, "\tmul.wide.u32 %%a1, %%t0, 4;\n\tadd.s64 %%a0, %%b0, %%a1;\n"
		       "\tst.global.u32 [%%a0], %%t2;\n");
		return;
	}
	if (a > 1)
		return;
	PUT(m, "\tmov.u32 %%c%u, %u;\nL%u:\n\tmov.u32 %%c%u, %u;\nM%u:\n", a, first, label, b,
	    first, label);
	PUT(m, "\tmad.lo.u32 %%t0, %%c%u, %u, %%c%u;\n\tmul.wide.u32 %%a1, %%t0, 4;\n", a, factor,
	    b);
	PUT(m, "\tadd.s64 %%a0, %%b0, %%a1;\n\tst.global.u32 [%%a0], %%t2;\n");
	PUT(m, "\tadd.u32 %%c%u, %%c%u, %u;\n\tsetp.lt.u32 %%q0, %%c%u, %u;\n\t@%%q0 bra M%u;\n", b,
	    b, step, b, bound, label);
	PUT(m, "\tadd.u32 %%c%u, %%c%u, %u;\n\tsetp.lt.u32 %%q0, %%c%u, %u;\n\t@%%q0 bra L%u;\n", a,
	    a, step, a, bound, label);
}

static void put_statement(struct maker *m)
{
	switch (pick(m, 14)) {
	case 0:
	case 1:
	case 2:
	case 3:
		put_access(m);
		break;
	case 4:
		put_setp(m, pick(m, N_PREDS));
		break;
	case 5:
	case 6:
		if (m->depth < 3) {
			m->depth++;
			put_if(m);
			m->depth--;
		}
		break;
	case 7:
		put_loop(m);
		break;
	case 8:
	case 9:
		put_wide(m);
		break;
	default:
		put_narrow(m);
		break;
	}
}

static void put_statements(struct maker *m, unsigned n)
{
	for (unsigned i = 0; i < n && m->n_statements; i++) {
		m->n_statements--;
		put_statement(m);
	}
}

/* What registers begin with: indices, sizes, parameters, numbers. */
static void put_beginning(struct maker *m)
{
	static const char *const specials[] = { "%tid.x",  "%tid.y",	"%ctaid.x", "%ntid.x",
						"%ntid.y", "%nctaid.x", "%ctaid.y", "%laneid" };

	PUT(m, "\tld.param.u64 %%b0, [p];\n\tld.param.u64 %%b1, [q];\n\tmov.u32 %%t2, 7;\n");
	for (unsigned i = 0; i < N_REGS; i++) {
		if (chance(m, 45)) {
			PUT(m, "\tmov.u32 %%r%u, %s;\n", i, specials[pick(m, 8)]);
		} else if (chance(m, 30)) {
			PUT(m,
			    "\tmov.u32 %%t0, %%ctaid.x;\n\tmov.u32 %%t1, %%ntid.x;\n"
			    "\tmov.u32 %%t3, %%tid.x;\n\tmad.lo.s32 %%r%u, %%t0, %%t1, %%t3;\n",
			    i);
		} else if (chance(m, 70)) {
			PUT(m, "\tld.param.%s %%r%u, [n%u];\n", chance(m, 50) ? "u32" : "s32", i,
			    pick(m, N_U32));
		} else {
			PUT(m, "\tmov.u32 %%r%u, %d;\n", i, number(m));
		}
	}
	for (unsigned i = 0; i < N_WIDES; i++)
		PUT(m, "\tcvt.s64.s32 %%d%u, %%r%u;\n", i, pick(m, N_REGS));
	for (unsigned i = 0; i < N_PREDS; i++)
		PUT(m, "\tsetp.lt.s32 %%p%u, %%r%u, %d;\n", i, pick(m, N_REGS), number(m));
	for (unsigned i = 0; i < 3; i++)
		PUT(m, "\tmov.u32 %%c%u, %d;\n", i, number(m));
}

static char *make_kernel(uint64_t *random)
{
	char *text = NULL;
	size_t size;
	struct maker m = { .random = random, .out = open_memstream(&text, &size) };

	m.n_statements = 6 + pick(&m, 22);
	PUT(&m, ".version 7.0\n.target sm_75\n.address_size 64\n.global .align 16 .b8 v[1024];\n"
		".visible .entry k(.param .u64 p, .param .u64 q, .param .align 8 .b8 s[24]");
	for (unsigned i = 0; i < N_U32; i++)
		PUT(&m, ", .param .u32 n%u", i);
	PUT(&m,
	    ")\n{\n\t.reg .b32 %%r<%u>, %%c<4>, %%n<4>, %%f<4>, %%t<4>;\n"
	    "\t.reg .b64 %%d<%u>, %%a<2>, %%b<2>;\n\t.reg .pred %%p<%u>, %%q<1>;\n",
	    N_REGS, N_WIDES, N_PREDS);
	put_beginning(&m);
	while (m.n_statements)
		put_statements(&m, 1);
	put_access(&m);
	if (chance(&m, 25))
		put_twins(&m);
	PUT(&m, "\tret;\n}\n");
	fclose(m.out);
	return text;
}

/* -- launches ------------------------------------------------------------------------------- */

struct tally {
	unsigned n_kernels, n_launches, n_faults, n_reads, n_writes;
	uint64_t touched, extra;
};

static void launch(uint64_t *random, struct tally *tally)
{
	struct maker m = { .random = random };
	static const int sizes[] = { 1, 2, 3, 5, 16, 32, 33, 48 };
	unsigned grid[3] = { 1 + pick(&m, 3), 1 + pick(&m, 2), 1 };
	unsigned block[3] = { (unsigned)sizes[pick(&m, 8)], 1 + pick(&m, 3), 1 };
	uint64_t base = truth_alloc(&truth, 0), half;
	uint8_t *p;

	/* everything but a margin may be touched; bases are in the middle */
	memset(truth.access + 4096, DEV_INTERP_READ | DEV_INTERP_WRITE, truth.bytes - 8192);
	half = (base & ~UINT64_C(0xfff)) + truth.bytes / 2;
	p = truth.window;
	for (uint64_t i = 4096; i < truth.bytes - 4096; i++)
		p[i] = (uint8_t)(slu_test_random(random) % 24);
	for (unsigned i = 0; i < 8; i++)
		((uint64_t *)(uintptr_t)(half + 4096))[i] = half + 64 * i;
	*(uint32_t *)(uintptr_t)(half + 4096 + 64) = 12;
	truth_param_u64(&truth, half);
	truth_param_u64(&truth, half + 4096);
	truth_param_u64(&truth, 1);
	truth_param_u64(&truth, half - 4096);
	truth_param_u64(&truth, 2);
	for (unsigned i = 0; i < N_U32; i++)
		truth_param_u32(&truth,
				(uint32_t)(chance(&m, 70) ? (int)pick(&m, 70) : number(&m)));
	if (truth_run(&truth, "k", grid, block) == DEV_INTERP_E_FAULT)
		tally->n_faults++;
	tally->n_launches++;
	tally->n_reads += !truth.set.why_reads.reason;
	tally->n_writes += !truth.set.why_writes.reason;
	tally->touched += truth.n_touched;
	tally->extra += truth.n_extra;
}

static void complain(const char *text, uint64_t seed)
{
	fprintf(stderr, "%s\nmissed %llu bytes, the first at %+lld from p; SLUICE_SEED=%llu\n",
		text, (unsigned long long)truth.n_missed,
		(long long)truth.first_missed - (long long)truth.bytes / 2,
		(unsigned long long)seed);
}

/* One kernel from its own seed, so that it can be repeated alone. */
static void run_one(uint64_t seed, struct tally *tally)
{
	uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	char *text = make_kernel(&random);
	int r;

	truth_unload(&truth);
	r = truth_load(&truth, text);
	if (r)
		fprintf(stderr, "%s\nline %u: %s\n", text, truth.error.line, truth.error.text);
	assert_int_equal(r, 0);
	for (unsigned i = 0; i < 2; i++) {
		launch(&random, tally);
		if (truth.n_missed)
			complain(text, seed);
		assert_int_equal(truth.n_missed, 0);
	}
	tally->n_kernels++;
	free(text);
}

static void test_nothing_that_a_random_kernel_touches_is_missed(void **state)
{
	const char *count = getenv("SLUICE_GENERATE"), *one = getenv("SLUICE_SEED");
	unsigned n = one ? 1 : count ? (unsigned)strtoul(count, NULL, 0) : 2000;
	uint64_t seed = slu_test_seed(1);
	struct tally tally = { 0 };

	(void)state;
	for (unsigned i = 0; i < n; i++)
		run_one(seed + i, &tally);
	printf("# %u kernels, %u launches (%u faulted), reads of %u and writes of %u proven, "
	       "%llu bytes touched, %llu extra\n",
	       tally.n_kernels, tally.n_launches, tally.n_faults, tally.n_reads, tally.n_writes,
	       (unsigned long long)tally.touched, (unsigned long long)tally.extra);
	if (n >= 1000) {
		assert_true(tally.n_reads * 4 > tally.n_launches);
		assert_true(tally.n_writes * 4 > tally.n_launches);
		assert_true(tally.n_faults * 2 < tally.n_launches);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_that_a_random_kernel_touches_is_missed),
	};
	int r;

	truth_init(&truth, WINDOW);
	r = cmocka_run_group_tests(tests, NULL, NULL);
	truth_deinit(&truth);
	return r;
}
