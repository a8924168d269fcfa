/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomics where they matter: all threads of several blocks, on several workers, work on the same
 * three words. The words at the end are what the operations give in any order; an exchange loses
 * nothing that was ever there. In shared memory the warps of a block meet.
 *
 * The operands are chosen so that an update that gets lost shows: sums and xors of everything, bits
 * that one thread alone sets while the others leave all as it is.
 */
#include "lib/test.h"

#include "base/util.h"
#include "softgpu/interp/testbed.h"

#define N_VECTOR_THREADS 48u /* a whole warp, and one that is not */
#define N_VECTOR_ROUNDS	 1000u

#define N_BLOCKS  24u
#define N_THREADS 96u
#define N_ROUNDS  64u
#define N_PLACES  3u
#define LIMIT	  4999u /* where inc and dec begin again */
#define FACTOR	  0x9e3779b1u

enum what {
	ADD,
	LEAST,
	MOST,
	AND,
	OR,
	XOR,
	INC,
	DEC,
	EXCHANGE,
	COMPARE,
};

struct operation {
	enum what what;
	const char *name; /* "add.u32" */
	const char *type; /* of the operand's register */
	unsigned bits;
	uint64_t first; /* what is there before */
};

static const struct operation operations[] = {
	{ ADD, "add.u32", "u32", 32, 0 },
	{ ADD, "add.s32", "u32", 32, 0 },
	{ ADD, "add.u64", "u64", 64, UINT64_MAX - 1000 },
	{ ADD, "add.f32", "f32", 32, 0 },
	{ ADD, "add.f64", "f64", 64, 0 },
	{ LEAST, "min.u32", "u32", 32, UINT32_MAX },
	{ LEAST, "min.s32", "u32", 32, INT32_MAX },
	{ LEAST, "min.u64", "u64", 64, UINT64_MAX },
	{ LEAST, "min.s64", "u64", 64, INT64_MAX },
	{ MOST, "max.u32", "u32", 32, 0 },
	{ MOST, "max.s32", "u32", 32, UINT32_C(1) << 31 },
	{ MOST, "max.u64", "u64", 64, 0 },
	{ MOST, "max.s64", "u64", 64, UINT64_C(1) << 63 },
	{ AND, "and.b32", "u32", 32, UINT32_MAX },
	{ AND, "and.b64", "u64", 64, UINT64_MAX },
	{ OR, "or.b32", "u32", 32, 0 },
	{ OR, "or.b64", "u64", 64, 0 },
	{ XOR, "xor.b32", "u32", 32, 0 },
	{ XOR, "xor.b64", "u64", 64, 0 },
	{ INC, "inc.u32", "u32", 32, 0 },
	{ DEC, "dec.u32", "u32", 32, 17 },
	{ EXCHANGE, "exch.b32", "u32", 32, 0 },
	{ EXCHANGE, "exch.b64", "u64", 64, 0 },
	{ COMPARE, "cas.b32", "u32", 32, 0 },
	{ COMPARE, "cas.b64", "u64", 64, UINT64_MAX - 1000 },
};

/* %r4 is the number of the operation, from 0; every third works on the same word. */
static void write_operand(const struct operation *o, unsigned step, char *text, size_t size)
{
	const char *convert = *o->type == 'f' ? "cvt.rn" : "cvt";

	switch (o->what) {
	case ADD:
	case COMPARE:
		snprintf(text, size,
			 "and.b32 %%r6, %%r5, 7; add.u32 %%r6, %%r6, 1; %s.%s.u32 %%v0, %%r6;\n",
			 convert, o->type);
		break;
	case LEAST:
	case MOST:
	case XOR:
		snprintf(text, size,
			 o->bits == 32 ? "mov.b32 %%v0, %%r5;\n" : "mul.wide.u32 %%v0, %%r5, %u;\n",
			 FACTOR);
		break;
	case AND:
	case OR:
		snprintf(text, size,
			 "div.u32 %%r6, %%r4, %u; div.u32 %%r7, %%r6, %u; mul.lo.u32 %%r8, %%r7, "
			 "%u;\n"
			 "setp.eq.u32 %%p1, %%r8, %%r6; selp.b%u %%v0, 1, 0, %%p1; shl.b%u %%v0, "
			 "%%v0, %%r7;\n"
			 "%s",
			 N_PLACES, step, step, o->bits, o->bits,
			 o->what == OR	 ? ""
			 : o->bits == 32 ? "not.b32 %v0, %v0;\n"
					 : "not.b64 %v0, %v0;\n");
		break;
	case INC:
	case DEC:
		snprintf(text, size, "mov.b32 %%v0, %u;\n", LIMIT);
		break;
	case EXCHANGE:
		snprintf(text, size, "add.u32 %%r6, %%r4, 1; cvt.%s.u32 %%v0, %%r6;\n", o->type);
		break;
	}
}

