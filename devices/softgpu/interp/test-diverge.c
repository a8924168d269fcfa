/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random kernels whose lanes part and meet, exchange values on the way, and reach shared memory by
 * addresses that wrap; against a model that knows nothing of groups: it walks over the same program
 * with a mask, one lane after the other.
 */
#include "lib/test.h"

#include "softgpu/interp/code.h"
#include "softgpu/interp/testbed.h"

#define LANES	  32u
#define N_REGS	  6u
#define N_OWN	  4u /* words of shared memory that a thread has for itself */
#define N_TABLE	  256u
#define N_THREADS 128u
#define N_RESULTS (N_REGS + N_OWN)
#define N_NODES	  200u
#define DEPTH	  3u

enum kind {
	COMPUTE,
	LOAD,	   /* of the table, at a place that a register says */
	LOAD_LINE, /* the same at the thread's number, and some more */
	STORE,	   /* to an own word */
	ATOMIC,
	SHUFFLE,
	BALLOT,
	MATCH,
	REDUCE,
	IF,
	LOOP,
	BOTH, /* lanes execute one exchange at two places */
	END,  /* of some lanes */
	N_KINDS,
};

struct node {
	enum kind kind;
	unsigned d, a, b, op;
	uint32_t imm;
	int64_t offset;		   /* of an address */
	struct node *body, *other; /* what lanes do where the condition holds, and where not */
	struct node *next;
};

static const char *const operations[] = { "add.u32", "sub.u32", "xor.b32", "mul.lo.u32" };
static const char *const modes[] = { "up", "down", "bfly", "idx" };

static struct node nodes[N_NODES];
static unsigned n_nodes;
static uint64_t seed;

static unsigned pick(unsigned n)
{
	return (unsigned)(slu_test_random(&seed) >> 33) % n;
}

static struct node *make_some(unsigned depth)
{
	static const int64_t offsets[] = { 0, 4, 68, 1024, -68, 0x7ffffff0, -0x7ffffff0 };
	struct node *first = NULL, **last = &first;

	for (unsigned n = 2 + pick(5); n && n_nodes < N_NODES; n--) {
		struct node *x = &nodes[n_nodes++];

		*x = (struct node){ .kind = pick(N_KINDS),
				    .d = pick(N_REGS),
				    .a = pick(N_REGS),
				    .b = pick(N_REGS),
				    .op = pick(4),
				    .imm = (uint32_t)slu_test_random(&seed),
				    .offset = offsets[pick(SLU_ARRAY_SIZE(offsets))] };
		if ((x->kind == IF || x->kind == LOOP) && depth == DEPTH)
			x->kind = SHUFFLE;
		if (x->kind == END && (depth || pick(4)))
			x->kind = COMPUTE;
		if (x->kind == IF || x->kind == LOOP)
			x->body = make_some(depth + 1);
		if (x->kind == IF)
			x->other = make_some(depth + 1);
		*last = x;
		last = &x->next;
	}
	return first;
}

/* ------------------------------------------------------------------------------------ the text */

struct text {
	char bytes[65536];
	size_t n;
	unsigned n_labels;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	t->n += (size_t)vsnprintf(t->bytes + t->n, sizeof(t->bytes) - t->n, format, args);
	va_end(args);
	assert_true(t->n < sizeof(t->bytes));
}

/* The range of a shuffle: whole, or four lanes apart from each other. */
static unsigned range_of(const struct node *x)
{
	unsigned segment = x->imm >> 20 & 1 ? 28 : 0;

	return segment << 8 | (x->op == 0 ? 0 : 31);
}

