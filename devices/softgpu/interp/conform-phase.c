/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mbarrier: one thread makes a barrier for all, every thread but those of the last warp arrives,
 * which takes two of its places with one arrival each, and everybody waits for the end of the
 * phase and then reads what another wrote before it arrived. Twice, so that both phases are seen.
 */
#include "softgpu/interp/test-conform.h"

#define N_THREADS 96u

static bool phase_knows(const struct slu_ptx_form *form)
{
	return form->row->family == SLU_PTX_FAMILY_PHASE;
}

/* the form where it has its place, the plain one of that kind elsewhere */
static const char *phase_pick(const struct slu_ptx_form *form, enum slu_ptx_modifier modifier,
			      const char *plain)
{
	return form->opcode == SLU_PTX_OP_mbarrier && slu_ptx_form_has(form, modifier) ? form->text
										       : plain;
}

static void put_round(struct dev_conform_text *t, const struct slu_ptx_form *form, unsigned round)
{
	bool is_cp = form->opcode == SLU_PTX_OP_cp;
	bool is_noinc = is_cp && slu_ptx_form_has(form, SLU_PTX_MOD_noinc);
	bool is_parity = slu_ptx_form_has(form, SLU_PTX_MOD_parity);
	bool is_partial = slu_ptx_form_has(form, SLU_PTX_MOD_noComplete) &&
			  slu_ptx_form_has(form, SLU_PTX_MOD_arrive);
	const char *arrive = phase_pick(form, SLU_PTX_MOD_arrive, "mbarrier.arrive.shared.b64");

	dev_conform_put(t, "add.u32 %%r2, %%r1, %u; st.shared.u32 [%%d4], %%r2;\n", round * 1000);
	/* what asks for the count is not what completes the phase */
	if (is_partial)
		arrive = "mbarrier.arrive.shared.b64";
	dev_conform_put(t, "setp.ge.u32 %%p1, %%r1, 64; @%%p1 bra LAST%u;\n", round);
	if (is_partial)
		dev_conform_put(t,
				"setp.lt.u32 %%p2, %%r1, 32; @!%%p2 bra PLAIN%u; %s %%d5, "
				"[bar], 1; bra WAIT%u; PLAIN%u:\n",
				round, form->text, round, round);
	if (is_cp)
		dev_conform_put(t, "%s [bar];\n", form->text);
	if (is_noinc)
		dev_conform_put(t, "ld.shared.u64 %%d5, [copy];\n");
	else
		dev_conform_put(t, "%s %%d5, [bar];\n", arrive);
	dev_conform_put(t, "bra WAIT%u;\nLAST%u: mbarrier.arrive.shared.b64 %%d5, [bar], 2;\n",
			round, round);
	dev_conform_put(t, "WAIT%u: ", round);
	if (is_parity || is_noinc)
		dev_conform_put(t, "%s %%p3, [bar], %u;",
				is_parity ? form->text : "mbarrier.test_wait.parity.shared.b64",
				round & 1);
	else
		dev_conform_put(
			t, "%s %%p3, [bar], %%d5;",
			phase_pick(form, SLU_PTX_MOD_test_wait, "mbarrier.test_wait.shared.b64"));
	dev_conform_put(t,
			" @!%%p3 bra WAIT%u;\nld.shared.u32 %%r3, [%%d6]; st.global.u32 [%%d3+%u], "
			"%%r3; bar.sync 0;\n",
			round, round * 1024);
}

static void phase_run(const char *text, const struct slu_ptx_form *form)
{
	static struct dev_conform_text t;
	const uint32_t *out = (const uint32_t *)dev_conform_out;
	bool is_counted = slu_ptx_form_has(form, SLU_PTX_MOD_noComplete) &&
			  slu_ptx_form_has(form, SLU_PTX_MOD_arrive_drop);

	t.size = 0;
	dev_conform_put(
		&t,
		"%s.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
		".reg .pred %%p<5>; .reg .b32 %%r<8>; .reg .b64 %%d<9>;\n"
		".shared .align 8 .u64 bar; .shared .align 8 .u64 copy; .shared .align 4 .b8 "
		"tile[384];\n"
		"ld.param.u64 %%d2, [out]; mov.u32 %%r1, %%tid.x; mad.wide.u32 %%d3, %%r1, 4, "
		"%%d2;\n"
		"mov.u64 %%d7, tile; mad.wide.u32 %%d4, %%r1, 4, %%d7; add.u32 %%r2, %%r1, "
		"37;\n"
		"rem.u32 %%r2, %%r2, 96; mad.wide.u32 %%d6, %%r2, 4, %%d7; setp.eq.u32 %%p4, "
		"%%r1, 0;\n"
		"@%%p4 %s [bar], 128; bar.sync 0;\n",
		dev_conform_head(form),
		phase_pick(form, SLU_PTX_MOD_init, "mbarrier.init.shared.b64"));
	for (unsigned round = 0; round < 2; round++)
		put_round(&t, form, round);
	/* one arrives and looks at how many were still to come; one goes for good */
	dev_conform_put(
		&t,
		"@!%%p4 bra END; mbarrier.arrive.shared.b64 %%d5, [bar];\n"
		"%s %%r4, %%d5; st.global.u32 [%%d2+2048], %%r4;\n"
		"%s %%d5, [bar]%s; mbarrier.arrive.shared.b64 %%d8, [bar], 126;\n"
		"mbarrier.arrive.shared.b64 %%d8, [bar]; mbarrier.pending_count.b64 %%r4, "
		"%%d8;\n"
		"st.global.u32 [%%d2+2052], %%r4; %s [bar]; END: ret;\n}\n",
		phase_pick(form, SLU_PTX_MOD_pending_count, "mbarrier.pending_count.b64"),
		phase_pick(form, SLU_PTX_MOD_arrive_drop, "mbarrier.arrive_drop.shared.b64"),
		is_counted ? ", 1" : "",
		phase_pick(form, SLU_PTX_MOD_inval, "mbarrier.inval.shared.b64"));
	dev_conform_launch(text, t.text, 1, N_THREADS);
	for (unsigned i = 0; i < N_THREADS; i++)
		for (unsigned round = 0; round < 2; round++)
			if (out[round * 256 + i] != (i + 37) % N_THREADS + round * 1000)
				fail_msg("%s, thread %u: %u\n%s", text, i, out[round * 256 + i],
					 t.text);
	if (out[512] != 128 || out[513] != 127)
		fail_msg("%s: %u and %u are to come, not 128 and 127\n%s", text, out[512], out[513],
			 t.text);
}

const struct dev_conform_case dev_conform_phase = { "phase", phase_knows, phase_run };