static void write_kernel(const struct operation *o, bool is_shared, bool is_red, char *text,
			 size_t size)
{
	const char *space = is_shared ? "shared" : "global";
	unsigned step = (is_shared ? 1 : N_BLOCKS) * N_THREADS * N_ROUNDS / N_PLACES / o->bits;
	char operand[512], act[512];

	write_operand(o, step, operand, sizeof(operand));
	if (o->what == COMPARE)
		snprintf(act, sizeof(act),
			 "ld.relaxed.gpu.%s.b%u %%v1, [%%d6];\nAGAIN:\nadd.%s %%v2, %%v1, %%v0;\n"
			 "atom.%s.%s %%v3, [%%d6], %%v1, %%v2; setp.ne.%s %%p2, %%v3, %%v1;\n"
			 "mov.b%u %%v1, %%v3; @%%p2 bra AGAIN;\n",
			 space, o->bits, o->type, space, o->name, o->type, o->bits);
	else if (is_red)
		snprintf(act, sizeof(act), "red.%s.%s [%%d6], %%v0;\n", space, o->name);
	else
		snprintf(act, sizeof(act), "atom.%s.%s %%v1, [%%d6], %%v0;\n", space, o->name);
	snprintf(
		text, size,
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k(.param .u64 places, .param .u64 left, .param .u64 found)\n{\n"
		".reg .pred %%p<4>; .reg .b32 %%r<12>; .reg .b64 %%d<12>; .reg .b%u %%v<4>;\n"
		".shared .align 8 .b8 tile[%u];\n"
		"ld.param.u64 %%d1, [places]; ld.param.u64 %%d2, [left]; ld.param.u64 %%d3, "
		"[found];\n"
		"mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; mad.lo.u32 %%r3, %%r2, %u, %%r1;\n"
		"mul.wide.u32 %%d4, %%r1, 8; mov.u64 %%d5, tile; setp.lt.u32 %%p0, %%r1, %u;\n"
		"add.u64 %%d7, %%d1, %%d4; add.u64 %%d8, %%d5, %%d4;\n"
		"@%%p0 ld.global.b64 %%d9, [%%d7]; @%%p0 st.shared.b64 [%%d8], %%d9; bar.sync 0;\n"
		"mul.lo.u32 %%r4, %%r%u, %u; mul.lo.u32 %%r11, %%r3, %u; mov.u32 %%r9, 0;\nROUND:\n"
		"mul.lo.u32 %%r5, %%r4, %u; rem.u32 %%r10, %%r4, %u; mad.wide.u32 %%d6, %%r10, 8, "
		"%%d%u;\n"
		"%s%s"
		"mad.wide.u32 %%d10, %%r11, 8, %%d3; %sst.global.b%u [%%d10], %%v1;\n"
		"add.u32 %%r4, %%r4, 1; add.u32 %%r11, %%r11, 1; add.u32 %%r9, %%r9, 1;\n"
		"setp.lt.u32 %%p3, %%r9, %u; @%%p3 bra ROUND;\nbar.sync 0;\n"
		"mad.wide.u32 %%d11, %%r2, %u, %%d4; add.u64 %%d11, %%d11, %%d2;\n"
		"@%%p0 ld.shared.b64 %%d9, [%%d8]; @%%p0 st.global.b64 [%%d11], %%d9; ret;\n}\n",
		o->bits, 8 * N_PLACES, N_THREADS, N_PLACES, is_shared ? 1 : 3, N_ROUNDS, N_ROUNDS,
		FACTOR, N_PLACES, is_shared ? 5 : 1, operand, act, is_red ? "// " : "", o->bits,
		N_ROUNDS, 8 * N_PLACES);
}

static uint64_t extreme(const struct operation *o, uint64_t a, uint64_t b)
{
	bool is_signed = strchr(o->name, 's') != NULL;
	uint64_t turn = is_signed ? UINT64_C(1) << (o->bits - 1) : 0;

	return ((a ^ turn) < (b ^ turn)) == (o->what == LEAST) ? a : b;
}

/* What @n operations with the numbers @place, @place + 3, … leave, in any order. */
static uint64_t model(const struct operation *o, unsigned n, unsigned place)
{
	uint64_t value = o->first;
	double sum = 0;

	for (uint32_t x = place; x < n; x += N_PLACES) {
		uint32_t h = x * FACTOR;
		uint64_t wide = o->bits == 32 ? h : (uint64_t)h * FACTOR;

		switch (o->what) {
		case ADD:
		case COMPARE:
			value += (h & 7) + 1;
			sum += (h & 7) + 1;
			break;
		case LEAST:
		case MOST:
			value = extreme(o, value, wide);
			break;
		case XOR:
			value ^= wide;
			break;
		case INC:
			value = value >= LIMIT ? 0 : value + 1;
			break;
		case DEC:
			value = value == 0 || value > LIMIT ? LIMIT : value - 1;
			break;
		case AND:
			value = 0;
			break;
		case OR:
			value = o->bits == 32 ? UINT32_MAX : UINT64_MAX;
			break;
		case EXCHANGE:
			break;
		}
	}
	if (*o->type == 'f' && o->bits == 64) {
		memcpy(&value, &sum, 8);
	} else if (*o->type == 'f') {
		float narrow = (float)sum;

		value = 0;
		memcpy(&value, &narrow, 4);
	}
	return o->bits == 32 ? (uint32_t)value : value;
}

/* Everything that was ever put there, and what was there first, was found once or is still there.
 */
static void check_exchange(const uint64_t *found, unsigned n, unsigned place, uint64_t left)
{
	static uint8_t seen[N_BLOCKS * N_THREADS * N_ROUNDS + 1];

	memset(seen, 0, sizeof(seen));
	assert_true(left <= n);
	seen[left]++;
	for (unsigned x = place; x < n; x += N_PLACES) {
		assert_true(found[x] <= n);
		seen[found[x]]++;
	}
	assert_int_equal(seen[0], 1);
	for (unsigned x = place; x < n; x += N_PLACES)
		assert_int_equal(seen[x + 1], 1);
}

static void run(const struct operation *o, bool is_shared, bool is_red)
{
	unsigned n = (is_shared ? 1 : N_BLOCKS) * N_THREADS * N_ROUNDS;
	uint64_t *places, *left, *found;
	struct dev_testbed bed;
	char text[4096];

	dev_testbed_init(&bed);
	write_kernel(o, is_shared, is_red, text, sizeof(text));
	if (dev_testbed_load(&bed, text))
		fail_msg("%u:%u: %s\n%s", bed.error.line, bed.error.column, bed.error.text, text);
	places = dev_testbed_alloc(&bed, N_PLACES * 8);
	left = dev_testbed_alloc(&bed, N_BLOCKS * N_PLACES * 8);
	found = dev_testbed_alloc(&bed, N_BLOCKS * N_THREADS * N_ROUNDS * 8);
	for (unsigned i = 0; i < N_PLACES; i++)
		places[i] = o->first;
	bed.n_workers = 4;
	dev_testbed_param_ptr(&bed, places);
	dev_testbed_param_ptr(&bed, left);
	dev_testbed_param_ptr(&bed, found);
	assert_int_equal(dev_testbed_run(&bed, "k", N_BLOCKS, N_THREADS), 0);
	for (unsigned b = 0; b < (is_shared ? N_BLOCKS : 1); b++)
		for (unsigned i = 0; i < N_PLACES; i++) {
			uint64_t got = is_shared ? left[b * N_PLACES + i] : places[i];

			if (o->what == EXCHANGE)
				check_exchange(found + b * n, n, i, got);
			else if (got != model(o, n, i))
				fail_msg("%s.%s.%s: block %u, word %u is %#llx, not %#llx",
					 is_red ? "red" : "atom", is_shared ? "shared" : "global",
					 o->name, b, i, (unsigned long long)got,
					 (unsigned long long)model(o, n, i));
		}
	dev_testbed_deinit(&bed);
}

static void run_all(bool is_shared)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(operations); i++) {
		const struct operation *o = &operations[i];

		run(o, is_shared, false);
		if (o->what != EXCHANGE && o->what != COMPARE)
			run(o, is_shared, true);
	}
}

