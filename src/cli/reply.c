/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reply.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"

const char *slu_reply_text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

uint64_t slu_reply_number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

bool slu_reply_is_shared(const json_t *list, const char *name, uint64_t pid)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry)
		if (slu_reply_number(entry, "pid") != pid &&
		    !strcmp(slu_reply_text(entry, "name"), name))
			return true;
	return false;
}

void slu_reply_tell_apart(json_t *list)
{
	json_t *before = json_deep_copy(list), *entry;
	size_t i;

	json_array_foreach (list, i, entry) {
		const char *name = slu_reply_text(entry, "name");
		uint64_t pid = slu_reply_number(entry, "pid");

		if (pid && slu_reply_is_shared(before, name, pid))
			json_object_set_new(
				entry, "name",
				json_sprintf("%s[%llu]", name, (unsigned long long)pid));
	}
	json_decref(before);
}

void slu_reply_print(const json_t *reply, bool in_one_line)
{
	/* a name must arrive unchanged, even if only ASCII may be printed */
	json_dumpf(reply, stdout,
		   JSON_SORT_KEYS | (in_one_line ? 0 : JSON_INDENT(2)) |
			   (slu_ascii_is_wanted() ? JSON_ENSURE_ASCII : 0));
	putchar('\n');
}
