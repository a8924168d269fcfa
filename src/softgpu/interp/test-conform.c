/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of opcodes.def that compute, in every form that they take: a kernel is written for the
 * form, run over edge and random values, in all lanes, under a guard and behind a branch, and held
 * against reference.c. Rows that move memory, exchange values or change the flow are only matched
 * here; test-interp.c runs chosen forms of them, and nothing notices yet if one has no case there.
 */
#include "lib/test.h"

#include <math.h>

#include "softgpu/interp/code.h"
#include "softgpu/interp/reference.h"
#include "softgpu/interp/testbed.h"

#define N_VALUES 512u
#define N_BLOCK	 128u

static uint64_t seed;

/* ---- forms of a row ---- */

struct expansion {
	char text[160];
	void (*each)(const char *text, const struct slu_ptx_row *row);
	const struct slu_ptx_row *row;
	unsigned n;
};

static void expand(struct expansion *e, const char *pattern)
{
	size_t size = strlen(e->text), n = strcspn(pattern, " ");
	bool is_optional = n && pattern[n - 1] == '?';
	const char *next = pattern + n + (pattern[n] == ' ');
	const char *at = pattern;

	if (!*pattern) {
		e->n++;
		e->each(e->text, e->row);
		return;
	}
	if (is_optional)
		expand(e, next);
	if (*at == '{')
		at++;
	for (;;) {
		size_t k = strcspn(at, ",}? ");

		snprintf(e->text + size, sizeof(e->text) - size, ".%.*s", (int)k, at);
		expand(e, next);
		e->text[size] = 0;
		at += k;
		if (*at != ',')
			break;
		at++;
	}
}

static unsigned expand_row(const struct slu_ptx_row *row,
			   void (*each)(const char *text, const struct slu_ptx_row *row))
{
	struct expansion e = { .each = each, .row = row };

	snprintf(e.text, sizeof(e.text), "%s", row->name);
	expand(&e, row->modifiers);
	return e.n;
}

static void match_one(const char *text, const struct slu_ptx_row *row)
{
	struct slu_ptx_form form;

	if (slu_ptx_form_match(text, strlen(text), &form))
		fail_msg("'%s' is not matched", text);
	/* an earlier row may take it too, if it means the same */
	if (form.row != row &&
	    (form.row->family != row->family || strcmp(form.row->operands, row->operands)))
		fail_msg("'%s' is matched by another row", text);
}

static void test_every_form_of_every_row_is_matched(void **state)
{
	unsigned n = 0;

	(void)state;
	for (size_t i = 0; i < slu_ptx_n_rows; i++)
		n += expand_row(&slu_ptx_rows[i], match_one);
	printf("# %zu rows, %u forms\n", slu_ptx_n_rows, n);
	assert_true(n > 1000);
}

/* ---- values ---- */

static uint64_t edge_of(enum slu_ptx_type type)
{
	static const uint64_t ints[] = { 0,	     1,
					 2,	     31,
					 32,	     63,
					 64,	     127,
					 128,	     255,
					 256,	     32767,
					 32768,	     65535,
					 0x7fffffff, 0x80000000,
					 0xffffffff, 0x100000000,
					 INT64_MAX,  UINT64_C(1) << 63,
					 UINT64_MAX, UINT64_MAX - 1 };
	static const uint32_t f32[] = { 0,	    0x80000000, 1,	    0x80000001, 0x7fffff,
					0x800000,   0x3f800000, 0xbf800000, 0x3f000000, 0x40200000,
					0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
					0xffc00001, 0x7f800001, 0x4f000000, 0xcf000000, 0x5f000000,
					0x4effffff, 0x3effffff, 0x477fe000, 0x33000000, 0x38800000,
					0x42fe0000 };
	static const uint64_t f64[] = { 0,
					UINT64_C(1) << 63,
					1,
					UINT64_C(0x000fffffffffffff),
					UINT64_C(0x0010000000000000),
					UINT64_C(0x3ff0000000000000),
					UINT64_C(0xbff0000000000000),
					UINT64_C(0x3fe0000000000000),
					UINT64_C(0x4004000000000000),
					UINT64_C(0x7fefffffffffffff),
					UINT64_C(0x7ff0000000000000),
					UINT64_C(0xfff0000000000000),
					UINT64_C(0x7ff8000000000000),
					UINT64_C(0x43e0000000000000),
					UINT64_C(0xc3e0000000000000),
					UINT64_C(0x43f0000000000000),
					UINT64_C(0x3690000000000000),
					UINT64_C(0x380fffffffffffff),
					UINT64_C(0x47efffffffffffff) };
	static const uint16_t f16[] = { 0,	0x8000, 1,	0x8001, 0x3ff,	0x400,
					0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00,
					0xfc00, 0x7e00, 0xfe01, 0x4900 };
	uint64_t r = slu_test_random(&seed);

	switch (type) {
	case SLU_PTX_TYPE_F32:
		return f32[r % SLU_ARRAY_SIZE(f32)];
	case SLU_PTX_TYPE_F64:
		return f64[r % SLU_ARRAY_SIZE(f64)];
	case SLU_PTX_TYPE_F16:
	case SLU_PTX_TYPE_F16X2:
		return (uint32_t)f16[r % SLU_ARRAY_SIZE(f16)] |
		       (uint32_t)f16[(r >> 32) % SLU_ARRAY_SIZE(f16)] << 16;
	default:
		return ints[r % SLU_ARRAY_SIZE(ints)];
	}
}

