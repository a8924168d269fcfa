/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/utf8.h"

static void test_text_is_cut_between_characters(void **state)
{
	static const struct {
		const char *what, *text;
		size_t size;
		const char *expected;
	} rows[] = {
		{ "what fits stays", "chat", 5, "chat" },
		{ "letters are bytes", "chatter", 5, "chat" },
		{ "two bytes fit", "ü", 3, "ü" },
		{ "one of two bytes does not", "aü", 3, "a" },
		{ "nor two of three", "a世界", 6, "a世" },
		{ "nor three of four", "🚀🚀", 8, "🚀" },
		{ "nothing", "世", 3, "" },
		{ "bytes that begin no character end somewhere", "\x80\x80\x80", 3, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char made[16];

		print_message("# %s\n", rows[i].what);
		slu_utf8_copy(made, rows[i].size, rows[i].text);
		assert_string_equal(made, rows[i].expected);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
