/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/util.h"

static void test_the_locale_says_whether_ascii_is_wanted(void **state)
{
	static const struct {
		const char *all, *ctype, *lang;
		bool is_wanted;
	} rows[] = {
		{ NULL, NULL, NULL, false },
		{ "C", NULL, "en_GB.UTF-8", true },
		{ "", "", "POSIX", true },
		{ "C.UTF-8", NULL, "C", false },
		{ NULL, "de_DE.utf8", "C", false },
		{ NULL, NULL, "de_DE.ISO-8859-1", true },
		{ NULL, NULL, "en_US.UTF-8", false },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
		const char *const values[] = { rows[i].all, rows[i].ctype, rows[i].lang };

		for (size_t k = 0; k < SLU_ARRAY_SIZE(names); k++)
			if (values[k] ? setenv(names[k], values[k], 1) : unsetenv(names[k]))
				fail();
		assert_int_equal(slu_ascii_is_wanted(), rows[i].is_wanted);
	}
}

/* In one piece and byte by byte. */
static void test_characters_become_ascii_wherever_they_are_cut(void **state)
{
	static const char text[] = "a█▓▒░ – … ü 漢 😀 \xff\xe2\x96z";
	static const char plain[] = "a#%=. - ... ? ? ? ??z";

	(void)state;
	for (size_t step = 1; step <= sizeof(text); step++) {
		struct slu_ascii ascii = { .n_held = 0 };
		char out[2 * sizeof(text) + 4];
		size_t n = 0;

		for (size_t i = 0; i < strlen(text); i += step)
			n += slu_ascii_translate(&ascii, text + i, SLU_MIN(step, strlen(text) - i),
						 out + n);
		out[n] = '\0';
		assert_string_equal(out, plain);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_locale_says_whether_ascii_is_wanted),
		cmocka_unit_test(test_characters_become_ascii_wherever_they_are_cut),
	};

	return cmocka_run_group_tests_name("ascii", tests, NULL, NULL);
}
