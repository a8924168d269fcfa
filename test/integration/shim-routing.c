/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whichever way a program reaches a function of the driver, it gets our wrapper of exactly the
 * variant that the driver would have given, and the driver's own function where there is no
 * wrapper. The shim is opened on top of the software GPU's driver; both answer every question, and
 * the driver's answer says what ours must be.
 */
#include "lib/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuabi/cuda-calls.h"
#include "cuabi/names.h"

static void *shim, *driver;
static __typeof__(&cuGetProcAddress) shim_get, driver_get;
static __typeof__(&cuGetProcAddress_v2) shim_get_v2, driver_get_v2;

static const bool is_wrapped[_SLU_CUNAME_MAX] = {
#define SLU_CALL(name) [SLU_CUNAME_##name] = true,
#include "cuda/calls.def"
#undef SLU_CALL
};

static const cuuint64_t all_flags[] = {
	CU_GET_PROC_ADDRESS_DEFAULT,
	CU_GET_PROC_ADDRESS_LEGACY_STREAM,
	CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
};

static bool is_inside(void *pointer, const char *folder)
{
	Dl_info info;

	return pointer && dladdr(pointer, &info) && strstr(info.dli_fname, folder);
}

/* Which symbol of the driver stands at @pointer; several may, if the driver made them aliases. */
static bool is_symbol(void *pointer, unsigned id)
{
	return dlsym(driver, slu_cunames[id].symbol) == pointer;
}

static int open_both(void **state)
{
	const char *build = getenv("SLUICE_BUILD");
	char path[4096];

	(void)state;
	assert_non_null(build);
	snprintf(path, sizeof(path), "%s/devices/softgpu/libcuda.so.1", build);
	setenv("SLUICE_CUDA_DRIVER", path, 1);
	driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(driver);
	snprintf(path, sizeof(path), "%s/src/cuda/libcuda.so.1", build);
	shim = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(shim);
	assert_ptr_not_equal(shim, driver);
	shim_get = (__typeof__(shim_get))dlsym(shim, "cuGetProcAddress");
	driver_get = (__typeof__(driver_get))dlsym(driver, "cuGetProcAddress");
	shim_get_v2 = (__typeof__(shim_get_v2))dlsym(shim, "cuGetProcAddress_v2");
	driver_get_v2 = (__typeof__(driver_get_v2))dlsym(driver, "cuGetProcAddress_v2");
	return 0;
}

static void test_every_name_is_exported_and_ours(void **state)
{
	(void)state;
	for (unsigned i = 0; i < _SLU_CUNAME_MAX; i++) {
		void *ours = dlsym(shim, slu_cunames[i].symbol);

		if (!is_inside(ours, "/src/cuda/"))
			fail_msg("%s is not the shim's", slu_cunames[i].symbol);
	}
}

/* What the shim must answer where the driver answers @real for the symbol @id. */
static void *expected(void *real, int id)
{
	if (!real || id < 0 || !is_wrapped[id])
		return real;
	assert_true(is_symbol(real, (unsigned)id));
	return dlsym(shim, slu_cunames[id].symbol);
}

static void compare(const char *base, int version, cuuint64_t flags)
{
	bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	CUdriverProcAddressQueryResult real_status = 77, status = 77;
	int id = slu_cuname_resolve(base, version, per_thread);
	void *real = NULL, *ours = NULL;

	assert_int_equal(shim_get_v2(base, &ours, version, flags, &status),
			 driver_get_v2(base, &real, version, flags, &real_status));
	assert_int_equal(status, real_status);
	if (ours != expected(real, id))
		fail_msg("%s, version %d, flags %d: not the wrapper of %s", base, version,
			 (int)flags, id < 0 ? "nothing" : slu_cunames[id].symbol);
	real = ours = NULL;
	assert_int_equal(shim_get(base, &ours, version, flags),
			 driver_get(base, &real, version, flags));
	assert_ptr_equal(ours, expected(real, id));
}

static void test_every_version_and_stream_flag_gives_the_wrapper_of_that_variant(void **state)
{
	unsigned n_wrapped = 0;

	(void)state;
	for (unsigned i = 0; i < _SLU_CUNAME_MAX; i++) {
		n_wrapped += is_wrapped[i];
		for (unsigned k = 0; k < _SLU_CUNAME_MAX; k++) {
			if (strcmp(slu_cunames[k].base, slu_cunames[i].base))
				continue;
			for (unsigned f = 0; f < sizeof(all_flags) / sizeof(all_flags[0]); f++) {
				compare(slu_cunames[i].base, slu_cunames[k].version, all_flags[f]);
				compare(slu_cunames[i].base, slu_cunames[k].version - 1,
					all_flags[f]);
			}
		}
		compare(slu_cunames[i].base, 13000, CU_GET_PROC_ADDRESS_DEFAULT);
	}
	assert_in_range(n_wrapped, 100, _SLU_CUNAME_MAX);
}