/* an exchange that brings the register @a */
static void say_exchange(struct text *t, const struct node *x, unsigned depth, unsigned a)
{
	switch (x->kind == BOTH ? x->imm % 3 : x->kind == SHUFFLE ? 0 : x->kind == BALLOT ? 1 : 2) {
	case 0:
		say(t, "shfl.sync.%s.b32 %%r%u|%%q, %%r%u, %u, %u, %%m%u;\n", modes[x->op], x->d, a,
		    x->imm >> 8 & 31, range_of(x), depth);
		say(t, "selp.u32 %%t, 1, 2, %%q; add.u32 %%r%u, %%r%u, %%t;\n", x->d, x->d);
		break;
	case 1:
		say(t, "and.b32 %%t, %%r%u, %u; setp.ne.u32 %%q, %%t, 0;\n", a, x->imm);
		say(t, "vote.sync.ballot.b32 %%r%u, %%q, %%m%u;\n", x->d, depth);
		break;
	default:
		say(t, "redux.sync.%s %%r%u, %%r%u, %%m%u;\n", x->op & 1 ? "add.u32" : "max.s32",
		    x->d, a, depth);
		break;
	}
}

/* what an address of 32 bits lacks is in its offset */
static void say_address(struct text *t, const struct node *x)
{
	say(t, "add.u32 %%t, %%t, %d;\n", (int)-x->offset);
}

/* Long: one switch with a case for each kind of node. */
static void say_nodes(struct text *t, const struct node *x, unsigned depth)
{
	for (; x; x = x->next) {
		unsigned label = t->n_labels++;

		switch (x->kind) {
		case COMPUTE:
			if (x->imm & 1)
				say(t, "%s %%r%u, %%r%u, %%r%u;\n", operations[x->op], x->d, x->a,
				    x->b);
			else
				say(t, "%s %%r%u, %%r%u, %d;\n", operations[x->op], x->d, x->a,
				    (int)x->imm);
			break;
		case LOAD:
			say(t, "and.b32 %%t, %%r%u, %u; mad.lo.u32 %%t, %%t, 4, %%table;\n", x->a,
			    N_TABLE - 1);
			say_address(t, x);
			say(t, "ld.shared.u32 %%r%u, [%%t+%lld];\n", x->d, (long long)x->offset);
			break;
		case LOAD_LINE:
			say(t, "add.u32 %%t, %%me, %u; mad.lo.u32 %%t, %%t, 4, %%table;\n",
			    x->imm & 127);
			say_address(t, x);
			say(t, "ld.shared.u32 %%r%u, [%%t+%lld];\n", x->d, (long long)x->offset);
			break;
		case STORE:
			say(t, "add.u32 %%t, %%own, %u;\n", x->imm % N_OWN * 4);
			say_address(t, x);
			say(t, "st.shared.u32 [%%t+%lld], %%r%u;\n", (long long)x->offset, x->a);
			break;
		case ATOMIC:
			say(t, "add.u32 %%t, %%own, %u;\n", x->imm % N_OWN * 4);
			say_address(t, x);
			say(t, "atom.shared.add.u32 %%r%u, [%%t+%lld], %%r%u;\n", x->d,
			    (long long)x->offset, x->a);
			break;
		case SHUFFLE:
		case BALLOT:
		case REDUCE:
			say_exchange(t, x, depth, x->a);
			break;
		case MATCH:
			say(t, "and.b32 %%t, %%r%u, 3; match.any.sync.b32 %%r%u, %%t, %%m%u;\n",
			    x->a, x->d, depth);
			break;
		case IF:
			say(t, "and.b32 %%t, %%r%u, %u; setp.ne.u32 %%p%u, %%t, 0;\n", x->a,
			    1u << x->imm % 32, depth);
			say(t, "vote.sync.ballot.b32 %%m%u, %%p%u, %%m%u;\n@!%%p%u bra E%u;\n",
			    depth + 1, depth, depth, depth, label);
			say_nodes(t, x->body, depth + 1);
			say(t, "bra J%u;\nE%u: not.b32 %%t, %%m%u; and.b32 %%m%u, %%m%u, %%t;\n",
			    label, label, depth + 1, depth + 1, depth);
			say_nodes(t, x->other, depth + 1);
			say(t, "J%u:\n", label);
			break;
		case LOOP:
			say(t, "and.b32 %%c%u, %%r%u, 3; mov.u32 %%m%u, %%m%u;\n", depth, x->a,
			    depth + 1, depth);
			say(t, "L%u: setp.gt.s32 %%p%u, %%c%u, 0;\n", label, depth, depth);
			say(t, "vote.sync.ballot.b32 %%t, %%p%u, %%m%u; @!%%p%u bra O%u;\n", depth,
			    depth + 1, depth, label);
			say(t, "mov.u32 %%m%u, %%t;\n", depth + 1);
			say_nodes(t, x->body, depth + 1);
			say(t, "sub.s32 %%c%u, %%c%u, 1; bra L%u;\nO%u:\n", depth, depth, label,
			    label);
			break;
		case BOTH:
			say(t,
			    "and.b32 %%t, %%r%u, %u; setp.ne.u32 %%p%u, %%t, 0; @!%%p%u bra E%u;\n",
			    x->d, 1u << x->imm % 32, depth, depth, label);
			say_exchange(t, x, depth, x->a);
			say(t, "bra J%u;\nE%u:\n", label, label);
			say_exchange(t, x, depth, x->b);
			say(t, "J%u:\n", label);
			break;
		default:
			say(t, "and.b32 %%t, %%r%u, 7; setp.eq.u32 %%q, %%t, 5; @%%q exit;\n",
			    x->a);
			break;
		}
	}
}