static uint64_t value_of(enum slu_ptx_type type)
{
	uint64_t r = slu_test_random(&seed), choice = slu_test_random(&seed) % 4;
	double d = (double)(int64_t)r / 0x1p52;
	float f = (float)d;
	uint32_t bits;

	if (choice == 0)
		return edge_of(type);
	if (choice == 1) {
		/* numbers of everyday size */
		switch (type) {
		case SLU_PTX_TYPE_F32:
			memcpy(&bits, &f, 4);
			return bits;
		case SLU_PTX_TYPE_F64:
			memcpy(&r, &d, 8);
			return r;
		default:
			return r >> slu_test_random(&seed) % 64;
		}
	}
	return r;
}

/* ---- one form ---- */

struct source {
	enum slu_ptx_type type;
	unsigned size; /* of the register; 0 for a predicate */
};

struct shape {
	struct slu_ptx_form form;
	struct source sources[4];
	unsigned n_sources;
	unsigned result_size; /* of the register; 0 if there is none */
	bool has_pred, has_pair;
	char operands[128];
};

static unsigned size_of_word(const struct slu_ptx_form *form, const char *word,
			     enum slu_ptx_type *ret_type)
{
	unsigned size;

	*ret_type = word[1] == 'U'   ? SLU_PTX_TYPE_U32
		    : word[1] == 'L' ? SLU_PTX_TYPE_U64
				     : (enum slu_ptx_type)form->types[word[1] - '0'];
	size = slu_ptx_type_size(*ret_type);
	return *word == 'w' || *word == 'x' ? size * 2 : size;
}

static void shape_of(const char *text, bool is_wide, struct shape *ret)
{
	struct shape s = { 0 };

	assert_int_equal(slu_ptx_form_match(text, strlen(text), &s.form), 0);
	for (const char *w = s.form.row->operands; *w; w += strcspn(w, " "), w += *w == ' ') {
		struct source *source = &s.sources[s.n_sources];
		size_t n = strlen(s.operands);
		char *to = s.operands + n;
		size_t left = sizeof(s.operands) - n;
		enum slu_ptx_type type;

		if (n) {
			snprintf(to, left, ", ");
			to += 2;
			left -= 2;
		}
		switch (*w) {
		case 'd':
		case 'D':
		case 'w':
			s.result_size = size_of_word(&s.form, w, &type);
			if (*w == 'D')
				s.result_size = is_wide ? 8 : SLU_MAX(s.result_size, 2u);
			snprintf(to, left, "%%o%u", s.result_size * 8);
			break;
		case 's':
		case 'S':
		case 'x':
			source->size = size_of_word(&s.form, w, &source->type);
			if (*w == 'S')
				source->size = is_wide ? 8 : SLU_MAX(source->size, 2u);
			snprintf(to, left, "%%s%u_%u", source->size * 8, s.n_sources++);
			break;
		case 'q':
		case 'p':
			s.has_pred = true;
			s.has_pair = *w == 'q';
			snprintf(to, left, *w == 'q' ? "%%p1|%%p2" : "%%p1");
			break;
		case 'P':
			source->type = SLU_PTX_TYPE_PRED;
			snprintf(to, left, "%%q%u", s.n_sources++);
			break;
		case 'i':
			snprintf(to, left, "0x96");
			break;
		default:
			fail_msg("'%s' has an operand that the test does not know", text);
		}
	}
	*ret = s;
}

