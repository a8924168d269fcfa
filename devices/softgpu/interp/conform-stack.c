/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local memory taken while running: two pieces of another size in every lane, which keep what is
 * written into them while a function is called that has local memory too, and are then given back.
 */
#include "softgpu/interp/test-conform.h"

#define N_THREADS 64u

static bool stack_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_STACK;
}

static void stack_run(const char *text, const struct slu_ptx_form *form)
{
	static struct dev_conform_text t;
	unsigned bits = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) * 8;
	const uint32_t *out = (const uint32_t *)dev_conform_out;

	t.size = 0;
	dev_conform_put(&t,
			"%s.func (.param .b32 r) leaf(.param .b32 a)\n{\n"
			".reg .b32 %%r<3>; .local .align 8 .b8 own[256];\n"
			"ld.param.b32 %%r1, [a]; st.local.u32 [own], -1; st.local.u32 [own+252], "
			"-1;\nmul.lo.u32 %%r2, %%r1, 3; st.param.b32 [r], %%r2; ret;\n}\n",
			dev_conform_head(form));
	dev_conform_put(
		&t,
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%p<3>; .reg .b32 %%r<12>; .reg .b64 %%d<4>; .reg .b%u %%s<8>;\n"
		".local .align 8 .b8 own[40];\n"
		"ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x; mad.wide.u32 %%d3, %%r1, "
		"4, %%d2;\n"
		"st.local.u32 [own+36], %%r1; and.b32 %%r2, %%r1, 7; mad.lo.u32 %%r2, %%r2, "
		"4, 4;\n"
		"cvt.u%u.u32 %%s0, %%r2; stacksave.u%u %%s1; alloca.u%u %%s2, %%s0;\n"
		"st.local.u32 [%%s2], %%r1; alloca.u%u %%s3, %%s0, 16; add.u32 %%r3, %%r1, "
		"1000;\n"
		"st.local.u32 [%%s3], %%r3; rem.u%u %%s4, %%s3, 16; cvt.u32.u%u %%r4, "
		"%%s4;\n",
		bits, bits, bits, bits, bits, bits, bits);
	dev_conform_put(&t,
			"{ .param .b32 x; .param .b32 y; st.param.b32 [x], %%r1; call (y), leaf, "
			"(x);\nld.param.b32 %%r5, [y]; }\n"
			"ld.local.u32 %%r6, [%%s2]; ld.local.u32 %%r7, [%%s3]; ld.local.u32 %%r8, "
			"[own+36];\n"
			"stackrestore.u%u %%s1; stacksave.u%u %%s5; sub.u%u %%s6, %%s5, %%s1; "
			"cvt.u32.u%u %%r9, %%s6;\n"
			"add.u32 %%r4, %%r4, %%r5; add.u32 %%r6, %%r6, %%r7; add.u32 %%r8, %%r8, "
			"%%r9;\n"
			"add.u32 %%r4, %%r4, %%r6; add.u32 %%r4, %%r4, %%r8; st.global.u32 [%%d3], "
			"%%r4; ret;\n}\n",
			bits, bits, bits, bits);
	dev_conform_launch(text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++)
		if (out[i] != 6 * i + 1000)
			fail_msg("%s, thread %u: %u, not %u\n%s", text, i, out[i], 6 * i + 1000,
				 t.text);
}

const struct dev_conform_case dev_conform_stack = { "stack", stack_knows, stack_run };
