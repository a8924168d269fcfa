/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/statement.h"

#include <ctype.h>
#include <string.h>

bool dev_statement_is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

bool dev_statement_is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

const char *dev_statement_skip_name(const char *at, const char *end)
{
	/* the first character may be one of those that only begin a name */
	if (at < end)
		at++;
	while (at < end && dev_statement_is_name_char(*at))
		at++;
	return at;
}

static const char *line_end(const char *at, const char *end)
{
	const char *p = memchr(at, '\n', (size_t)(end - at));

	return p ? p : end;
}

const char *dev_statement_skip_filling(const char *at, const char *end)
{
	const char *p;

	if (at + 1 < end && at[0] == '/' && at[1] == '/')
		return line_end(at, end);
	if (at + 1 < end && at[0] == '/' && at[1] == '*') {
		p = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
		return p ? p + 2 : end;
	}
	if (*at == '"') {
		for (at++; at < end && *at != '"'; at++)
			if (*at == '\\' && at + 1 < end)
				at++;
		return at < end ? at + 1 : end;
	}
	return at;
}

bool dev_statement_is_word(const char *at, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - at) >= n && !memcmp(at, word, n) &&
	       (at + n == end || !dev_statement_is_name_char(at[n]));
}

static void read_directive(struct dev_statement *s, const char *at, const char *end)
{
	if (dev_statement_is_word(at, end, ".visible"))
		s->linkage = DEV_STATEMENT_STRONG;
	else if (dev_statement_is_word(at, end, ".weak") ||
		 dev_statement_is_word(at, end, ".common"))
		s->linkage = DEV_STATEMENT_WEAK;
	else if (dev_statement_is_word(at, end, ".extern"))
		s->linkage = DEV_STATEMENT_EXTERN;
	else if (dev_statement_is_word(at, end, ".func"))
		s->is_function = true;
	else if (dev_statement_is_word(at, end, ".entry"))
		s->is_function = s->is_kernel = true;
	else if (dev_statement_is_word(at, end, ".section"))
		s->is_function = s->is_dropped = true; /* ends, like a function, with its brace */
}

static bool ends_with_line(const char *at, const char *end)
{
	return dev_statement_is_word(at, end, ".version") ||
	       dev_statement_is_word(at, end, ".target") ||
	       dev_statement_is_word(at, end, ".address_size") ||
	       dev_statement_is_word(at, end, ".file");
}

bool dev_statement_next(const char **text, const char *end, struct dev_statement *ret)
{
	unsigned braces = 0, parens = 0;
	struct dev_statement s = { 0 };
	const char *at = *text, *after;

	for (; at < end; at = after) {
		char c = *at;

		after = dev_statement_skip_filling(at, end);
		if (after != at)
			continue;
		after = at + 1;
		if (isspace((unsigned char)c) || c == '\0')
			continue;
		if (!s.begin) {
			s.begin = at;
			if (ends_with_line(at, end)) {
				s.end = line_end(at, end);
				s.is_dropped = true;
				break;
			}
		}
		if (dev_statement_is_name_start(c) || isdigit((unsigned char)c)) {
			after = dev_statement_skip_name(at, end);
			if (!s.name && !braces && !parens && dev_statement_is_name_start(c)) {
				s.name = at;
				s.name_bytes = (size_t)(after - at);
			}
		} else if (c == '.') {
			after = at + 1 < end ? dev_statement_skip_name(at, end) : end;
			if (!braces && !parens)
				read_directive(&s, at, end);
		} else if (c == '(') {
			parens++;
		} else if (c == ')' && parens) {
			parens--;
		} else if (c == '=' && !braces && !s.body) {
			s.body = at;
		} else if (c == '{') {
			if (!braces && !s.body)
				s.body = at;
			braces++;
		} else if (c == '}' && braces && !--braces && s.is_function) {
			s.end = after;
			break;
		} else if (c == ';' && !braces) {
			s.end = after;
			break;
		}
	}
	if (!s.begin)
		return false;
	if (!s.end)
		s.end = end;
	*text = s.end;
	*ret = s;
	return true;
}

bool dev_statement_is_definition(const struct dev_statement *s)
{
	return s->linkage != DEV_STATEMENT_EXTERN && (!s->is_function || s->body);
}