static void say_kernel(struct text *t, const struct node *first)
{
	t->n = t->n_labels = 0;
	say(t,
	    ".version 7.0\n.target sm_80\n.address_size 64\n"
	    ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
	    ".shared .align 4 .b8 table[%u]; .shared .align 4 .b8 words[%u];\n"
	    ".reg .pred %%p<%u>, %%q; .reg .b32 %%r<%u>, %%m<%u>, %%c<%u>, %%t, %%me, %%own, "
	    "%%table;\n.reg .b64 %%d<4>;\n"
	    "ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%me, %%tid.x;\n"
	    "mov.u32 %%table, table; mov.u32 %%t, words; mad.lo.u32 %%own, %%me, %u, %%t;\n"
	    "mov.u32 %%t, %%me;\nFILL: mad.wide.u32 %%d3, %%t, 4, %%d1;\n"
	    "ld.global.u32 %%r0, [%%d3]; mad.lo.u32 %%r1, %%t, 4, %%table;\n"
	    "st.shared.u32 [%%r1], %%r0; mov.u32 %%r0, %%ntid.x; add.u32 %%t, %%t, %%r0;\n"
	    "setp.lt.u32 %%q, %%t, %u; @%%q bra FILL;\n",
	    N_TABLE * 4, N_THREADS * N_OWN * 4, DEPTH + 1, N_REGS, DEPTH + 2, DEPTH + 1, N_OWN * 4,
	    N_TABLE);
	for (unsigned i = 0; i < N_OWN; i++)
		say(t, "st.shared.u32 [%%own+%u], %u;\n", i * 4, i);
	say(t, "bar.sync 0; mov.u32 %%m0, -1; mov.u32 %%r0, %%me;\n");
	for (unsigned i = 1; i < N_REGS; i++)
		say(t,
		    "add.u32 %%t, %%me, %u; mad.lo.u32 %%t, %%t, 4, %%table; "
		    "ld.shared.u32 %%r%u, [%%t];\n",
		    i * 16, i);
	say_nodes(t, first, 0);
	say(t, "mad.wide.u32 %%d2, %%me, %u, %%d2;\n", N_RESULTS * 4);
	for (unsigned i = 0; i < N_REGS; i++)
		say(t, "st.global.u32 [%%d2+%u], %%r%u;\n", i * 4, i);
	for (unsigned i = 0; i < N_OWN; i++)
		say(t, "ld.shared.u32 %%t, [%%own+%u]; st.global.u32 [%%d2+%u], %%t;\n", i * 4,
		    (N_REGS + i) * 4);
	say(t, "ret;\n}\n");
}

