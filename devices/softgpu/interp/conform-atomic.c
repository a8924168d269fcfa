/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atom and red: every thread has a place of its own, so that what it finds and what it leaves
 * there are known exactly. Threads that meet at one place are in test-atomics.c.
 */
#include "softgpu/interp/test-conform.h"

#include "softgpu/interp/reference.h"

#define N_THREADS 64u
#define OPERANDS  2048u /* in the input: two words of 8 bytes a thread */
#define GUARDS	  8192u
#define FOUND	  2048u /* in the output: what was there */

static bool atomic_knows(const struct slu_ptx_form *form)
{
	uint64_t any;

	return form->row->family == SLU_PTX_FAMILY_ATOM &&
	       dev_reference_atomic(form, 0, 0, 0, &any);
}

static void write_kernel(const struct slu_ptx_form *form, unsigned mode, struct dev_conform_text *t)
{
	unsigned bits = slu_ptx_type_size((enum slu_ptx_type)form->types[0]) * 8;
	bool is_shared = form->space == SLU_PTX_SPACE_SHARED;
	bool is_red = form->opcode == SLU_PTX_OP_red;
	bool is_cas = slu_ptx_form_has(form, SLU_PTX_MOD_cas);

	dev_conform_put(
		t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%g; .reg .b%u %%v<4>; .reg .b32 %%r<4>; .reg .b64 %%d<8>;\n"
		".shared .align 8 .b8 tile[512];\n"
		"ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x;\n"
		"mad.wide.u32 %%d3, %%r1, 4, %%d1; mad.wide.u32 %%d4, %%r1, 16, %%d1;\n"
		"mad.wide.u32 %%d5, %%r1, 8, %%d2; mov.u64 %%d6, tile; mad.wide.u32 %%d6, "
		"%%r1, 8, %%d6;\n"
		"ld.global.u32 %%r2, [%%d3+%u]; setp.ne.u32 %%g, %%r2, 0;\n"
		"ld.global.b%u %%v0, [%%d4+%u]; ld.global.b%u %%v1, [%%d4+%u];\n"
		"ld.global.b%u %%v2, [%%d5+%u]; ld.global.b64 %%d7, [%%d5]; st.shared.b64 "
		"[%%d6], %%d7;\n",
		dev_conform_head(form), bits, GUARDS, bits, OPERANDS, bits, OPERANDS + 8, bits,
		FOUND);
	if (mode == 1)
		dev_conform_put(t, "@%%g ");
	if (mode == 2)
		dev_conform_put(t, "@!%%g bra SKIP;\n");
	dev_conform_put(t, "%s %s[%%d%u], %%v0%s%s;\nSKIP:\n", form->text, is_red ? "" : "%v2, ",
			is_shared ? 6 : 5, is_cas ? ", %v1" : "",
			strstr(form->text, "cache_hint") ? ", %d7" : "");
	if (is_shared)
		dev_conform_put(t, "ld.shared.b64 %%d7, [%%d6]; st.global.b64 [%%d5], %%d7;\n");
	dev_conform_put(t, "st.global.b%u [%%d5+%u], %%v2; ret;\n}\n", bits, FOUND);
}

static void run_apart(const struct slu_ptx_form *form, unsigned mode)
{
	static struct dev_conform_text t;
	enum slu_ptx_type type = (enum slu_ptx_type)form->types[0];
	unsigned size = slu_ptx_type_size(type);
	uint64_t *places = (uint64_t *)dev_conform_out, before[N_THREADS];
	uint64_t *operands = (uint64_t *)(dev_conform_in + OPERANDS);
	uint32_t *guards = (uint32_t *)(dev_conform_in + GUARDS);
	uint64_t *found = (uint64_t *)(dev_conform_out + FOUND), old_found[N_THREADS];

	dev_conform_scramble(dev_conform_out, FOUND + N_THREADS * 8);
	for (unsigned i = 0; i < N_THREADS; i++) {
		uint64_t value = dev_conform_value(type);

		memcpy(&places[i], &value, size);
		operands[2 * i] = dev_conform_value(type);
		operands[2 * i + 1] = dev_conform_value(type);
		/* some comparisons come true */
		if (slu_ptx_form_has(form, SLU_PTX_MOD_cas) && i % 3)
			operands[2 * i] = value;
		guards[i] = (uint32_t)(dev_conform_random() >> 63);
		before[i] = places[i];
		old_found[i] = found[i];
	}
	t.size = 0;
	write_kernel(form, mode, &t);
	dev_conform_launch(form->text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++) {
		uint64_t want = before[i], want_found = old_found[i], value;

		if (!mode || guards[i]) {
			dev_reference_atomic(form, before[i], operands[2 * i], operands[2 * i + 1],
					     &value);
			memcpy(&want, &value, size);
			if (form->opcode == SLU_PTX_OP_atom)
				memcpy(&want_found, &before[i], size);
		}
		if (places[i] != want || memcmp(&found[i], &want_found, size))
			fail_msg("%s, mode %u: of %llx %llx %llx comes %llx, not %llx; found %llx",
				 form->text, mode, (unsigned long long)before[i],
				 (unsigned long long)operands[2 * i],
				 (unsigned long long)operands[2 * i + 1],
				 (unsigned long long)places[i], (unsigned long long)want,
				 (unsigned long long)found[i]);
	}
}

static void atomic_run(const char *text, const struct slu_ptx_form *form)
{
	(void)text;
	for (unsigned mode = 0; mode < 3; mode++)
		run_apart(form, mode);
}

const struct dev_conform_case dev_conform_atomic = { "atomic", atomic_knows, atomic_run };
