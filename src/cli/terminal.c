/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/ascii.h"
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

size_t slu_terminal_length(const char *text)
{
	size_t n = 0, skipped;

	for (; *text; text++) {
		while ((skipped = colour_length(text)))
			text += skipped;
		if (!*text)
			break;
		n += !is_continuation(*text);
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

size_t slu_terminal_cut(const char *text, size_t n)
{
	const char *end = text;

	while (*end) {
		size_t skipped = colour_length(end);

		if (!skipped && !is_continuation(*end) && !n--)
			break;
		end += skipped ? skipped : 1;
	}
	return (size_t)(end - text);
}

void slu_terminal_wrap(FILE *out, const char *text, size_t room, size_t indent)
{
	while (room && slu_terminal_length(text) > room) {
		size_t most = slu_terminal_cut(text, room), n = most;

		while (n && text[n] != ' ')
			n--;
		/* a long path stays whole, so that it can be copied */
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
