/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms that compute something for each lane alone: a kernel is written for the form, run over
 * edge and random values, in all lanes, under a guard and behind a branch, and held against
 * reference.c. Registers as wide as the types; where wider ones are allowed, those too.
 */
#include "softgpu/interp/test-conform.h"

#include <math.h>

#include "softgpu/interp/reference.h"

#define N_VALUES 512u
#define N_BLOCK	 128u
#define GUARDS	 4u /* the block of inputs behind the sources */

struct source {
	enum slu_ptx_type type;
	unsigned size; /* of the register; 0 for a predicate */
};

struct shape {
	const struct slu_ptx_form *form;
	struct source sources[4];
	unsigned n_sources;
	unsigned result_size; /* of the register; 0 if there is none */
	enum slu_ptx_type result_type;
	bool has_pred, has_pair;
	char operands[128];
};

static bool compute_knows(const struct slu_ptx_form *form)
{
	static const uint64_t zeroes[4];
	struct dev_reference any;

	return dev_reference_compute(form, zeroes, &any);
}

static void shape_of(const struct slu_ptx_form *form, bool is_wide, struct shape *ret)
{
	struct shape s = { .form = form };

	for (unsigned i = 0; i < form->n_slots; i++) {
		const struct slu_ptx_slot *slot = &form->slots[i];
		struct source *source = &s.sources[s.n_sources];
		size_t n = strlen(s.operands);
		char *to = s.operands + n;
		size_t left = sizeof(s.operands) - n;

		if (n) {
			snprintf(to, left, ", ");
			to += 2;
			left -= 2;
		}
		switch (slot->kind) {
		case SLU_PTX_SLOT_DEST:
		case SLU_PTX_SLOT_DEST_PAIR:
		case SLU_PTX_SLOT_DEST_TWICE:
			s.result_size = slot->size;
			s.result_type = (enum slu_ptx_type)slot->type;
			if (slot->may_be_wider)
				s.result_size = is_wide ? 8 : SLU_MAX(s.result_size, 2u);
			s.has_pred = slot->kind == SLU_PTX_SLOT_DEST_PAIR;
			snprintf(to, left,
				 slot->kind == SLU_PTX_SLOT_DEST_PAIR ? "%%o%u|%%p1" : "%%o%u",
				 s.result_size * 8);
			break;
		case SLU_PTX_SLOT_SOURCE:
		case SLU_PTX_SLOT_SOURCE_TWICE:
			source->size = slot->size;
			source->type = (enum slu_ptx_type)slot->type;
			if (slot->may_be_wider)
				source->size = is_wide ? 8 : SLU_MAX(source->size, 2u);
			snprintf(to, left, "%%s%u_%u", source->size * 8, s.n_sources++);
			break;
		case SLU_PTX_SLOT_PRED_PAIR:
		case SLU_PTX_SLOT_PRED_DEST:
			s.has_pred = true;
			s.has_pair = slot->kind == SLU_PTX_SLOT_PRED_PAIR;
			snprintf(to, left,
				 slot->kind == SLU_PTX_SLOT_PRED_PAIR ? "%%p1|%%p2" : "%%p1");
			break;
		case SLU_PTX_SLOT_PRED_SOURCE:
			source->type = SLU_PTX_TYPE_PRED;
			snprintf(to, left, "%%q%u", s.n_sources++);
			break;
		case SLU_PTX_SLOT_INTEGER:
			snprintf(to, left, "0x96");
			break;
		default:
			fail_msg("'%s' has an operand that the test does not know", form->text);
		}
	}
	*ret = s;
}

/* mode 0: all lanes; 1: under a guard; 2: behind a branch */
static void write_kernel(const struct shape *s, unsigned mode, struct dev_conform_text *t)
{
	dev_conform_put(
		t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%p<4>, %%q<4>, %%g; .reg .b16 %%s16_<4>, %%o16; .reg .b32 %%s32_<4>, "
		"%%o32, %%r<4>;\n"
		".reg .b64 %%s64_<4>, %%o64, %%d<6>;\n"
		"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out];\n"
		"mad.lo.u32 %%r1, %%ctaid.x, %%ntid.x, %%tid.x; mul.wide.u32 %%d4, %%r1, 8;\n"
		"add.s64 %%d1, %%d1, %%d4; mad.wide.u32 %%d2, %%r1, 16, %%d2;\n"
		"ld.global.u32 %%r2, [%%d1+%u]; setp.ne.u32 %%g, %%r2, 0; mov.pred %%p1, %%g; "
		"mov.pred %%p2, %%g;\n",
		dev_conform_head(s->form), GUARDS * N_VALUES * 8);
	for (unsigned i = 0; i < s->n_sources; i++) {
		if (s->sources[i].size)
			dev_conform_put(t, "ld.global.b%u %%s%u_%u, [%%d1+%u];\n",
					s->sources[i].size * 8, s->sources[i].size * 8, i,
					i * N_VALUES * 8);
		else
			dev_conform_put(t,
					"ld.global.u32 %%r3, [%%d1+%u]; setp.ne.u32 %%q%u, "
					"%%r3, 0;\n",
					i * N_VALUES * 8, i);
	}
	if (s->result_size)
		dev_conform_put(t, "ld.global.b%u %%o%u, [%%d2];\n", s->result_size * 8,
				s->result_size * 8);
	if (mode == 1)
		dev_conform_put(t, "@%%g ");
	if (mode == 2)
		dev_conform_put(t, "@!%%g bra SKIP;\n");
	dev_conform_put(t, "%s %s;\nSKIP:\n", s->form->text, s->operands);
	if (s->result_size)
		dev_conform_put(t, "st.global.b%u [%%d2], %%o%u;\n", s->result_size * 8,
				s->result_size * 8);
	if (s->has_pred)
		dev_conform_put(t, "selp.u32 %%r3, 1, 0, %%p1; st.global.u32 [%%d2+8], %%r3;\n");
	if (s->has_pair)
		dev_conform_put(t, "selp.u32 %%r3, 1, 0, %%p2; st.global.u32 [%%d2+12], %%r3;\n");
	dev_conform_put(t, "ret;\n}\n");
}

