/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices. Of mma, ldmatrix and movmatrix the reference knows from the ISA which lane, register
 * and bits have an element, and looks at it from the matrix's side. Where a wmma keeps its
 * elements is open, so its loads, products and stores are run together: from matrices in memory
 * to a matrix in memory. Values are small enough that every sum is exact in every order.
 */
#include "softgpu/interp/test-conform.h"

#include <fenv.h>

#include "ptx/matrix.h"
#include "softgpu/interp/half.h"

#define LANES	32u
#define PART	8192u /* bytes of the input for each matrix or fragment */
#define HAS(m)	slu_ptx_form_has(form, SLU_PTX_MOD_##m)
#define MAX_DIM 256u

static bool matrix_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_MATRIX;
}

static const char *const letters = "abcd";

/* ---- elements ---- */

static uint64_t matrix_encode(double x, enum slu_ptx_element element)
{
	float f = (float)x;
	uint32_t bits;
	uint64_t wide;

	switch (element) {
	case SLU_PTX_ELEMENT_F16:
		return dev_half_from_double(x, DEV_HALF_NEAREST);
	case SLU_PTX_ELEMENT_BF16:
		memcpy(&bits, &f, 4);
		return bits >> 16;
	case SLU_PTX_ELEMENT_TF32:
	case SLU_PTX_ELEMENT_F32:
		memcpy(&bits, &f, 4);
		return bits;
	case SLU_PTX_ELEMENT_F64:
		memcpy(&wide, &x, 8);
		return wide;
	default:
		return (uint64_t)(int64_t)x;
	}
}

/* a whole number that the element holds, and whose sums stay exact */
static double matrix_choose(enum slu_ptx_element element, bool is_extreme)
{
	int64_t r = (int64_t)(dev_conform_random() >> 33);

	switch (element) {
	case SLU_PTX_ELEMENT_B1:
		return (double)(r % 2);
	case SLU_PTX_ELEMENT_U4:
		return (double)(r % 16);
	case SLU_PTX_ELEMENT_S4:
		return (double)(r % 16 - 8);
	case SLU_PTX_ELEMENT_U8:
		return (double)(r % 256);
	case SLU_PTX_ELEMENT_S8:
		return (double)(r % 256 - 128);
	case SLU_PTX_ELEMENT_S32:
		return is_extreme ? (double)(r % 2 ? INT32_MAX : INT32_MIN)
				  : (double)(r % 2000001 - 1000000);
	default:
		return (double)(r % 17 - 8) / 4;
	}
}

static void put_bits(uint8_t *to, uint64_t at, unsigned bits, uint64_t value)
{
	for (unsigned k = 0; k < bits; k++, at++)
		to[at / 8] = (uint8_t)((to[at / 8] & ~(1u << at % 8)) | (value >> k & 1) << at % 8);
}

static uint64_t get_bits(const uint8_t *from, uint64_t at, unsigned bits)
{
	uint64_t value = 0;

	for (unsigned k = 0; k < bits; k++, at++)
		value |= (uint64_t)(from[at / 8] >> at % 8 & 1) << k;
	return value;
}

struct values {
	double cells[4][MAX_DIM * 32]; /* of A, B, C, D; row after row */
};

static void choose_all(const struct slu_ptx_matrix *m, struct values *v)
{
	bool is_extreme = dev_conform_random() % 2;

	for (unsigned part = 0; part < 3; part++)
		for (unsigned i = 0; i < m->parts[part].rows * m->parts[part].columns; i++)
			v->cells[part][i] = matrix_choose(m->parts[part].element, is_extreme);
}

static void matrix_multiply(const struct slu_ptx_form *form, const struct slu_ptx_matrix *m,
			    struct values *v)
{
	bool is_bit = m->parts[0].element == SLU_PTX_ELEMENT_B1;
	bool is_int = m->parts[3].element == SLU_PTX_ELEMENT_S32;

