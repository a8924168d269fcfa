/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/table.h"

/* A name, two columns of numbers, the second of which is spare, and words. */
static struct slu_table *make(void)
{
	static const char *const cells[][4] = {
		{ "PROGRAM", "PID", "TURNS", "WHY" },
		{ "a-server-with-a-long-name", "1234", "12", "" },
		{ "chat", "7", "3", "for a turn" },
		{ "train", "8", "4", "" },
	};
	struct slu_table *table = slu_table_new(4);

	slu_table_align_right(table, 1);
	slu_table_align_right(table, 2);
	slu_table_spare(table, 2);
	slu_table_shrink(table, 0, 8);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(cells); i++)
		for (size_t k = 0; k < 4; k++)
			slu_table_add(table, "%s", cells[i][k]);
	return table;
}

static char *print(struct slu_table *table, size_t width)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	slu_table_print(table, out, "", width);
	fclose(out);
	slu_table_free(table);
	return text;
}

static void check(struct slu_table *table, size_t width, const char *expected)
{
	char *text = print(table, width);

	assert_string_equal(text, expected);
	free(text);
}

static void test_names_are_cut_before_columns_are_left_out(void **state)
{
	(void)state;
	setenv("LC_ALL", "C.UTF-8", 1);
	check(make(), 0,
	      "PROGRAM                     PID  TURNS  WHY\n"
	      "a-server-with-a-long-name  1234     12\n"
	      "chat                          7      3  for a turn\n"
	      "train                         8      4\n");
	check(make(), 24,
	      "PROGRAM       PID  TURNS\n"
	      "a-server-w…  1234     12\n"
	      "chat            7      3\n"
	      "    for a turn\n"
	      "train           8      4\n");
	check(make(), 15,
	      "PROGRAM    PID\n"
	      "a-serve…  1234\n"
	      "chat         7\n"
	      "    for a turn\n"
	      "train        8\n");
}

static void test_rows_that_do_not_fit_are_counted(void **state)
{
	static const struct {
		size_t n_lines;
		const char *text;
	} rows[] = {
		{ 4, "PROGRAM    PID\na-serve…  1234\n… 2 more\n" },
		{ 3, "PROGRAM    PID\na-serve…  1234\n… 2 more\n" },
		{ 2, "PROGRAM    PID\n… 3 more\n" },
		{ 1, "… 3 more\n" },
		{ 5, "PROGRAM    PID\na-serve…  1234\nchat         7\n    for a turn\n"
		     "train        8\n" },
	};

	(void)state;
	setenv("LC_ALL", "C.UTF-8", 1);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_table *table = make();

		slu_table_limit(table, rows[i].n_lines);
		check(table, 15, rows[i].text);
	}
}

static void test_cuts_are_marked_in_ascii_on_request(void **state)
{
	struct slu_table *table = make();

	(void)state;
	setenv("LC_ALL", "C", 1);
	slu_table_limit(table, 3);
	check(table, 15, "PROGRAM    PID\na-serve~  1234\n~ 2 more\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_cut_before_columns_are_left_out),
		cmocka_unit_test(test_rows_that_do_not_fit_are_counted),
		cmocka_unit_test(test_cuts_are_marked_in_ascii_on_request),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