/* ----------------------------------------------------------------------------------- the model */

struct warp {
	uint32_t live;
	unsigned first; /* thread */
	uint32_t r[LANES][N_REGS];
	uint32_t own[LANES][N_OWN];
};

static const uint32_t *table;

static uint32_t shuffled(const struct node *x, const uint32_t *brought, uint32_t mask, unsigned i)
{
	unsigned by = x->imm >> 8 & 31, range = range_of(x), segment = range >> 8;
	int most = (int)((i & segment) | (range & 31 & ~segment));
	int from = x->op == 0	? (int)(i - by)
		   : x->op == 1 ? (int)(i + by)
		   : x->op == 2 ? (int)(i ^ by)
				: (int)((i & segment) | (by & ~segment));
	bool is_in = x->op == 0 ? from >= most : from <= most;

	if (!is_in)
		from = (int)i;
	return (mask >> from & 1 ? brought[from] : 0) + (is_in ? 1 : 2);
}

/* what lane @i gets of what those in @mask bring */
static uint32_t exchanged(const struct node *x, const uint32_t *brought, uint32_t mask, unsigned i)
{
	uint32_t result = 0, sum = 0;
	int32_t most = INT32_MIN;

	for (unsigned k = 0; k < LANES; k++) {
		if (!(mask >> k & 1))
			continue;
		result |= brought[k] & x->imm ? 1u << k : 0;
		sum += brought[k];
		most = SLU_MAX(most, (int32_t)brought[k]);
	}
	switch (x->kind == BOTH ? x->imm % 3 : x->kind == SHUFFLE ? 0 : x->kind == BALLOT ? 1 : 2) {
	case 0:
		return shuffled(x, brought, mask, i);
	case 1:
		return result;
	default:
		return x->op & 1 ? sum : (uint32_t)most;
	}
}

static uint32_t computed(const struct node *x, uint32_t a, uint32_t b)
{
	b = x->imm & 1 ? b : x->imm;
	return x->op == 0 ? a + b : x->op == 1 ? a - b : x->op == 2 ? a ^ b : a * b;
}

static void walk(struct warp *w, const struct node *x, uint32_t mask)
{
	for (; x; x = x->next) {
		uint32_t brought[LANES] = { 0 }, taken = 0, equal;
		unsigned left[LANES] = { 0 };

		mask &= w->live;
		for (unsigned i = 0; i < LANES; i++) {
			uint32_t *r = w->r[i], *own = &w->own[i][x->imm % N_OWN], old;

			if (!(mask >> i & 1))
				continue;
			brought[i] =
				r[x->kind == BOTH && !(r[x->d] >> x->imm % 32 & 1) ? x->b : x->a];
			taken |= (r[x->a] >> x->imm % 32 & 1) << i;
			left[i] = r[x->a] & 3;
			switch (x->kind) {
			case COMPUTE:
				r[x->d] = computed(x, r[x->a], r[x->b]);
				break;
			case LOAD:
				r[x->d] = table[r[x->a] % N_TABLE];
				break;
			case LOAD_LINE:
				r[x->d] = table[w->first + i + (x->imm & 127)];
				break;
			case STORE:
				*own = r[x->a];
				break;
			case ATOMIC:
				old = *own;
				*own += r[x->a];
				r[x->d] = old;
				break;
			case END:
				if ((r[x->a] & 7) == 5)
					w->live &= ~(1u << i);
				break;
			default:
				break;
			}
		}
		if (x->kind == IF) {
			walk(w, x->body, mask & taken);
			walk(w, x->other, mask & ~taken);
		}
		for (uint32_t stay = mask, round = 0; x->kind == LOOP && stay; round++) {
			for (unsigned i = 0; i < LANES; i++)
				if (left[i] <= round)
					stay &= ~(1u << i);
			walk(w, x->body, stay);
		}
		for (unsigned i = 0; i < LANES; i++) {
			if (!(mask >> i & 1))
				continue;
			equal = 0;
			for (unsigned k = 0; k < LANES; k++)
				equal |= mask >> k & 1 && !((brought[i] ^ brought[k]) & 3) ? 1u << k
											   : 0;
			if (x->kind == MATCH)
				w->r[i][x->d] = equal;
			if (x->kind == SHUFFLE || x->kind == BALLOT || x->kind == REDUCE ||
			    x->kind == BOTH)
				w->r[i][x->d] = exchanged(x, brought, mask, i);
		}
	}
}

