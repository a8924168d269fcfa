/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "ptx/form.h"
#include "ptx/matrix.h"

/*
 * Modifiers in another order than the manual's. What is taken and what is refused here was asked
 * of the vendor's assembler, ptxas of CUDA 13.0.
 */

static void test_another_order_means_the_same(void **state)
{
	static const struct {
		const char *text;
		const char *same;
	} rows[] = {
		{ "lg2.approx.f32.ftz", "lg2.approx.ftz.f32" },
		{ "lg2.ftz.approx.f32", "lg2.approx.ftz.f32" },
		{ "add.f32.rn.ftz.sat", "add.rn.ftz.sat.f32" },
		{ "add.s32.sat", "add.sat.s32" },
		{ "add.f16.ftz", "add.ftz.f16" },
		{ "addc.u32.cc", "addc.cc.u32" },
		{ "mul.f32.rn.sat", "mul.rn.sat.f32" },
		{ "mad.hi.s32.sat", "mad.hi.sat.s32" },
		{ "mad.lo.u32.cc", "mad.lo.cc.u32" },
		{ "div.full.f32.ftz", "div.full.ftz.f32" },
		{ "div.f32.approx", "div.approx.f32" },
		{ "shf.l.b32.wrap", "shf.l.wrap.b32" },
		{ "prmt.f4e.b32", "prmt.b32.f4e" },
		{ "bfind.u64.shiftamt", "bfind.shiftamt.u64" },
		{ "testp.f32.finite", "testp.finite.f32" },
		{ "setp.u32.lo", "setp.lo.u32" },
		{ "setp.and.f32.lt", "setp.lt.and.f32" },
		{ "setp.f32.ftz.and.lt", "setp.lt.and.ftz.f32" },
		{ "set.u32.lt.s32", "set.lt.u32.s32" },
		{ "set.u32.f32.lt.ftz", "set.lt.ftz.u32.f32" },
		{ "slct.f32.f32.ftz", "slct.ftz.f32.f32" },
		{ "cvt.s32.f32.rni", "cvt.rni.s32.f32" },
		{ "cvt.f32.rn.s32", "cvt.rn.f32.s32" },
		{ "cvt.pack.u16.s32.sat", "cvt.pack.sat.u16.s32" },
		{ "cvta.to.u64.global", "cvta.to.global.u64" },
		{ "vset.lt.s32.u32", "vset.s32.u32.lt" },
		{ "vadd.sat.s32.u32.s32", "vadd.s32.u32.s32.sat" },
		{ "mov.u32.v2", "mov.v2.u32" },
		{ "ld.u32.global", "ld.global.u32" },
		{ "atom.global.u32.add", "atom.global.add.u32" },
		{ "shfl.b32.idx.sync", "shfl.sync.idx.b32" },
		{ "vote.pred.all.sync", "vote.sync.all.pred" },
		{ "fence.gpu.sc", "fence.sc.gpu" },
		{ "prefetch.L1.global", "prefetch.global.L1" },
		{ "bar.red.pred.and", "bar.red.and.pred" },
		{ "barrier.aligned.sync", "barrier.sync.aligned" },
		{ "barrier.red.aligned.popc.u32", "barrier.red.popc.aligned.u32" },
		{ "ldmatrix.sync.aligned.x1.m8n8.shared.trans.b16",
		  "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16" },
		{ "wmma.load.a.sync.aligned.m16n16k16.col.f16",
		  "wmma.load.a.sync.aligned.col.m16n16k16.f16" },
		{ "mma.aligned.sync.row.f32.col.m16n8k8.f16.f16.f32",
		  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32" },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_ptx_form a = { 0 }, b = { 0 };
		struct slu_ptx_matrix m = { 0 }, n = { 0 };

		printf("# %s\n", rows[i].text);
		assert_int_equal(slu_ptx_form_match(rows[i].text, strlen(rows[i].text), &a), 0);
		assert_int_equal(slu_ptx_form_match(rows[i].same, strlen(rows[i].same), &b), 0);
		assert_ptr_equal(a.row, b.row);
		assert_int_equal(a.n_types, b.n_types);
		assert_memory_equal(a.types, b.types, sizeof(a.types));
		assert_memory_equal(a.modifiers, b.modifiers, sizeof(a.modifiers));
		assert_int_equal(a.space, b.space);
		assert_int_equal(a.vector, b.vector);
		assert_int_equal(slu_ptx_matrix_of(&a, rows[i].text, &m),
				 slu_ptx_matrix_of(&b, rows[i].same, &n));
		assert_memory_equal(&m, &n, sizeof(m));
	}
}

static void test_names_types_and_layouts_keep_their_order(void **state)
{
	static const char *const texts[] = {
		"mul.s32.lo",
		"mul.u32.wide",
		"mad.sat.hi.s32",
		"mad.cc.lo.u32",
		"dp2a.u32.u32.lo",
		"div.ftz.full.f32",
		"shf.wrap.l.b32",
		"cvta.global.to.u64",
		"cvt.sat.pack.u16.s32",
		"cvt.rn.f32.f16",
		"cvt.f32.f16.rn",
		"bar.popc.red.u32",
		"bar.sync.cta",
		"barrier.sync.cta",
		"fence.alias.proxy",
		"brx.uni.idx",
		"wmma.a.load.sync.aligned.row.m16n16k16.f16",
		"mma.sync.aligned.m16n8k8.col.row.f32.f16.f16.f32",
		"add.f32.f32",
		"add.rn.rz.f32",
		"lg2.approx.ftz.ftz.f32",
		"lg2.ftz.f32",
	};
	struct slu_ptx_form form;

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(texts); i++) {
		printf("# %s\n", texts[i]);
		assert_int_equal(slu_ptx_form_match(texts[i], strlen(texts[i]), &form),
				 SLU_PTX_FORM_E_FORM);
	}
}

