/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

void slu_utf8_copy(char *ret_text, size_t size, const char *text)
{
	size_t n = strlen(text);

	if (n >= size) {
		n = size - 1;
		/* not into a character whose later bytes do not fit: these are 10xxxxxx */
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(ret_text, text, n);
	ret_text[n] = '\0';
}
