/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <dlfcn.h>

#include "cuabi/abi.h"

static const char *const symbols[] = {
#define DEV_RTDONE(symbol)   #symbol,
#define DEV_RTABSENT(symbol) #symbol,
#include "cudart/names.def"
};

static void every_symbol_is_there_in_the_version_programs_ask_for(void **state)
{
	void *library = dlopen("libcudart.so.13", RTLD_NOW);
	size_t n = sizeof(symbols) / sizeof(symbols[0]);

	(void)state;
	if (!library)
		fail_msg("%s", dlerror());
	assert_int_equal(n, 422);
	for (size_t i = 0; i < n; i++) {
		if (i)
			assert_true(strcmp(symbols[i - 1], symbols[i]) < 0);
		if (!dlvsym(library, symbols[i], "libcudart.so.13"))
			fail_msg("%s is not there", symbols[i]);
	}
	dlclose(library);
}

static void without_a_driver_it_says_so(void **state)
{
	enum { NO_DRIVER = 35 };
	void *library = dlopen("libcudart.so.13", RTLD_NOW), *driver;
	int (*get_count)(int *), (*get_version)(int *), (*get_memory)(void **, size_t);
	int n = 5, version = 5;
	void *p;

	(void)state;
	assert_non_null(library);
	driver = dlopen("libcuda.so.1", RTLD_LAZY);
	if (driver) {
		printf("# this machine has a driver: nothing to see\n");
		dlclose(driver);
		return;
	}
	get_count = (int (*)(int *))dlsym(library, "cudaGetDeviceCount");
	get_version = (int (*)(int *))dlsym(library, "cudaDriverGetVersion");
	get_memory = (int (*)(void **, size_t))dlsym(library, "cudaMalloc");
	assert_int_equal(get_count(&n), NO_DRIVER);
	assert_int_equal(n, 0);
	assert_int_equal(get_memory(&p, 16), NO_DRIVER);
	assert_int_equal(get_version(&version), 0);
	assert_int_equal(version, 0);
	dlclose(library);
}

#ifdef SLU_HAVE_TOOLKIT
static int compare(const void *name, const void *symbol)
{
	return strcmp(name, *(const char *const *)symbol);
}

static void our_names_are_those_of_the_toolkits_library(void **state)
{
	FILE *nm = popen("nm -D --defined-only " SLU_TOOLKIT "/lib64/libcudart.so.13", "r");
	char line[256], name[256];
	size_t n = 0;

	(void)state;
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		/* the node of the version is listed as an absolute symbol */
		if (sscanf(line, "%*s %*c %255[^@\n]", name) != 1 || !strncmp(name, "lib", 3))
			continue;
		n++;
		if (!bsearch(name, symbols, sizeof(symbols) / sizeof(symbols[0]),
			     sizeof(symbols[0]), compare))
			fail_msg("%s is not in names.def", name);
	}
	pclose(nm);
	if (!n)
		printf("# the toolkit has no libcudart.so.13: nothing to compare with\n");
	else
		assert_int_equal(n, sizeof(symbols) / sizeof(symbols[0]));
}

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
	assert_true(n > 500);
	printf("# %u claims compared\n", n);
}
#endif

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_symbol_is_there_in_the_version_programs_ask_for),
		cmocka_unit_test(without_a_driver_it_says_so),
#ifdef SLU_HAVE_TOOLKIT
		cmocka_unit_test(our_names_are_those_of_the_toolkits_library),
		cmocka_unit_test(our_declarations_agree_with_the_toolkit),
#else
		slu_test_skipped(our_names_are_those_of_the_toolkits_library,
				 "no CUDA toolkit was found at build time"),
		slu_test_skipped(our_declarations_agree_with_the_toolkit,
				 "no CUDA toolkit was found at build time"),
#endif
	};

	return cmocka_run_group_tests_name("cudart-abi", tests, NULL, NULL);
}
