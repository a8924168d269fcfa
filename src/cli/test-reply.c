/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "cli/reply.h"

static void test_no_control_character_reaches_the_terminal(void **state)
{
	static const struct {
		const char *text, *clean;
	} rows[] = {
		{ "plain", "plain" },
		{ "\x1b]0;title\x07", "?]0;title?" },
		{ "\x1b[2J", "?[2J" },
		{ "a\nb\tc\rd", "a\nb\tc?d" },
		{ "\x7f", "?" },
		{ "\xc2\x9b"
		  "31m",
		  "?31m" },
		{ "\xc3\xa9 \xe2\x86\x91", "\xc3\xa9 \xe2\x86\x91" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		json_t *reply = json_pack("{s:[{s:s}, i], s:s}", "programs", "name", rows[i].text,
					  1, "message", rows[i].text);
		json_t *entry = json_array_get(json_object_get(reply, "programs"), 0);

		assert_non_null(reply);
		slu_reply_clean(reply);
		assert_string_equal(slu_reply_text(reply, "message"), rows[i].clean);
		assert_string_equal(slu_reply_text(entry, "name"), rows[i].clean);
		json_decref(reply);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_control_character_reaches_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