	/* sums are exact, but the sign of a zero goes by the mode */
	fesetround(HAS(rm) ? FE_DOWNWARD : FE_TONEAREST);
	for (unsigned row = 0; row < m->m; row++)
		for (unsigned column = 0; column < m->n; column++) {
			double sum = v->cells[2][row * m->n + column];

			for (unsigned k = 0; k < m->k; k++) {
				double a = v->cells[0][row * m->k + k];
				double b = v->cells[1][k * m->n + column];

				sum += !is_bit	  ? a * b
				       : HAS(xor) ? (double)(a != b)
						  : (double)(a && b);
			}
			if (is_int && HAS(satfinite))
				sum = sum < INT32_MIN	? INT32_MIN
				      : sum > INT32_MAX ? INT32_MAX
							: sum;
			else if (is_int)
				sum = (int32_t)(uint32_t)(int64_t)sum;
			v->cells[3][row * m->n + column] = sum;
		}
	fesetround(FE_TONEAREST);
}

static void fail_at(const char *text, unsigned row, unsigned column, uint64_t got, uint64_t want)
{
	fail_msg("%s: element %u, %u is %llx, not %llx", text, row, column, (unsigned long long)got,
		 (unsigned long long)want);
}

/* ---- mma: fragments in registers ---- */

/* Where in the lanes' registers an element lies: the lane, and the bit of its registers. */
static void matrix_find(const struct slu_ptx_matrix *m, unsigned part, unsigned four, unsigned row,
			unsigned column, unsigned *ret_lane, unsigned *ret_bit)
{
	const struct slu_ptx_fragment *f = &m->parts[part];
	unsigned per_reg = f->reg_size * 8 / f->bits, i, lane;

	if (m->is_four && part <= SLU_PTX_PART_B) {
		unsigned far = part == SLU_PTX_PART_A ? row : column;
		unsigned near = part == SLU_PTX_PART_A ? column : row;
		/* which of the two runs over the lanes, and which inside of one */
		bool is_near = (part == SLU_PTX_PART_A) == f->is_column;

		lane = (is_near ? near : far % 4) + (far >= 4 ? 16 : 0);
		i = is_near ? far % 4 : near;
		lane += four * 4;
	} else if (m->is_four && f->bits == 16) {
		lane = row % 4 + four * 4 + (row >= 4 ? 16 : 0);
		i = column;
	} else if (m->is_four) {
		lane = (row & 1) | (column & 2) | (row >= 4 ? 16 : 0);
		lane += four * 4;
		i = (column & 1) | (row & 2) | (column & 4);
	} else if (part >= SLU_PTX_PART_C) {
		lane = row % 8 * 4 + column / 2;
		i = row / 8 * 2 + column % 2;
	} else {
		unsigned across = part == SLU_PTX_PART_A ? row : column;
		unsigned along = part == SLU_PTX_PART_A ? column : row;
		unsigned reg = along / (per_reg * 4) * (m->m / 8);

		if (part == SLU_PTX_PART_B)
			reg = along / (per_reg * 4);
		lane = across % 8 * 4 + along / per_reg % 4;
		i = (reg + (part == SLU_PTX_PART_A ? across / 8 : 0)) * per_reg + along % per_reg;
	}
	*ret_lane = lane;
	*ret_bit = i * f->bits;
}

static void put_registers(struct dev_conform_text *t, char part, unsigned n)
{
	dev_conform_put(t, "{");
	for (unsigned i = 0; i < n; i++)
		dev_conform_put(t, "%s%%%c%u", i ? ", " : "", part, i);
	dev_conform_put(t, "}");
}

