/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp.async: every thread copies 4, 8 or 16 bytes from a scattered place into its own of shared
 * memory; with a fourth operand only as many as that says, and zeroes behind them, or none where it
 * is a predicate that is true.
 */
#include "softgpu/interp/test-conform.h"

#define N_THREADS 64u
#define GIVEN	  4096u /* in the input: how many bytes there are */

static bool copy_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_COPY;
}

/*
 * mode 0: all lanes, whole; 1: under a guard; 2: behind a branch, with a size of its own; 3: all
 * lanes, where a predicate says of some that they read nothing
 */
static void run_mode(const struct slu_ptx_form *form, unsigned size, unsigned mode)
{
	static struct dev_conform_text t;
	uint32_t *given = (uint32_t *)(dev_conform_in + GIVEN);

	dev_conform_scramble(dev_conform_in, N_THREADS * 16);
	for (unsigned i = 0; i < N_THREADS; i++)
		given[i] = (uint32_t)(dev_conform_random() % (size + 1));
	t.size = 0;
	dev_conform_put(
		&t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%p<3>; .reg .b32 %%r<8>; .reg .b64 %%d<12>; .shared .align 16 "
		".b8 tile[1024];\n"
		"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x;\n"
		"mad.wide.u32 %%d3, %%r1, 4, %%d1; ld.global.u32 %%r2, [%%d3+%u];\n"
		"and.b32 %%r3, %%r1, 1; setp.eq.u32 %%p1, %%r3, 1; xor.b32 %%r4, %%r1, 21;\n"
		"mad.wide.u32 %%d4, %%r4, 16, %%d1; mov.u64 %%d5, tile; mad.wide.u32 %%d5, "
		"%%r1, 16, %%d5;\n"
		"mov.u64 %%d6, -1; st.shared.v2.u64 [%%d5], {%%d6, %%d6};\n",
		dev_conform_head(form), GIVEN);
	if (mode == 1)
		dev_conform_put(&t, "@%%p1 ");
	if (mode == 2)
		dev_conform_put(&t, "@!%%p1 bra SKIP;\n");
	dev_conform_put(
		&t,
		"%s [%%d5], [%%d4], %u%s%s;\nSKIP: cp.async.commit_group; cp.async.wait_all;\n"
		"ld.shared.v2.u64 {%%d7, %%d8}, [%%d5]; mad.wide.u32 %%d9, %%r1, 16, %%d2;\n"
		"st.global.v2.u64 [%%d9], {%%d7, %%d8}; ret;\n}\n",
		form->text, size,
		mode == 2   ? ", %r2"
		: mode == 3 ? ", !%p1"
			    : "",
		strstr(form->text, "cache_hint") ? ", %d6" : "");
	dev_conform_launch(form->text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++) {
		uint8_t want[16];

		memset(want, 255, sizeof(want));
		if (mode == 3)
			memset(want, 0, size);
		if (!mode || i & 1) {
			memset(want, 0, size);
			memcpy(want, dev_conform_in + (i ^ 21) * 16, mode == 2 ? given[i] : size);
		}
		if (memcmp(dev_conform_out + i * 16, want, 16))
			fail_msg("%s of %u bytes, mode %u: thread %u is wrong", form->text, size,
				 mode, i);
	}
}

static void copy_run(const char *text, const struct slu_ptx_form *form)
{
	(void)text;
	for (unsigned mode = 0; mode < 4; mode++)
		for (unsigned size = slu_ptx_form_has(form, SLU_PTX_MOD_ca) ? 4 : 16; size <= 16;
		     size *= 2)
			run_mode(form, size, mode);
}

const struct dev_conform_case dev_conform_copy = { "copy", copy_knows, copy_run };
