/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/util.h"
#include "cli/terminal.h"

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static struct winsize look(void)
{
	struct winsize size = { 0 };

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		size = (struct winsize){ 0 };
	return size;
}

size_t slu_terminal_width(void)
{
	const char *said = getenv("COLUMNS");
	long n = said ? strtol(said, NULL, 10) : 0;
	size_t width = look().ws_col;

	if (width)
		return width;
	return n > 0 && n < 10000 ? (size_t)n : 0;
}

size_t slu_terminal_height(void)
{
	return look().ws_row;
}

bool slu_terminal_has_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

const char *slu_terminal_ellipsis(void)
{
	return slu_ascii_is_wanted() ? "~" : "…";
}

/* The length of a colour of ours at @text, or 0. */
static size_t colour_length(const char *text)
{
	size_t n;

	if (strncmp(text, "\033[", 2) != 0)
		return 0;
	n = 2 + strspn(text + 2, "0123456789;");
	return text[n] == 'm' ? n + 1 : 0;
}

/* The character at @text: UTF-8, or a byte that is not. */
static unsigned decode(const char *text)
{
	unsigned first = (unsigned char)*text, code;
	unsigned n = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;

	code = n ? first & (0x3fu >> n) : first;
	for (unsigned i = 1; i <= n && is_continuation(text[i]); i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3fu);
	return code;
}

/*
 * Columns that the character at @text takes. The C library knows more of them, but only in the
 * user's locale, and without a locale we still print UTF-8.
 */
static size_t columns_of(const char *text)
{
	static const struct {
		unsigned first, last;
		size_t columns;
	} ranges[] = {
		{ 0x300, 0x36f, 0 },	 { 0x200b, 0x200f, 0 },	  { 0xfe00, 0xfe0f, 0 },
		{ 0x1100, 0x115f, 2 },	 { 0x2e80, 0x303e, 2 },	  { 0x3041, 0xa4cf, 2 },
		{ 0xac00, 0xd7a3, 2 },	 { 0xf900, 0xfaff, 2 },	  { 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },	  { 0x1f300, 0x1f64f, 2 },
		{ 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
	};
	unsigned code = decode(text);

	if (is_continuation(*text))
		return 0;
	/* in ASCII every character becomes one */
	if (code < ranges[0].first || slu_ascii_is_wanted())
		return 1;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(ranges); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return ranges[i].columns;
	return 1;
}

size_t slu_terminal_length(const char *text)
{
	size_t n = 0, skipped;

	for (; *text; text++) {
		while ((skipped = colour_length(text)))
			text += skipped;
		if (!*text)
			break;
		n += columns_of(text);
	}
	return n;
}

size_t slu_terminal_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

size_t slu_terminal_cut(const char *text, size_t n, size_t *ret_columns)
{
	const char *end = text;
	size_t left = n;

	while (*end) {
		size_t skipped = colour_length(end), columns = skipped ? 0 : columns_of(end);

		if (columns > left)
			break;
		left -= columns;
		end += skipped ? skipped : 1;
	}
	if (ret_columns)
		*ret_columns = n - left;
	return (size_t)(end - text);
}

void slu_terminal_wrap(FILE *out, const char *text, size_t columns, size_t indent)
{
	while (columns && slu_terminal_length(text) > columns) {
		size_t most = slu_terminal_cut(text, columns, NULL), n = most;

		while (n && text[n] != ' ')
			n--;
		/* a long path is not broken, so that it can be copied */
		if (!n)
			n = most + strcspn(text + most, " ");
		if (!text[n])
			break;
		fprintf(out, "%.*s\n%*s", (int)n, text, (int)indent, "");
		text += n;
		text += strspn(text, " ");
	}
	fputs(text, out);
}