static void run_mma(const struct slu_ptx_form *form, const struct slu_ptx_matrix *m)
{
	static struct dev_conform_text t;
	static struct values v[4];
	unsigned n_four = m->is_four ? 4 : 1, lane, bit;

	t.size = 0;
	dev_conform_put(&t, "%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n",
			dev_conform_head(form));
	for (unsigned part = 0; part < 4; part++)
		dev_conform_put(&t, ".reg .b%u %%%c<8>;\n", m->parts[part].reg_size * 8,
				letters[part]);
	dev_conform_put(&t,
			".reg .b32 %%r1; .reg .b64 %%x<4>;\nld.param.u64 %%x1, [in]; "
			"ld.param.u64 %%x2, [out];\n"
			"mov.u32 %%r1, %%tid.x; mad.wide.u32 %%x1, %%r1, 64, %%x1; mad.wide.u32 "
			"%%x2, %%r1, 64, %%x2;\n");
	for (unsigned part = 0; part < 3; part++)
		for (unsigned i = 0; i < m->parts[part].n_regs; i++)
			dev_conform_put(&t, "ld.global.b%u %%%c%u, [%%x1+%u];\n",
					m->parts[part].reg_size * 8, letters[part], i,
					part * PART + i * m->parts[part].reg_size);
	dev_conform_put(&t, "%s ", form->text);
	for (unsigned k = 0; k < 4; k++) {
		unsigned part = (k + 3) % 4;

		if (k)
			dev_conform_put(&t, ", ");
		put_registers(&t, letters[part], m->parts[part].n_regs);
	}
	dev_conform_put(&t, ";\n");
	for (unsigned i = 0; i < m->parts[3].n_regs; i++)
		dev_conform_put(&t, "st.global.b%u [%%x2+%u], %%d%u;\n", m->parts[3].reg_size * 8,
				i * m->parts[3].reg_size, i);
	dev_conform_put(&t, "ret;\n}\n");

	for (unsigned four = 0; four < n_four; four++) {
		choose_all(m, &v[four]);
		matrix_multiply(form, m, &v[four]);
		for (unsigned part = 0; part < 3; part++) {
			const struct slu_ptx_fragment *f = &m->parts[part];

			for (unsigned i = 0; i < f->rows * f->columns; i++) {
				matrix_find(m, part, four, i / f->columns, i % f->columns, &lane,
					    &bit);
				put_bits(dev_conform_in + part * PART, lane * 512 + bit, f->bits,
					 matrix_encode(v[four].cells[part][i], f->element));
			}
		}
	}
	dev_conform_launch(form->text, t.text, 1, LANES);
	for (unsigned four = 0; four < n_four; four++)
		for (unsigned i = 0; i < m->m * m->n; i++) {
			const struct slu_ptx_fragment *f = &m->parts[3];
			uint64_t want = matrix_encode(v[four].cells[3][i], f->element), got;

			want &= UINT64_MAX >> (64 - f->bits);
			matrix_find(m, 3, four, i / m->n, i % m->n, &lane, &bit);
			got = get_bits(dev_conform_out, lane * 512 + bit, f->bits);
			if (got != want)
				fail_at(form->text, i / m->n, i % m->n, got, want);
		}
}

/* ---- wmma: matrices in memory ---- */

static const char *type_name(enum slu_ptx_element element)
{
	static const char *const names[] = { "",   "f16", "bf16", "tf32", "f32", "f64",
					     "b1", "s4",  "u4",	  "s8",	  "u8",	 "s32" };

	return names[element];
}

/* In memory: one row or column after another, with a gap between them. */
static unsigned stride_of(const struct slu_ptx_fragment *f)
{
	return (f->is_column ? f->rows : f->columns) + (f->bits < 8 ? 32 : 8);
}

static uint64_t cell_of(const struct slu_ptx_fragment *f, unsigned i)
{
	unsigned row = i / f->columns, column = i % f->columns;

	return f->is_column ? column * stride_of(f) + row : row * stride_of(f) + column;
}

/*
 * A whole product around the form: where it is a load or a store, the others are those that go
 * with it. Which product that is follows from the types of A and B.
 */
static void wmma_around(const struct slu_ptx_form *form, const struct slu_ptx_matrix *m,
			struct slu_ptx_form *ret_mma, char *text, size_t size)
{
	const struct slu_ptx_fragment *f = NULL;
	enum slu_ptx_element ab;
	const char *layouts = "row.col", *d;
	unsigned part = 0;