/* mode 0: all lanes; 1: under a guard; 2: behind a branch */
static void write_kernel(const char *form, const struct shape *s, unsigned mode, char *to,
			 size_t size)
{
	size_t n;

#define PUT(...) n += (size_t)snprintf(to + n, size - n, __VA_ARGS__)
	n = 0;
	PUT(".version 7.0\n.target sm_75\n.address_size 64\n"
	    ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 guards)\n{\n"
	    ".reg .pred %%p<4>, %%q<4>, %%g; .reg .b16 %%s16_<4>, %%o16; .reg .b32 %%s32_<4>, "
	    "%%o32, %%r<4>;\n"
	    ".reg .b64 %%s64_<4>, %%o64, %%d<6>;\n"
	    "ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; ld.param.u64 %%d3, [guards];\n"
	    "mad.lo.u32 %%r1, %%ctaid.x, %%ntid.x, %%tid.x; mul.wide.u32 %%d4, %%r1, 8;\n"
	    "add.s64 %%d1, %%d1, %%d4; add.s64 %%d2, %%d2, %%d4; add.s64 %%d3, %%d3, %%d4;\n"
	    "ld.global.u32 %%r2, [%%d3]; setp.ne.u32 %%g, %%r2, 0; mov.pred %%p1, %%g; mov.pred "
	    "%%p2, %%g;\n");
	for (unsigned i = 0; i < s->n_sources; i++) {
		if (s->sources[i].size)
			PUT("ld.global.b%u %%s%u_%u, [%%d1+%u];\n", s->sources[i].size * 8,
			    s->sources[i].size * 8, i, i * N_VALUES * 8);
		else
			PUT("ld.global.u32 %%r3, [%%d1+%u]; setp.ne.u32 %%q%u, %%r3, 0;\n",
			    i * N_VALUES * 8, i);
	}
	if (s->result_size)
		PUT("ld.global.b%u %%o%u, [%%d2];\n", s->result_size * 8, s->result_size * 8);
	if (mode == 1)
		PUT("@%%g ");
	if (mode == 2)
		PUT("@!%%g bra SKIP;\n");
	PUT("%s %s;\nSKIP:\n", form, s->operands);
	if (s->result_size)
		PUT("st.global.b%u [%%d2], %%o%u;\n", s->result_size * 8, s->result_size * 8);
	if (s->has_pred)
		PUT("selp.u32 %%r3, 1, 0, %%p1; st.global.u32 [%%d2], %%r3;\n");
	if (s->has_pair)
		PUT("selp.u32 %%r3, 1, 0, %%p2; st.global.u32 [%%d2+4], %%r3;\n");
	PUT("ret;\n}\n");
#undef PUT
	assert_true(n < size);
}

static bool is_nan(uint64_t bits, enum slu_ptx_type type)
{
	switch (type) {
	case SLU_PTX_TYPE_F16:
		return (bits & 0x7fff) > 0x7c00;
	case SLU_PTX_TYPE_F32:
		return (bits & 0x7fffffff) > 0x7f800000;
	case SLU_PTX_TYPE_F64:
		return (bits & INT64_MAX) > UINT64_C(0x7ff0000000000000);
	default:
		return false;
	}
}

static double number_of(uint64_t bits, enum slu_ptx_type type)
{
	uint32_t low = (uint32_t)bits;
	double d;
	float f;

	if (type == SLU_PTX_TYPE_F32) {
		memcpy(&f, &low, 4);
		return f;
	}
	memcpy(&d, &bits, 8);
	return d;
}

static bool agrees(uint64_t got, const struct slu_reference *want, enum slu_ptx_type type)
{
	double a, b;

	if (got == want->value)
		return true;
	if (type == SLU_PTX_TYPE_F16X2)
		return (((got ^ want->value) & 0xffff) == 0 ||
			(is_nan(got & 0xffff, SLU_PTX_TYPE_F16) &&
			 is_nan(want->value & 0xffff, SLU_PTX_TYPE_F16))) &&
		       ((got ^ want->value) >> 16 == 0 ||
			(is_nan(got >> 16, SLU_PTX_TYPE_F16) &&
			 is_nan(want->value >> 16, SLU_PTX_TYPE_F16)));
	if (is_nan(got, type) && is_nan(want->value, type))
		return true;
	if (!want->tolerance || is_nan(got, type) || is_nan(want->value, type))
		return false;
	a = number_of(got, type);
	b = number_of(want->value, type);
	return fabs(a - b) <= want->tolerance * fabs(b) || fabs(a - b) < 0x1p-125;
}

