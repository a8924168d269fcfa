/* SPDX-License-Identifier: Apache-2.0 */

/* Where a library may be: which paths are offered, in which order, and how long. */

#include "lib/test.h"

#include "base/library.h"

struct seen {
	char paths[4][64];
	unsigned n;
	unsigned n_wanted; /* this one is taken; 0: none is */
};

static bool see(void *data, const char *path)
{
	struct seen *seen = data;

	assert_true(seen->n < 4);
	snprintf(seen->paths[seen->n++], sizeof(seen->paths[0]), "%s", path);
	return seen->n == seen->n_wanted;
}

static void folders_are_offered_in_their_order(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	assert_false(slu_library_in_folders("lib.so", "/a::/b/c:", see, &seen));
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.paths[0], "/a/lib.so");
	assert_string_equal(seen.paths[1], "/b/c/lib.so");
}

static void what_is_taken_ends_the_search(void **state)
{
	struct seen seen = { .n_wanted = 2 };

	(void)state;
	assert_true(slu_library_in_folders("lib.so", "/a:/b:/c", see, &seen));
	assert_int_equal(seen.n, 2);
}

static void without_folders_nothing_is_offered(void **state)
{
	struct seen seen = { 0 };

	(void)state;
	assert_false(slu_library_in_folders("lib.so", NULL, see, &seen));
	assert_false(slu_library_in_folders("lib.so", "", see, &seen));
	assert_int_equal(seen.n, 0);
}

static void the_cache_knows_the_c_library_and_no_part_of_its_name(void **state)
{
	struct seen seen = { .n_wanted = 1 };

	(void)state;
	assert_true(slu_library_in_cache("libc.so.6", see, &seen));
	assert_int_equal(seen.paths[0][0], '/');
	assert_string_equal(strrchr(seen.paths[0], '/'), "/libc.so.6");
	assert_false(slu_library_in_cache("c.so.6", see, &seen));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_are_offered_in_their_order),
		cmocka_unit_test(what_is_taken_ends_the_search),
		cmocka_unit_test(without_folders_nothing_is_offered),
		cmocka_unit_test(the_cache_knows_the_c_library_and_no_part_of_its_name),
	};

	return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
