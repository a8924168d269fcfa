/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The shared library as a guest: loading it does nothing, and it stays loaded when it is closed,
 * because its threads and the slots of the program's threads would otherwise lose their code.
 */

#include "lib/test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <unistd.h>

#include "client/client.h"

static unsigned count_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void loading_does_nothing_and_closing_keeps_it(void **state)
{
	void (*counts)(struct slu_client_counts *);
	const char *path = getenv("SLUICE_CLIENT_LIBRARY");
	struct slu_client_counts c = { .n_moves_in = 7 };
	unsigned n_threads;
	unsigned n_fds;
	void *library;

	assert_non_null(path);
	n_threads = count_entries("/proc/self/task");
	n_fds = count_entries("/proc/self/fd");
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
	*(void **)&counts = dlsym(library, "slu_client_counts");
	assert_non_null(counts);
	assert_int_equal(count_entries("/proc/self/task"), n_threads);
	assert_int_equal(count_entries("/proc/self/fd"), n_fds);
	dlclose(library);
	counts(&c); /* would be a fault if the library had gone */
	assert_int_equal(c.n_moves_in, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loading_does_nothing_and_closing_keeps_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
