/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "daemon/text.h"

static void test_control_sequences_are_replaced(void **state)
{
	static const struct {
		const char *text, *clean;
	} rows[] = {
		{ "", "" },
		{ "chat.py", "chat.py" },
		{ "a\nb\tc", "a?b?c" },
		{ "\033[31mred", "?[31mred" },
		{ "\x7f", "?" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" }, /* two letters of two bytes */
		{ "\xe2\x82\xac", "\xe2\x82\xac" },		/* the euro sign */
		{ "\xf0\x9f\x9a\x80", "\xf0\x9f\x9a\x80" },	/* beyond the first plane */
		{ "\xff\xfe", "??" },
		{ "\xc3", "?" },      /* cut short */
		{ "\xc0\xaf", "??" }, /* overlong */
		{ "\xe0\x80\xaf", "???" },
		{ "\xed\xa0\x80", "???" },	/* half of a surrogate pair */
		{ "\xf4\x90\x80\x80", "????" }, /* beyond the last code point */
		{ "\xc2\x9b"
		  "31m",
		  "??31m" }, /* the other control set */
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		char text[32];

		strcpy(text, rows[i].text);
		slu_text_clean(text);
		assert_string_equal(text, rows[i].clean);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_sequences_are_replaced),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