static void test_blocks_on_many_workers_lose_nothing_in_global_memory(void **state)
{
	(void)state;
	run_all(false);
}

static void test_warps_of_a_block_lose_nothing_in_shared_memory(void **state)
{
	(void)state;
	run_all(true);
}

/* What threads of two blocks keep in one vector: all elements are the number of the round. */
struct shared_vector {
	const char *load, *store, *type;
	unsigned n, bits;
};

static const struct shared_vector shared_vectors[] = {
	{ "ld.relaxed.gpu", "st.relaxed.gpu", "u16", 4, 16 },
	{ "ld.relaxed.gpu", "st.relaxed.gpu", "u32", 2, 32 },
	{ "ld.relaxed.gpu", "st.relaxed.gpu", "u32", 4, 32 },
	{ "ld.relaxed.gpu", "st.relaxed.gpu", "u64", 2, 64 },
	{ "ld.acquire.gpu.global", "st.release.gpu.global", "u64", 2, 64 },
	{ "ld.volatile", "st.volatile", "u32", 4, 32 },
	{ "ld.global.cg", "st.global.cg", "u64", 2, 64 },
	{ "ld.global.cv", "st.global.wt", "u32", 2, 32 },
};

/* Of the even blocks each lane writes its own vector, of the odd ones it counts torn ones. */
static void write_vector_kernel(const struct shared_vector *v, char *text, size_t size)
{
	const char *all = v->n == 2 ? "{%v0, %v1}" : "{%v0, %v1, %v2, %v3}";
	const char *one = v->n == 2 ? "{%v4, %v4}" : "{%v4, %v4, %v4, %v4}";
	char compare[256] = "";

	for (unsigned k = 1; k < v->n; k++)
		snprintf(compare + strlen(compare), sizeof(compare) - strlen(compare),
			 "setp.ne.u%u %%p2, %%v0, %%v%u; @%%p2 add.u32 %%r5, %%r5, 1;\n", v->bits,
			 k);
	snprintf(text, size,
		 ".version 7.0\n.target sm_75\n.address_size 64\n"
		 ".visible .entry k(.param .u64 places, .param .u64 torn)\n{\n"
		 ".reg .pred %%p<4>; .reg .b32 %%r<8>; .reg .b64 %%d<6>; .reg .b%u %%v<5>;\n"
		 "ld.param.u64 %%d1, [places]; ld.param.u64 %%d2, [torn];\n"
		 "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; and.b32 %%r3, %%r2, 1;\n"
		 "mad.wide.u32 %%d3, %%r1, %u, %%d1; mul.wide.u32 %%d4, %%r1, 4;\n"
		 "add.u64 %%d4, %%d2, %%d4; mov.u32 %%r4, 0; mov.u32 %%r5, 0;\n"
		 "setp.ne.u32 %%p1, %%r3, 0; @%%p1 bra READ;\n"
		 "WRITE: cvt.u%u.u32 %%v4, %%r4; %s.v%u.%s [%%d3], %s;\n"
		 "add.u32 %%r4, %%r4, 1; setp.lt.u32 %%p3, %%r4, %u; @%%p3 bra WRITE; ret;\n"
		 "READ: %s.v%u.%s %s, [%%d3];\n%s"
		 "add.u32 %%r4, %%r4, 1; setp.lt.u32 %%p3, %%r4, %u; @%%p3 bra READ;\n"
		 "red.global.add.u32 [%%d4], %%r5; ret;\n}\n",
		 v->bits, v->n * v->bits / 8, v->bits, v->store, v->n, v->type, one,
		 N_VECTOR_ROUNDS, v->load, v->n, v->type, all, compare, N_VECTOR_ROUNDS);
}

