/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/text.h"

/* Return: the length of the printable character at @s, or 0. */
static size_t utf8_character(const unsigned char *s)
{
	unsigned code;
	size_t n;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f;
	n = s[0] >= 0xf0 && s[0] <= 0xf4  ? 4
	    : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
	    : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
					  : 0;
	if (!n)
		return 0;
	code = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3fu);
	}
	/* overlong, surrogates, beyond the last code point, and the other control set */
	if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10ffff)) ||
	    (code >= 0xd800 && code < 0xe000) || code < 0xa0)
		return 0;
	return n;
}

void slu_text_clean(char *text)
{
	while (*text) {
		size_t n = utf8_character((const unsigned char *)text);

		if (!n)
			*text = '?';
		text += n ? n : 1;
	}
}