static void test_the_older_variants_of_a_wrapped_call_are_wrapped_too(void **state)
{
	(void)state;
	/* 64-bit forms only: what has a later form of the same width must not slip past us */
	for (unsigned i = 0; i < _SLU_CUNAME_MAX; i++) {
		char sibling[128];
		int id;

		if (!is_wrapped[i] || slu_cunames[i].per_thread)
			continue;
		for (int k = 0; k < 2; k++) {
			snprintf(sibling, sizeof(sibling), "%s%s", slu_cunames[i].symbol,
				 k ? "_ptds" : "_ptsz");
			id = slu_cuname_find(sibling);
			if (id >= 0 && !is_wrapped[id])
				fail_msg("%s is wrapped, %s is not", slu_cunames[i].symbol,
					 sibling);
		}
	}
}

/* Stream-ordered calls have a variant for per-thread streams: so the table knows them all. */
static void test_every_call_that_puts_something_in_a_stream_is_seen(void **state)
{
	/* these look at a stream or change what it is, and leave nothing there */
	static const char *const others[] = {
		"cuStreamCopyAttributes", "cuStreamGetAttribute",
		"cuStreamGetCaptureInfo", "cuStreamGetCtx",
		"cuStreamGetDevice",	  "cuStreamGetFlags",
		"cuStreamGetId",	  "cuStreamGetPriority",
		"cuStreamIsCapturing",	  "cuStreamQuery",
		"cuStreamSetAttribute",	  "cuStreamUpdateCaptureDependencies",
	};
	unsigned n_others = 0;

	(void)state;
	for (unsigned i = 0; i < _SLU_CUNAME_MAX; i++) {
		bool is_other = false;

		if (!slu_cunames[i].per_thread)
			continue;
		for (unsigned k = 0; k < sizeof(others) / sizeof(others[0]); k++)
			is_other = is_other || !strcmp(slu_cunames[i].base, others[k]);
		n_others += is_other;
		if (is_wrapped[i] == is_other)
			fail_msg("%s is %s", slu_cunames[i].symbol,
				 is_other ? "wrapped for nothing" : "not seen");
	}
	assert_in_range(n_others, 12, 30);
}

static void test_unknown_names_are_answered_as_the_driver_answers(void **state)
{
	static const char *const names[] = { "", "cuNoSuchThing", "cuGLGetDevices",
					     "cuMemAlloc_v2" };

	(void)state;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (unsigned f = 0; f < sizeof(all_flags) / sizeof(all_flags[0]); f++) {
			compare(names[i], 0, all_flags[f]);
			compare(names[i], 12000, all_flags[f]);
		}
	/* wrong arguments are the driver's to refuse */
	compare("cuMemAlloc", 99999, 0);
	compare("cuMemAlloc", 12000, 77);
	assert_int_equal(shim_get_v2("cuInit", NULL, 12000, 0, NULL),
			 driver_get_v2("cuInit", NULL, 12000, 0, NULL));
}

static void test_private_tables_are_the_drivers_own_answer(void **state)
{
	__typeof__(&cuGetExportTable) ours = (__typeof__(ours))dlsym(shim, "cuGetExportTable");
	__typeof__(&cuGetExportTable) real = (__typeof__(real))dlsym(driver, "cuGetExportTable");
	const void *our_table = &shim, *real_table = &driver;
	CUuuid id = { { 1, 2, 3 } };

	(void)state;
	assert_false(is_wrapped[SLU_CUNAME_cuGetExportTable]);
	assert_int_equal(ours(&our_table, &id), real(&real_table, &id));
	assert_ptr_equal(our_table, real_table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_name_is_exported_and_ours),
		cmocka_unit_test(
			test_every_version_and_stream_flag_gives_the_wrapper_of_that_variant),
		cmocka_unit_test(test_the_older_variants_of_a_wrapped_call_are_wrapped_too),
		cmocka_unit_test(test_every_call_that_puts_something_in_a_stream_is_seen),
		cmocka_unit_test(test_unknown_names_are_answered_as_the_driver_answers),
		cmocka_unit_test(test_private_tables_are_the_drivers_own_answer),
	};

	return cmocka_run_group_tests(tests, open_both, NULL);
}