static void test_slots_say_what_operands_may_be(void **state)
{
	static const struct {
		const char *text;
		unsigned n_operands, k;
		struct slu_ptx_slot slot;
	} rows[] = {
		{ "add.s32", 3, 0, { SLU_PTX_SLOT_DEST, SLU_PTX_TYPE_S32, 4 } },
		{ "add.s32", 3, 2, { SLU_PTX_SLOT_SOURCE, SLU_PTX_TYPE_S32, 4 } },
		{ "mul.wide.u32", 3, 0, { SLU_PTX_SLOT_DEST_TWICE, SLU_PTX_TYPE_U32, 8 } },
		{ "shfl.sync.idx.b32", 5, 0, { SLU_PTX_SLOT_DEST_PAIR, SLU_PTX_TYPE_B32, 4 } },
		{ "shfl.sync.idx.b32", 5, 4, { SLU_PTX_SLOT_SOURCE, SLU_PTX_TYPE_B32, 4 } },
		/* of "d0 sU sU? P" the third may be left out */
		{ "bar.red.popc.u32",
		  4,
		  2,
		  { SLU_PTX_SLOT_SOURCE, SLU_PTX_TYPE_B32, 4, .is_optional = true } },
		{ "bar.red.popc.u32", 3, 2, { SLU_PTX_SLOT_PRED_SOURCE } },
		{ "ld.global.u8",
		  2,
		  0,
		  { SLU_PTX_SLOT_DEST_VECTOR, SLU_PTX_TYPE_U8, 1, .may_be_wider = true } },
		{ "ld.global.u8", 2, 1, { SLU_PTX_SLOT_ADDRESS } },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		const struct slu_ptx_slot *slot;
		struct slu_ptx_form form;

		printf("# %s, operand %u of %u\n", rows[i].text, rows[i].k, rows[i].n_operands);
		assert_int_equal(slu_ptx_form_match(rows[i].text, strlen(rows[i].text), &form), 0);
		slot = slu_ptx_slot_of(&form, rows[i].n_operands, rows[i].k);
		assert_non_null(slot);
		assert_memory_equal(slot, &rows[i].slot, sizeof(*slot));
		assert_null(slu_ptx_slot_of(&form, rows[i].n_operands, rows[i].n_operands));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_order_means_the_same),
		cmocka_unit_test(test_names_types_and_layouts_keep_their_order),
		cmocka_unit_test(test_slots_say_what_operands_may_be),
	};

	return cmocka_run_group_tests_name("ptx-form", tests, NULL, NULL);
}