static void model(const struct node *first, unsigned n_threads, uint32_t (*results)[N_RESULTS])
{
	for (unsigned begin = 0; begin < n_threads; begin += LANES) {
		unsigned n = SLU_MIN(n_threads - begin, LANES);
		struct warp w = { .live = n < LANES ? (1u << n) - 1 : UINT32_MAX, .first = begin };

		for (unsigned i = 0; i < n; i++) {
			w.r[i][0] = begin + i;
			for (unsigned k = 1; k < N_REGS; k++)
				w.r[i][k] = table[begin + i + k * 16];
			for (unsigned k = 0; k < N_OWN; k++)
				w.own[i][k] = k;
		}
		walk(&w, first, w.live);
		for (unsigned i = 0; i < n; i++) {
			if (!(w.live >> i & 1))
				continue;
			memcpy(results[begin + i], w.r[i], sizeof(w.r[i]));
			memcpy(results[begin + i] + N_REGS, w.own[i], sizeof(w.own[i]));
		}
	}
}

static void run_one(void)
{
	static const unsigned sizes[] = { 128, 128, 96, 64, 32, 31, 45, 7 };
	static uint32_t want[N_THREADS][N_RESULTS];
	static struct text t;
	unsigned n = sizes[pick(SLU_ARRAY_SIZE(sizes))];
	const struct node *first;
	struct dev_testbed b;
	uint32_t *in, *out;

	n_nodes = 0;
	first = make_some(0);
	say_kernel(&t, first);
	dev_testbed_init(&b);
	if (dev_testbed_load(&b, t.bytes))
		fail_msg("%u: %s\n%s", b.error.line, b.error.text, t.bytes);
	in = dev_testbed_alloc(&b, N_TABLE * 4);
	out = dev_testbed_alloc(&b, sizeof(want));
	for (unsigned i = 0; i < N_TABLE; i++)
		in[i] = (uint32_t)slu_test_random(&seed) >> pick(32);
	table = in;
	memset(want, 0, sizeof(want));
	model(first, n, want);
	dev_testbed_param_ptr(&b, in);
	dev_testbed_param_ptr(&b, out);
	if (dev_testbed_run(&b, "k", 1, n))
		fail_msg("%s at line %u, thread %u, address %llx\n%s",
			 dev_interp_fault_name(b.fault.kind), b.fault.line, b.fault.thread[0],
			 (unsigned long long)b.fault.address, t.bytes);
	for (unsigned i = 0; i < N_THREADS; i++)
		for (unsigned k = 0; k < N_RESULTS; k++)
			if (out[i * N_RESULTS + k] != want[i][k]) {
				puts(t.bytes);
				fail_msg("thread %u of %u, word %u: %x, not %x", i, n, k,
					 out[i * N_RESULTS + k], want[i][k]);
			}
	dev_testbed_deinit(&b);
}

static void test_random_kernels_that_part_and_meet_give_what_the_model_gives(void **state)
{
	unsigned n = getenv("SLUICE_LONG") ? 50000 : 600;

	(void)state;
	seed = slu_test_seed(4711);
	for (unsigned i = 0; i < n; i++) {
		dev_interp_isa_force(i % 4 ? NULL : &dev_interp_isa_base);
		run_one();
	}
	dev_interp_isa_force(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_kernels_that_part_and_meet_give_what_the_model_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
