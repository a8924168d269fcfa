/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"

static void test_characters_are_counted_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(slu_terminal_length("█▒ x"), 4);
	assert_int_equal(slu_terminal_cut("█▒ x", 2, NULL), strlen("█▒"));
	assert_int_equal(slu_terminal_cut("ab", 5, NULL), 2);
}

static void test_wide_characters_take_two_columns(void **state)
{
	size_t columns;

	(void)state;
	unsetenv("LC_ALL");
	unsetenv("LC_CTYPE");
	unsetenv("LANG");
	assert_int_equal(slu_terminal_length("训练 x"), 6);
	assert_int_equal(slu_terminal_length("한🚀"), 4);
	assert_int_equal(slu_terminal_length("e\xcc\x81"), 1); /* an accent behind its letter */
	assert_int_equal(slu_terminal_cut("训练", 3, &columns), strlen("训"));
	assert_int_equal(columns, 2);
	assert_int_equal(slu_terminal_cut("训练", 4, NULL), strlen("训练"));
	assert_int_equal(slu_terminal_cut("e\xcc\x81x", 1, NULL), 3);
	setenv("LC_ALL", "C", 1);
	assert_int_equal(slu_terminal_length("训练 x"), 4);
	unsetenv("LC_ALL");
}

static void test_colours_take_no_columns(void **state)
{
	static const char text[] = "\033[32mrun\033[0mning\033[0m";

	(void)state;
	assert_int_equal(slu_terminal_length(text), 7);
	assert_int_equal(slu_terminal_length("\033[32m"), 0);
	assert_int_equal(slu_terminal_cut(text, 4, NULL), strlen("\033[32mrun\033[0mn"));
	assert_int_equal(slu_terminal_cut(text, 7, NULL), strlen(text));
	assert_int_equal(slu_terminal_cut(text, 0, NULL), strlen("\033[32m"));
}

static void test_words_are_broken_into_lines(void **state)
{
	static const struct {
		const char *what, *text;
		size_t columns, indent;
		const char *printed;
	} rows[] = {
		{ "no limit", "one two three", 0, 4, "one two three" },
		{ "it fits", "one two", 7, 4, "one two" },
		{ "two lines", "one two three", 7, 2, "one two\n  three" },
		{ "a break right behind a word", "one two", 3, 1, "one\n two" },
		{ "three lines", "a b c", 1, 0, "a\nb\nc" },
		{ "several blanks", "one   two", 5, 0, "one  \ntwo" },
		{ "a long word stays whole", "see /a/long/path now", 6, 1,
		  "see\n /a/long/path\n now" },
		{ "a long word alone", "/a/long/path", 4, 1, "/a/long/path" },
		{ "characters, not bytes", "██ ██", 5, 0, "██ ██" },
		{ "nothing", "", 5, 3, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *printed = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&printed, &size);

		assert_non_null(out);
		slu_terminal_wrap(out, rows[i].text, rows[i].columns, rows[i].indent);
		fclose(out);
		if (strcmp(printed, rows[i].printed) != 0)
			fail_msg("%s: '%s', not '%s'", rows[i].what, printed, rows[i].printed);
		free(printed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters_are_counted_not_bytes),
		cmocka_unit_test(test_wide_characters_take_two_columns),
		cmocka_unit_test(test_colours_take_no_columns),
		cmocka_unit_test(test_words_are_broken_into_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
