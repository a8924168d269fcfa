/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reply.h"

#include <stdio.h>

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

void slu_reply_print(const json_t *reply, bool in_one_line)
{
	json_dumpf(reply, stdout, JSON_SORT_KEYS | (in_one_line ? 0 : JSON_INDENT(2)));
	putchar('\n');
}
