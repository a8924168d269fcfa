/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms that take or leave a carry. It is brought about by an add.cc of known values in front of
 * the form and read by an addc behind it. Lanes that do not take part keep theirs.
 */
#include "softgpu/interp/test-conform.h"

#define N_VALUES 512u
#define GUARDS	 4u

static bool carry_knows(const struct slu_ptx_form *form)
{
	switch (form->opcode) {
	case SLU_PTX_OP_add:
	case SLU_PTX_OP_sub:
	case SLU_PTX_OP_mad:
		return form->row->family == SLU_PTX_FAMILY_CARRY &&
		       slu_ptx_form_has(form, SLU_PTX_MOD_cc);
	case SLU_PTX_OP_addc:
	case SLU_PTX_OP_subc:
	case SLU_PTX_OP_madc:
		return true;
	default:
		return false;
	}
}

/* 128 bits hold every product and sum; the carry is what does not fit */
static uint64_t carry_reference(const struct slu_ptx_form *form, const uint64_t in[3], bool *carry)
{
	unsigned bits = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) * 8;
	uint64_t most = UINT64_MAX >> (64 - bits);
	bool is_mad = form->opcode == SLU_PTX_OP_mad || form->opcode == SLU_PTX_OP_madc;
	bool is_sub = form->opcode == SLU_PTX_OP_sub || form->opcode == SLU_PTX_OP_subc;
	bool takes = form->opcode == SLU_PTX_OP_addc || form->opcode == SLU_PTX_OP_subc ||
		     form->opcode == SLU_PTX_OP_madc;
	unsigned __int128 a = in[0] & most, b = in[1] & most, c = takes && *carry, r;

	if (is_mad) {
		unsigned __int128 product = a * b;

		if (slu_ptx_type_is_signed((enum slu_ptx_type)form->types[0]) && bits == 64)
			product = (unsigned __int128)((__int128)(int64_t)a * (int64_t)b);
		else if (slu_ptx_type_is_signed((enum slu_ptx_type)form->types[0]))
			product = (unsigned __int128)((__int128)(int32_t)a * (int32_t)b);
		a = (slu_ptx_form_has(form, SLU_PTX_MOD_hi) ? product >> bits : product) & most;
		b = in[2] & most;
	}
	r = is_sub ? a - b - c : a + b + c;
	if (slu_ptx_form_has(form, SLU_PTX_MOD_cc))
		*carry = r >> bits & 1;
	return (uint64_t)r & most;
}

static void run_mode(const struct slu_ptx_form *form, unsigned mode)
{
	static struct dev_conform_text t;
	unsigned size = slu_ptx_type_size((enum slu_ptx_type)form->types[0]), bits = size * 8;
	bool is_mad = form->opcode == SLU_PTX_OP_mad || form->opcode == SLU_PTX_OP_madc;
	uint64_t *in = (uint64_t *)dev_conform_in;
	const uint64_t *out = (const uint64_t *)dev_conform_out;

	for (unsigned i = 0; i < N_VALUES; i++) {
		for (unsigned k = 0; k < 3; k++)
			in[k * N_VALUES + i] = dev_conform_value((enum slu_ptx_type)form->types[0]);
		in[3 * N_VALUES + i] = dev_conform_random() >> 63;
		in[GUARDS * N_VALUES + i] = dev_conform_random() >> 63;
	}
	t.size = 0;
	dev_conform_put(&t,
			"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
			".reg .pred %%g; .reg .b%u %%s<4>, %%o; .reg .b32 %%r<8>; .reg .b64 "
			"%%d<5>;\n"
			"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out];\n"
			"mad.lo.u32 %%r1, %%ctaid.x, %%ntid.x, %%tid.x;\n"
			"mad.wide.u32 %%d1, %%r1, 8, %%d1; mad.wide.u32 %%d2, %%r1, 16, %%d2;\n"
			"ld.global.u32 %%r2, [%%d1+%u]; setp.ne.u32 %%g, %%r2, 0;\n",
			dev_conform_head(form), bits, GUARDS * N_VALUES * 8);
	for (unsigned k = 0; k < 3; k++)
		dev_conform_put(&t, "ld.global.b%u %%s%u, [%%d1+%u];\n", bits, k, k * N_VALUES * 8);
	dev_conform_put(&t,
			"mov.b%u %%o, 5; ld.global.u32 %%r3, [%%d1+%u]; add.cc.u32 %%r4, %%r3, "
			"-1;\n",
			bits, 3 * N_VALUES * 8);
	if (mode == 1)
		dev_conform_put(&t, "@%%g ");
	if (mode == 2)
		dev_conform_put(&t, "@!%%g bra SKIP;\n");
	dev_conform_put(&t,
			"%s %%o, %%s0, %%s1%s;\nSKIP: addc.u32 %%r5, 0, 0;\n"
			"st.global.b%u [%%d2], %%o; st.global.u32 [%%d2+8], %%r5; ret;\n}\n",
			form->text, is_mad ? ", %s2" : "", bits);
	dev_conform_launch(form->text, t.text, N_VALUES / 128, 128);
	for (unsigned i = 0; i < N_VALUES; i++) {
		uint64_t x[3] = { in[i], in[N_VALUES + i], in[2 * N_VALUES + i] }, want = 5;
		uint64_t got = out[2 * i] & UINT64_MAX >> (64 - bits);
		bool carry = in[3 * N_VALUES + i];

		if (!mode || in[GUARDS * N_VALUES + i])
			want = carry_reference(form, x, &carry);
		if (got != want || (uint32_t)out[2 * i + 1] != carry)
			fail_msg("%s, mode %u: of %llx %llx %llx comes %llx, not %llx", form->text,
				 mode, (unsigned long long)x[0], (unsigned long long)x[1],
				 (unsigned long long)x[2], (unsigned long long)got,
				 (unsigned long long)want);
	}
}

static void carry_run(const char *text, const struct slu_ptx_form *form)
{
	(void)text;
	for (unsigned mode = 0; mode < 3; mode++)
		run_mode(form, mode);
}

const struct dev_conform_case dev_conform_carry = { "carry", carry_knows, carry_run };
