/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/suggest.h"
#include "base/util.h"

static void test_the_nearest_word_is_suggested_and_a_far_one_is_not(void **state)
{
	static const char *const offered[] = { "run",	  "status",	  "park",  "unpark",
					       "set",	  "kick",	  "slice", "visible_memory",
					       "backing", "user_backing", "doctor" };
	static const struct {
		const char *word, *best;
	} rows[] = {
		{ "stauts", "status" },
		{ "statu", "status" },
		{ "rnu", "run" },
		{ "visible", "visible_memory" },
		{ "visble_memory", "visible_memory" },
		{ "docter", "doctor" },
		{ "unpork", "unpark" },
		{ "frobnicate", NULL },
		{ "python", NULL },
		{ "x", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_suggest suggest = { .word = rows[i].word };

		for (size_t k = 0; k < SLU_ARRAY_SIZE(offered); k++)
			slu_suggest_offer(&suggest, offered[k]);
		if (rows[i].best) {
			assert_non_null(suggest.best);
			assert_string_equal(suggest.best, rows[i].best);
		} else {
			assert_null(suggest.best);
		}
	}
}

static void test_a_long_word_is_no_trouble(void **state)
{
	char word[4096];
	struct slu_suggest suggest = { .word = word };

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	slu_suggest_offer(&suggest, "xxx");
	assert_null(suggest.best);
	suggest.word = "xxx";
	slu_suggest_offer(&suggest, word);
	assert_null(suggest.best);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_nearest_word_is_suggested_and_a_far_one_is_not),
		cmocka_unit_test(test_a_long_word_is_no_trouble),
	};

	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
