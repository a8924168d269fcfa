/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

bool slu_ascii_is_wanted(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return !strcasestr(value, "utf-8") && !strcasestr(value, "utf8");
	}
	return false;
}

/* None is longer than the character that it stands for. */
static const char *ascii_of(const char *character)
{
	static const struct {
		const char *character, *ascii;
	} rows[] = {
		{ "█", "#" }, { "▓", "%" },   { "▒", "=" }, { "░", "." },
		{ "–", "-" }, { "…", "..." }, { "·", "*" },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].character, character))
			return rows[i].ascii;
	return "?";
}

static size_t length_of(char first)
{
	unsigned char c = (unsigned char)first;

	return c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
}

/* Return: how many bytes what was held has become. */
static size_t release(struct slu_ascii *ascii, char *ret_text)
{
	char character[sizeof(ascii->held) + 1] = "";
	const char *plain;

	memcpy(character, ascii->held, ascii->n_held);
	ascii->n_held = 0;
	plain = ascii_of(character);
	memcpy(ret_text, plain, strlen(plain));
	return strlen(plain);
}

size_t slu_ascii_translate(struct slu_ascii *ascii, const char *text, size_t size, char *ret_text)
{
	size_t n = 0;

	for (size_t i = 0; i < size; i++) {
		bool goes_on = ((unsigned char)text[i] & 0xc0) == 0x80;

		if (ascii->n_held && !goes_on)
			n += release(ascii, ret_text + n);
		if (!((unsigned char)text[i] & 0x80)) {
			ret_text[n++] = text[i];
			continue;
		}
		ascii->held[ascii->n_held++] = text[i];
		if (ascii->n_held == length_of(ascii->held[0]))
			n += release(ascii, ret_text + n);
	}
	return n;
}