	while (part < 4 && !m->parts[part].element)
		part++;
	f = &m->parts[part];
	ab = part <= SLU_PTX_PART_B ? f->element : SLU_PTX_ELEMENT_NONE;
	if (!ab)
		ab = m->k == 4						  ? SLU_PTX_ELEMENT_F64
		     : m->k == 8					  ? SLU_PTX_ELEMENT_TF32
		     : m->k == 32					  ? SLU_PTX_ELEMENT_S4
		     : m->k == 128					  ? SLU_PTX_ELEMENT_B1
		     : f->bits == 32 && f->element == SLU_PTX_ELEMENT_S32 ? SLU_PTX_ELEMENT_S8
									  : SLU_PTX_ELEMENT_F16;
	if (part == SLU_PTX_PART_A)
		layouts = f->is_column ? "col.col" : "row.col";
	if (part == SLU_PTX_PART_B)
		layouts = f->is_column ? "row.col" : "row.row";
	d = part >= SLU_PTX_PART_C	? type_name(f->element)
	    : ab == SLU_PTX_ELEMENT_F64 ? "f64"
	    : ab >= SLU_PTX_ELEMENT_B1	? "s32"
					: "f32";
	if (ab == SLU_PTX_ELEMENT_F16)
		snprintf(text, size, "wmma.mma.sync.aligned.%s.m%un%uk%u.%s.%s", layouts, m->m,
			 m->n, m->k, d, d);
	else
		snprintf(text, size, "wmma.mma%s.sync.aligned.%s.m%un%uk%u.%s.%s.%s.%s",
			 ab == SLU_PTX_ELEMENT_B1 ? ".xor.popc" : "", layouts, m->m, m->n, m->k, d,
			 type_name(ab), type_name(ab), d);
	assert_int_equal(slu_ptx_form_match(text, strlen(text), ret_mma), 0);
	ret_mma->text = text;
}

static void put_wmma(struct dev_conform_text *t, const struct slu_ptx_form *form,
		     const struct slu_ptx_matrix *m)
{
	dev_conform_put(t, "%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n",
			dev_conform_head(form));
	for (unsigned part = 0; part < 4; part++)
		dev_conform_put(t, ".reg .b%u %%%c<8>;\n", m->parts[part].reg_size * 8,
				letters[part]);
	dev_conform_put(t,
			".reg .b32 %%r<3>; .reg .b64 %%x<4>; .shared .align 16 .b8 "
			"tile[%u];\n"
			"ld.param.u64 %%x1, [in]; ld.param.u64 %%x2, [out]; mov.u64 %%x3, tile; "
			"mov.u32 %%r1, %%tid.x;\n",
			4 * PART);
}

static void check_wmma(const struct slu_ptx_form *form, const struct slu_ptx_matrix *m,
		       const struct values *v)
{
	const struct slu_ptx_fragment *f = &m->parts[3];

	for (unsigned i = 0; i < m->m * m->n; i++) {
		uint64_t want =
			matrix_encode(v->cells[3][i], f->element) & UINT64_MAX >> (64 - f->bits);
		uint64_t got = get_bits(dev_conform_out, cell_of(f, i) * f->bits, f->bits);

		/* a sum that vanishes is -0 where it is rounded down */
		if (got != want && !(HAS(rm) && !want && got == UINT64_C(1) << 63))
			fail_at(form->text, i / m->n, i % m->n, got, want);
	}
}