/* what a register wider than the type holds: the value extended by its sign */
static uint64_t widen(uint64_t value, enum slu_ptx_type type, unsigned size)
{
	unsigned bits = slu_ptx_type_size(type) * 8;

	if (!slu_ptx_type_is_float(type) && slu_ptx_type_is_signed(type) && bits < 64 &&
	    value >> (bits - 1) & 1)
		value |= UINT64_MAX << bits;
	return size < 8 ? value & ((UINT64_C(1) << size * 8) - 1) : value;
}

static struct slu_testbed bed;
static uint64_t *inputs, *outputs, *guards;
static unsigned n_run;

static void check_results(const char *text, const struct shape *s, unsigned mode,
			  const uint64_t *before)
{
	uint64_t mask = s->result_size < 8 ? (UINT64_C(1) << s->result_size * 8) - 1 : UINT64_MAX;
	enum slu_ptx_type type = (enum slu_ptx_type)s->form.types[0];

	for (unsigned i = 0; i < N_VALUES; i++) {
		uint64_t in[4] = { 0 }, got = outputs[i];
		struct slu_reference want;
		bool is_off = mode && !guards[i], is_wrong;

		for (unsigned k = 0; k < s->n_sources; k++)
			in[k] = inputs[k * N_VALUES + i];
		if (!slu_reference_compute(&s->form, in, &want))
			fail_msg("the reference does not know '%s'", text);
		if (s->result_size) {
			uint64_t value = got & mask;

			if (s->form.row->family == SLU_PTX_FAMILY_CVT)
				want.value = widen(want.value, type, s->result_size);
			is_wrong =
				is_off ? value != (before[i] & mask) : !agrees(value, &want, type);
		} else {
			bool p = is_off ? guards[i] != 0 : want.p,
			     q = is_off ? guards[i] != 0 : want.q;

			is_wrong = (uint32_t)got != p || (s->has_pair && got >> 32 != q);
			want.value = p | (uint64_t)q << 32;
		}
		if (is_wrong)
			fail_msg("%s, mode %u, %s: of %llx %llx %llx %llx comes %llx, not %llx",
				 text, mode, is_off ? "off" : "on", (unsigned long long)in[0],
				 (unsigned long long)in[1], (unsigned long long)in[2],
				 (unsigned long long)in[3], (unsigned long long)got,
				 (unsigned long long)(is_off ? before[i] : want.value));
	}
}

static void run_form(const char *text, const struct shape *s, unsigned mode)
{
	uint64_t before[N_VALUES];
	char kernel[4096];
	int r;

	for (unsigned k = 0; k < s->n_sources; k++)
		for (unsigned i = 0; i < N_VALUES; i++)
			inputs[k * N_VALUES + i] = s->sources[k].type == SLU_PTX_TYPE_PRED
							   ? slu_test_random(&seed) & 1
							   : value_of(s->sources[k].type);
	for (unsigned i = 0; i < N_VALUES; i++) {
		guards[i] = slu_test_random(&seed) >> 63;
		before[i] = outputs[i] = slu_test_random(&seed);
	}
	write_kernel(text, s, mode, kernel, sizeof(kernel));
	r = slu_testbed_load(&bed, kernel);
	if (r)
		fail_msg("%u:%u: %s\n%s", bed.error.line, bed.error.column, bed.error.text, kernel);
	slu_testbed_param_ptr(&bed, inputs);
	slu_testbed_param_ptr(&bed, outputs);
	slu_testbed_param_ptr(&bed, guards);
	r = slu_testbed_run(&bed, "k", N_VALUES / N_BLOCK, N_BLOCK);
	if (r)
		fail_msg("'%s': %d %s\n%s", text, r, bed.error.text, kernel);
	slu_testbed_unload(&bed);
	check_results(text, s, mode, before);
	n_run++;
}

static void run_one(const char *text, const struct slu_ptx_row *row)
{
	struct shape s;

	(void)row;
	for (unsigned mode = 0; mode < 3; mode++) {
		shape_of(text, false, &s);
		run_form(text, &s, mode);
		if (s.form.row->family == SLU_PTX_FAMILY_CVT && mode != 1) {
			shape_of(text, true, &s);
			run_form(text, &s, mode);
		}
	}
}

static bool is_carry(const struct slu_ptx_row *row)
{
	return row->opcode == SLU_PTX_OP_addc || row->opcode == SLU_PTX_OP_subc ||
	       strstr(row->modifiers, "cc ");
}

