/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* Of C0, DEL, or of C1 as UTF-8 has it. */
static bool is_control(const char *at)
{
	const unsigned char *c = (const unsigned char *)at;

	return (c[0] < ' ' && c[0] != '\t' && c[0] != '\n') || c[0] == 0x7f ||
	       (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f);
}

void slu_reply_clean_text(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++, to++) {
		bool is_bad = is_control(from);

		from += is_bad && (unsigned char)*from == 0xc2;
		*to = is_bad ? '?' : *from;
	}
	*to = '\0';
}

static void text_clean(json_t *value)
{
	char *copy = strdup(json_string_value(value));

	if (!copy) {
		json_string_set(value, "");
		return;
	}
	slu_reply_clean_text(copy);
	if (strcmp(copy, json_string_value(value)))
		json_string_set_nocheck(value, copy);
	free(copy);
}

void slu_reply_clean(json_t *reply)
{
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_string(reply))
		text_clean(reply);
	json_object_foreach (reply, key, value)
		slu_reply_clean(value);
	json_array_foreach (reply, i, value)
		slu_reply_clean(value);
}

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