static void run_wmma(const struct slu_ptx_form *form, const struct slu_ptx_matrix *given)
{
	static struct dev_conform_text t;
	static struct values v;
	bool is_mma = HAS(mma), is_shared = form->space == SLU_PTX_SPACE_SHARED;
	struct slu_ptx_form mma = *form;
	struct slu_ptx_matrix m;
	char text[96];
	unsigned self = 0;

	if (!is_mma) {
		wmma_around(form, given, &mma, text, sizeof(text));
		while (!given->parts[self].element)
			self++;
	}
	slu_ptx_matrix_of(&mma, mma.text, &m);
	/* the layout that the form's own part has in memory */
	if (!is_mma)
		m.parts[self].is_column = given->parts[self].is_column;
	choose_all(&m, &v);
	matrix_multiply(&mma, &m, &v);
	memset(dev_conform_in, 0, 3 * PART);
	for (unsigned part = 0; part < 3; part++)
		for (unsigned i = 0; i < m.parts[part].rows * m.parts[part].columns; i++)
			put_bits(dev_conform_in + part * PART,
				 cell_of(&m.parts[part], i) * m.parts[part].bits,
				 m.parts[part].bits,
				 matrix_encode(v.cells[part][i], m.parts[part].element));
	t.size = 0;
	put_wmma(&t, form, &m);
	if (is_shared && !is_mma)
		dev_conform_put(&t,
				".reg .pred %%p1; .reg .b64 %%y<4>; mul.wide.u32 %%y1, %%r1, 8;\n"
				"LOOP: add.s64 %%y2, %%x1, %%y1; add.s64 %%y3, %%x3, %%y1;\n"
				"ld.global.u64 %%y2, [%%y2]; st.shared.u64 [%%y3], %%y2; add.s64 "
				"%%y1, %%y1, 256;\n"
				"setp.lt.u64 %%p1, %%y1, %u; @%%p1 bra LOOP; bar.sync 0;\n",
				3 * PART);
	for (unsigned part = 0; part < 3; part++) {
		const struct slu_ptx_fragment *f = &m.parts[part];
		bool is_form = !is_mma && part == self;

		if (is_form)
			dev_conform_put(&t, "%s ", form->text);
		else
			dev_conform_put(&t, "wmma.load.%c.sync.aligned.%s.m%un%uk%u.global.%s ",
					letters[part], f->is_column ? "col" : "row", m.m, m.n, m.k,
					type_name(f->element));
		put_registers(&t, letters[part], f->n_regs);
		dev_conform_put(&t, ", [%%x%u+%u], %u;\n", is_form && is_shared ? 3 : 1,
				part * PART, stride_of(f));
	}
	dev_conform_put(&t, "%s ", mma.text);
	for (unsigned k = 0; k < 4; k++) {
		if (k)
			dev_conform_put(&t, ", ");
		put_registers(&t, letters[(k + 3) % 4], m.parts[(k + 3) % 4].n_regs);
	}
	dev_conform_put(&t, ";\n");
	if (!is_mma && self == 3)
		dev_conform_put(&t, "%s [%%x%u], ", form->text, is_shared ? 3 : 2);
	else
		dev_conform_put(&t, "wmma.store.d.sync.aligned.row.m%un%uk%u.global.%s [%%x2], ",
				m.m, m.n, m.k, type_name(m.parts[3].element));
	put_registers(&t, 'd', m.parts[3].n_regs);
	dev_conform_put(&t, ", %u;\n", stride_of(&m.parts[3]));
	if (is_shared && !is_mma && self == 3)
		dev_conform_put(&t,
				"bar.sync 0; mul.wide.u32 %%y1, %%r1, 8;\nCOPY: add.s64 %%y2, "
				"%%x2, %%y1; add.s64 %%y3, %%x3, %%y1;\n"
				"ld.shared.u64 %%y3, [%%y3]; st.global.u64 [%%y2], %%y3; "
				"add.s64 %%y1, %%y1, 256;\n"
				"setp.lt.u64 %%p1, %%y1, %u; @%%p1 bra COPY;\n",
				PART);
	dev_conform_put(&t, "ret;\n}\n");
	dev_conform_launch(form->text, t.text, 1, LANES);
	check_wmma(form, &m, &v);
}

/* ---- ldmatrix and movmatrix ---- */