static bool is_nan(uint64_t bits, enum slu_ptx_type type)
{
	switch (type) {
	case SLU_PTX_TYPE_F16:
		return (bits & 0x7fff) > 0x7c00;
	case SLU_PTX_TYPE_BF16:
		return (bits & 0x7fff) > 0x7f80;
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

static bool compute_agrees(uint64_t got, const struct dev_reference *want, enum slu_ptx_type type)
{
	double a, b;

	if (got == want->value)
		return true;
	/* where the ISA leaves the bits of a NaN open, any will do */
	if (want->any_nan && is_nan(got, type) && is_nan(want->value, type))
		return true;
	if ((!want->tolerance && !want->absolute) || is_nan(got, type) || is_nan(want->value, type))
		return false;
	a = number_of(got, type);
	b = number_of(want->value, type);
	return fabs(a - b) <= want->tolerance * fabs(b) || fabs(a - b) <= want->absolute ||
	       fabs(a - b) < 0x1p-125;
}

/* what a register wider than the type holds: the value extended by its sign */
static uint64_t compute_widen(uint64_t value, enum slu_ptx_type type, unsigned size)
{
	unsigned bits = slu_ptx_type_size(type) * 8;

	if (!slu_ptx_type_is_float(type) && slu_ptx_type_is_signed(type) && bits < 64 &&
	    value >> (bits - 1) & 1)
		value |= UINT64_MAX << bits;
	return size < 8 ? value & ((UINT64_C(1) << size * 8) - 1) : value;
}

struct result {
	uint64_t value;
	uint32_t p, q;
};

static void check_results(const struct shape *s, unsigned mode, const struct result *before)
{
	uint64_t mask = s->result_size < 8 ? (UINT64_C(1) << s->result_size * 8) - 1 : UINT64_MAX;
	const uint64_t *inputs = (const uint64_t *)dev_conform_in;
	const uint64_t *guards = inputs + GUARDS * N_VALUES;
	const struct result *outputs = (const struct result *)dev_conform_out;

	for (unsigned i = 0; i < N_VALUES; i++) {
		uint64_t in[4] = { 0 }, got = outputs[i].value & mask;
		bool is_off = mode && !guards[i], is_right = true;
		struct dev_reference want;

		for (unsigned k = 0; k < s->n_sources; k++)
			in[k] = inputs[k * N_VALUES + i];
		assert_true(dev_reference_compute(s->form, in, &want));
		if (is_off) {
			want = (struct dev_reference){ .value = before[i].value & mask,
						       .p = guards[i],
						       .q = guards[i] };
		} else if (s->form->row->family == SLU_PTX_FAMILY_CVT) {
			want.value = compute_widen(want.value, s->result_type, s->result_size);
		}
		if (s->result_size)
			is_right = compute_agrees(got, &want, s->result_type);
		if (s->has_pred && outputs[i].p != want.p)
			is_right = false;
		if (s->has_pair && outputs[i].q != want.q)
			is_right = false;
		if (!is_right)
			fail_msg("%s, mode %u, %s: of %llx %llx %llx %llx comes %llx %u %u, not "
				 "%llx %u %u",
				 s->form->text, mode, is_off ? "off" : "on",
				 (unsigned long long)in[0], (unsigned long long)in[1],
				 (unsigned long long)in[2], (unsigned long long)in[3],
				 (unsigned long long)got, outputs[i].p, outputs[i].q,
				 (unsigned long long)want.value, want.p, want.q);
	}
}

static void run_shape(const struct shape *s, unsigned mode)
{
	static struct result before[N_VALUES];
	static struct dev_conform_text kernel;
	uint64_t *inputs = (uint64_t *)dev_conform_in;

	for (unsigned k = 0; k < s->n_sources; k++)
		for (unsigned i = 0; i < N_VALUES; i++)
			inputs[k * N_VALUES + i] = s->sources[k].type == SLU_PTX_TYPE_PRED
							   ? dev_conform_random() & 1
							   : dev_conform_value(s->sources[k].type);
	for (unsigned i = 0; i < N_VALUES; i++)
		inputs[GUARDS * N_VALUES + i] = dev_conform_random() >> 63;
	dev_conform_scramble(before, sizeof(before));
	memcpy(dev_conform_out, before, sizeof(before));
	kernel.size = 0;
	write_kernel(s, mode, &kernel);
	dev_conform_launch(s->form->text, kernel.text, N_VALUES / N_BLOCK, N_BLOCK);
	check_results(s, mode, before);
}

static void compute_run(const char *text, const struct slu_ptx_form *form)
{
	struct shape s;

	(void)text;
	for (unsigned mode = 0; mode < 3; mode++) {
		shape_of(form, false, &s);
		run_shape(&s, mode);
		if (form->n_slots && form->slots[0].may_be_wider && mode != 1) {
			shape_of(form, true, &s);
			run_shape(&s, mode);
		}
	}
}

const struct dev_conform_case dev_conform_compute = { "compute", compute_knows, compute_run };