static void run_family_on(enum slu_ptx_family family, const struct slu_interp_isa *isa)
{
	unsigned n_rows = 0;

	slu_interp_isa_force(isa);
	slu_testbed_init(&bed);
	inputs = slu_testbed_alloc(&bed, 4 * N_VALUES * 8);
	outputs = slu_testbed_alloc(&bed, N_VALUES * 8);
	guards = slu_testbed_alloc(&bed, N_VALUES * 8);
	seed = slu_test_seed(20260 + family);
	n_run = 0;
	for (size_t i = 0; i < slu_ptx_n_rows; i++)
		if (slu_ptx_rows[i].family == family && !is_carry(&slu_ptx_rows[i])) {
			expand_row(&slu_ptx_rows[i], run_one);
			n_rows++;
		}
	printf("# %u rows, %u kernels of %u values\n", n_rows, n_run, N_VALUES);
	assert_true(n_rows > 0);
	slu_testbed_deinit(&bed);
	slu_interp_isa_force(NULL);
}

/* the handlers of every x86-64, and those of machines like this one */
static void run_family(enum slu_ptx_family family)
{
	run_family_on(family, &slu_interp_isa_base);
	if (slu_interp_isa_has_v3())
		run_family_on(family, &slu_interp_isa_v3);
}

static void test_integer_rows(void **state)
{
	(void)state;
	run_family(SLU_PTX_FAMILY_INT);
}

static void test_float_rows(void **state)
{
	(void)state;
	run_family(SLU_PTX_FAMILY_FLOAT);
}

static void test_half_rows(void **state)
{
	(void)state;
	run_family(SLU_PTX_FAMILY_HALF);
}

static void test_compare_rows(void **state)
{
	(void)state;
	run_family(SLU_PTX_FAMILY_CMP);
}

static void test_predicate_rows(void **state)
{
	(void)state;
	run_family(SLU_PTX_FAMILY_PRED);
}

static void test_conversion_rows(void **state)
{
	(void)state;
	run_family(SLU_PTX_FAMILY_CVT);
}

/* 128 and 64 bits out of two halves, as compilers chain them */
static void test_carries_go_from_one_to_the_next(void **state)
{
	static const char text[] =
		".version 7.0\n.target sm_75\n.address_size 64\n"
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .b64 %d<20>; .reg .b32 %r<12>;\n"
		"ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; "
		"mul.wide.u32 %d3, %r1, 32;\n"
		"add.s64 %d1, %d1, %d3; add.s64 %d2, %d2, %d3;\n"
		"ld.global.v2.u64 {%d4, %d5}, [%d1]; ld.global.v2.u64 {%d6, %d7}, [%d1+16];\n"
		"add.cc.u64 %d8, %d4, %d6; addc.u64 %d9, %d5, %d7; st.global.v2.u64 [%d2], {%d8, "
		"%d9};\n"
		"ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%d1+16];\n"
		"ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d1];\n"
		"sub.cc.u32 %r2, %r6, %r2; subc.cc.u32 %r3, %r7, %r3; subc.cc.u32 %r4, %r8, %r4; "
		"subc.u32 %r5, %r9, %r5;\n"
		"st.global.v4.u32 [%d2+16], {%r2, %r3, %r4, %r5}; ret;\n}\n";
	struct slu_testbed t;
	unsigned __int128 *in, *out;

	(void)state;
	seed = slu_test_seed(7);
	slu_testbed_init(&t);
	in = slu_testbed_alloc(&t, 4096);
	out = slu_testbed_alloc(&t, 4096);
	for (unsigned i = 0; i < 128; i++)
		in[i] = (unsigned __int128)value_of(SLU_PTX_TYPE_U64) << 64 |
			value_of(SLU_PTX_TYPE_U64);
	assert_int_equal(slu_testbed_load(&t, text), 0);
	slu_testbed_param_ptr(&t, in);
	slu_testbed_param_ptr(&t, out);
	assert_int_equal(slu_testbed_run(&t, "k", 1, 64), 0);
	for (unsigned i = 0; i < 64; i++) {
		assert_true(out[2 * i] == in[2 * i] + in[2 * i + 1]);
		assert_true(out[2 * i + 1] == in[2 * i] - in[2 * i + 1]);
	}
	slu_testbed_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_form_of_every_row_is_matched),
		cmocka_unit_test(test_integer_rows),
		cmocka_unit_test(test_float_rows),
		cmocka_unit_test(test_half_rows),
		cmocka_unit_test(test_compare_rows),
		cmocka_unit_test(test_predicate_rows),
		cmocka_unit_test(test_conversion_rows),
		cmocka_unit_test(test_carries_go_from_one_to_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
