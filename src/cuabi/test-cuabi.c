/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "cuabi/abi.h"
#include "cuabi/names.h"

static void the_table_of_names_is_sorted_and_whole(void **state)
{
	(void)state;

	assert_int_equal(_SLU_CUNAME_MAX, 637);
	for (int i = 0; i < _SLU_CUNAME_MAX; i++) {
		const struct slu_cuname *row = &slu_cunames[i];

		if (i)
			assert_true(strcmp(slu_cunames[i - 1].symbol, row->symbol) < 0);
		assert_int_equal(strncmp(row->symbol, row->base, strlen(row->base)), 0);
		assert_int_equal(slu_cuname_find(row->symbol), i);
		assert_true(row->version >= 2000 && row->version <= 13000);
	}
	assert_int_equal(slu_cuname_find("cuNothing"), -1);
	assert_int_equal(slu_cuname_find(""), -1);
}

static void every_symbol_is_the_answer_to_its_own_version(void **state)
{
	(void)state;

	for (int i = 0; i < _SLU_CUNAME_MAX; i++)
		assert_int_equal(slu_cuname_resolve(slu_cunames[i].base, slu_cunames[i].version,
						    slu_cunames[i].per_thread),
				 i);
}

static void names_resolve_by_version_and_flag(void **state)
{
	static const struct {
		const char *what;
		const char *base;
		int version;
		bool per_thread;
		const char *symbol; /* NULL: nothing fits */
	} rows[] = {
		{ "newest form not newer than asked", "cuMemAlloc", 13000, false, "cuMemAlloc_v2" },
		{ "old form for an old program", "cuMemAlloc", 3010, false, "cuMemAlloc" },
		{ "per-thread variant", "cuMemcpyHtoD", 13000, true, "cuMemcpyHtoD_v2_ptds" },
		{ "plain where no variant exists", "cuMemAlloc", 13000, true, "cuMemAlloc_v2" },
		{ "per-thread variant too new", "cuMemcpyHtoD", 6000, true, "cuMemcpyHtoD_v2" },
		{ "a longer name with the same beginning", "cuCtxCreate", 3020, false,
		  "cuCtxCreate_v2" },
		{ "the newest of four", "cuCtxCreate", 12080, false, "cuCtxCreate_v4" },
		{ "exact border", "cuEventElapsedTime", 12080, false, "cuEventElapsedTime_v2" },
		{ "just below the border", "cuEventElapsedTime", 12079, false,
		  "cuEventElapsedTime" },
		{ "newer than asked only", "cuLibraryLoadData", 11080, false, NULL },
		{ "unknown", "cuGLInit", 13000, false, NULL },
		{ "a symbol is no base name", "cuMemAlloc_v2", 13000, false, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int n = slu_cuname_resolve(rows[i].base, rows[i].version, rows[i].per_thread);

		if (!rows[i].symbol) {
			if (n >= 0)
				fail_msg("%s: found %s", rows[i].what, slu_cunames[n].symbol);
		} else if (n < 0 || strcmp(slu_cunames[n].symbol, rows[i].symbol)) {
			fail_msg("%s: not %s", rows[i].what, rows[i].symbol);
		}
	}
	assert_int_equal(slu_cuname_resolve("cuLibraryLoadData", 11080, false), SLU_CUNAME_E_OLDER);
	assert_int_equal(slu_cuname_resolve("cuGLInit", 13000, false), SLU_CUNAME_E_UNKNOWN);
}

#ifdef SLU_HAVE_TOOLKIT
static void our_declarations_agree_with_the_toolkit(void **state)
{
	unsigned n = 0;

	(void)state;
	for (; slu_abi_ours[n].what && slu_abi_toolkit[n].what; n++) {
		assert_string_equal(slu_abi_ours[n].what, slu_abi_toolkit[n].what);
		if (slu_abi_ours[n].number != slu_abi_toolkit[n].number)
			fail_msg("%s: %lld here, %lld in the toolkit", slu_abi_ours[n].what,
				 slu_abi_ours[n].number, slu_abi_toolkit[n].number);
	}
	assert_null(slu_abi_ours[n].what);
	assert_null(slu_abi_toolkit[n].what);
	assert_true(n > 600);
	printf("# %u claims compared\n", n);
}
#else
static void say_how_many_are_not_compared(void)
{
	unsigned n = 0;

	while (slu_abi_ours[n].what)
		n++;
	printf("# %u claims not compared\n", n);
}
#endif

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_names_is_sorted_and_whole),
		cmocka_unit_test(every_symbol_is_the_answer_to_its_own_version),
		cmocka_unit_test(names_resolve_by_version_and_flag),
#ifdef SLU_HAVE_TOOLKIT
		cmocka_unit_test(our_declarations_agree_with_the_toolkit),
#else
		slu_test_skipped(our_declarations_agree_with_the_toolkit,
				 "no CUDA toolkit was found when this was built"),
#endif
	};

#ifndef SLU_HAVE_TOOLKIT
	say_how_many_are_not_compared();
#endif
	return cmocka_run_group_tests_name("cuabi", tests, NULL, NULL);
}