static void run_ldmatrix(const struct slu_ptx_form *form, unsigned n)
{
	static struct dev_conform_text t;
	const uint32_t *out = (const uint32_t *)dev_conform_out;

	dev_conform_scramble(dev_conform_in, 2048);
	t.size = 0;
	/* lane l gives row l % 8 of matrix l / 8; rows lie 48 bytes apart */
	dev_conform_put(
		&t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .b32 %%r<8>, %%d<5>; .reg .b64 %%x<8>; .shared .align 16 .b8 "
		"tile[2048];\n"
		"ld.param.u64 %%x1, [in]; ld.param.u64 %%x2, [out]; mov.u32 %%r1, %%tid.x;\n"
		"mov.u64 %%x3, tile; mad.wide.u32 %%x4, %%r1, 48, %%x3; mad.wide.u32 %%x5, "
		"%%r1, 48, %%x1;\n"
		"ld.global.v2.u64 {%%x6, %%x7}, [%%x5]; st.shared.v2.u64 [%%x4], {%%x6, "
		"%%x7};\n%s",
		dev_conform_head(form), form->has_space ? "" : "cvta.shared.u64 %x4, %x4;\n");
	dev_conform_put(&t, "bar.sync 0; %s ", form->text);
	put_registers(&t, 'd', n);
	dev_conform_put(&t, ", [%%x4]; mad.wide.u32 %%x2, %%r1, 16, %%x2;\n");
	for (unsigned k = 0; k < n; k++)
		dev_conform_put(&t, "st.global.u32 [%%x2+%u], %%d%u;\n", k * 4, k);
	dev_conform_put(&t, "ret;\n}\n");
	dev_conform_launch(form->text, t.text, 1, LANES);
	for (unsigned k = 0; k < n; k++)
		for (unsigned row = 0; row < 8; row++)
			for (unsigned column = 0; column < 8; column++) {
				unsigned r = HAS(trans) ? column : row,
					 c = HAS(trans) ? row : column;
				uint16_t want;
				uint32_t got = out[(r * 4 + c / 2) * 4 + k] >> c % 2 * 16 & 0xffff;

				memcpy(&want, dev_conform_in + (k * 8 + row) * 48 + column * 2, 2);
				if (got != want)
					fail_at(form->text, row, column, got, want);
			}
}

static void run_movmatrix(const struct slu_ptx_form *form)
{
	static struct dev_conform_text t;
	const uint16_t *in = (const uint16_t *)dev_conform_in;
	const uint16_t *out = (const uint16_t *)dev_conform_out;

	dev_conform_scramble(dev_conform_in, 128);
	t.size = 0;
	dev_conform_put(
		&t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .b32 %%r<4>; .reg .b64 %%x<4>;\n"
		"ld.param.u64 %%x1, [in]; ld.param.u64 %%x2, [out]; mov.u32 %%r1, %%tid.x;\n"
		"mad.wide.u32 %%x1, %%r1, 4, %%x1; mad.wide.u32 %%x2, %%r1, 4, %%x2;\n"
		"ld.global.u32 %%r2, [%%x1]; %s %%r3, %%r2; st.global.u32 [%%x2], %%r3; "
		"ret;\n}\n",
		dev_conform_head(form), form->text);
	dev_conform_launch(form->text, t.text, 1, LANES);
	for (unsigned row = 0; row < 8; row++)
		for (unsigned column = 0; column < 8; column++)
			if (out[row * 8 + column] != in[column * 8 + row])
				fail_at(form->text, row, column, out[row * 8 + column],
					in[column * 8 + row]);
}

static void matrix_run(const char *text, const struct slu_ptx_form *form)
{
	struct slu_ptx_matrix m;

	(void)text;
	if (!slu_ptx_matrix_of(form, form->text, &m)) {
		run_movmatrix(form);
		return;
	}
	for (unsigned n = 0; n < 2; n++) {
		if (form->opcode == SLU_PTX_OP_ldmatrix)
			run_ldmatrix(form, m.parts[SLU_PTX_PART_D].n_regs);
		else if (form->opcode == SLU_PTX_OP_mma)
			run_mma(form, &m);
		else
			run_wmma(form, &m);
	}
}

const struct dev_conform_case dev_conform_matrix = { "matrix", matrix_knows, matrix_run };