static void test_vectors_that_others_write_are_read_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(shared_vectors); i++) {
		const struct shared_vector *v = &shared_vectors[i];
		struct dev_testbed bed;
		uint32_t *torn;
		char text[4096];

		dev_testbed_init(&bed);
		write_vector_kernel(v, text, sizeof(text));
		if (dev_testbed_load(&bed, text))
			fail_msg("%u:%u: %s\n%s", bed.error.line, bed.error.column, bed.error.text,
				 text);
		dev_testbed_param_ptr(&bed, dev_testbed_alloc(&bed, 16 * N_VECTOR_THREADS));
		torn = dev_testbed_alloc(&bed, 4 * N_VECTOR_THREADS);
		dev_testbed_param_ptr(&bed, torn);
		bed.n_workers = 4;
		assert_int_equal(dev_testbed_run(&bed, "k", 8, N_VECTOR_THREADS), 0);
		for (unsigned k = 0; k < N_VECTOR_THREADS; k++)
			if (torn[k])
				fail_msg("%s.v%u.%s: thread %u met %u torn vectors", v->load, v->n,
					 v->type, k, torn[k]);
		dev_testbed_deinit(&bed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_on_many_workers_lose_nothing_in_global_memory),
		cmocka_unit_test(test_warps_of_a_block_lose_nothing_in_shared_memory),
		cmocka_unit_test(test_vectors_that_others_write_are_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
