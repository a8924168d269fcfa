/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "ptx/lexer.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
	       c == '$' || c == '%';
}

static int digit_of(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

void slu_ptx_lexer_init(struct slu_ptx_lexer *lexer, const char *text, size_t size)
{
	const char *nul = memchr(text, 0, size);

	*lexer = (struct slu_ptx_lexer){
		.at = text,
		.end = nul ? nul : text + size,
		.line_start = text,
		.line = 1,
	};
	slu_ptx_lexer_next(lexer);
}

static void skip_blanks(struct slu_ptx_lexer *l)
{
	while (l->at < l->end) {
		char c = *l->at;

		if (c == '\n') {
			l->at++;
			l->line++;
			l->line_start = l->at;
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
			l->at++;
		} else if (c == '/' && l->at + 1 < l->end && l->at[1] == '/') {
			while (l->at < l->end && *l->at != '\n')
				l->at++;
		} else if (c == '/' && l->at + 1 < l->end && l->at[1] == '*') {
			for (l->at += 2; l->at < l->end; l->at++) {
				if (*l->at == '\n') {
					l->line++;
					l->line_start = l->at + 1;
				} else if (*l->at == '*' && l->at + 1 < l->end && l->at[1] == '/') {
					l->at += 2;
					break;
				}
			}
		} else {
			return;
		}
	}
}

/* 0f and 0d: the bits of a float, written in hexadecimal */
static bool take_float_bits(struct slu_ptx_lexer *l, unsigned n_digits)
{
	uint64_t value = 0;

	if ((size_t)(l->end - l->at) < 2 + n_digits)
		return false;
	for (unsigned i = 0; i < n_digits; i++) {
		int d = digit_of(l->at[2 + i]);

		if (d > 15)
			return false;
		value = value << 4 | (unsigned)d;
	}
	l->token.value = value;
	l->token.kind = n_digits == 8 ? SLU_PTX_TOKEN_F32 : SLU_PTX_TOKEN_F64;
	l->at += 2 + n_digits;
	return true;
}

/* 1.5, .5, 2e10: few texts have them, so the detour through a buffer does not matter */
static bool take_decimal_float(struct slu_ptx_lexer *l, size_t size)
{
	char buf[64], *end;
	double value;

	if (size >= sizeof(buf))
		return false;
	memcpy(buf, l->at, size);
	buf[size] = 0;
	value = strtod(buf, &end);
	if (*end)
		return false;
	memcpy(&l->token.value, &value, sizeof(value));
	l->token.kind = SLU_PTX_TOKEN_F64;
	l->at += size;
	return true;
}

static bool take_int(struct slu_ptx_lexer *l)
{
	const char *p = l->at;
	unsigned base = 10;
	uint64_t value = 0;
	bool has_digit = false;

	if (*p == '0' && p + 1 < l->end) {
		if (p[1] == 'x' || p[1] == 'X') {
			base = 16;
			p += 2;
		} else if (p[1] == 'b' || p[1] == 'B') {
			base = 2;
			p += 2;
		} else if (is_digit(p[1])) {
			base = 8;
			p += 1;
		}
	}
	for (; p < l->end && digit_of(*p) < (int)base; p++) {
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_of(*p), &value))
			return false;
		has_digit = true;
	}
	if (p < l->end && *p == 'U')
		p++;
	if (!has_digit || (p < l->end && is_word(*p)))
		return false;
	l->token.kind = SLU_PTX_TOKEN_INT;
	l->token.value = value;
	l->at = p;
	return true;
}

static bool take_number(struct slu_ptx_lexer *l)
{
	const char *p = l->at;
	bool is_float = false;

	if (*p == '0' && p + 1 < l->end) {
		if (p[1] == 'f' || p[1] == 'F')
			return take_float_bits(l, 8);
		if (p[1] == 'd' || p[1] == 'D')
			return take_float_bits(l, 16);
		if (p[1] == 'x' || p[1] == 'X')
			return take_int(l);
	}
	while (p < l->end && (is_digit(*p) || *p == '.' || *p == 'e' || *p == 'E' ||
			      ((*p == '+' || *p == '-') && (p[-1] == 'e' || p[-1] == 'E')))) {
		if (!is_digit(*p))
			is_float = true;
		p++;
	}
	return is_float ? take_decimal_float(l, (size_t)(p - l->at)) : take_int(l);
}

void slu_ptx_lexer_next(struct slu_ptx_lexer *l)
{
	const char *start;

	skip_blanks(l);
	start = l->at;
	l->token = (struct slu_ptx_token){
		.text = start,
		.line = l->line,
		.column = (unsigned)(start - l->line_start) + 1,
	};
	if (l->at >= l->end) {
		l->token.kind = SLU_PTX_TOKEN_END;
		return;
	}
	if (is_digit(*start) || (*start == '.' && start + 1 < l->end && is_digit(start[1]))) {
		if (!take_number(l)) {
			l->token.kind = SLU_PTX_TOKEN_BAD;
			while (l->at < l->end && (is_word(*l->at) || *l->at == '.'))
				l->at++;
		}
	} else if (is_word(*start)) {
		l->token.kind = SLU_PTX_TOKEN_WORD;
		while (l->at < l->end && is_word(*l->at))
			l->at++;
	} else if (*start == '.' && start + 1 < l->end && is_word(start[1])) {
		l->token.kind = SLU_PTX_TOKEN_DIRECTIVE;
		l->token.text++;
		l->at++;
		while (l->at < l->end && (is_word(*l->at) || (*l->at == ':' && l->at + 1 < l->end &&
							      l->at[1] == ':' && l->at++)))
			l->at++;
		l->token.size = (size_t)(l->at - l->token.text);
		return;
	} else if (*start == '"') {
		l->token.kind = SLU_PTX_TOKEN_STRING;
		for (l->at++; l->at < l->end && *l->at != '"' && *l->at != '\n'; l->at++)
			if (*l->at == '\\' && l->at + 1 < l->end)
				l->at++;
		if (l->at < l->end && *l->at == '"')
			l->at++;
		else
			l->token.kind = SLU_PTX_TOKEN_BAD;
	} else {
		l->token.kind = strchr("{}[]()<>,;:@!|=+-*/.&^~?", *start) ? SLU_PTX_TOKEN_CHAR
									   : SLU_PTX_TOKEN_BAD;
		l->at++;
	}
	l->token.size = (size_t)(l->at - start);
}

/* Return: how long the "[3]" at hand is, if it follows ".const". */
static size_t bank_size(const struct slu_ptx_lexer *l)
{
	static const char space[] = ".const";
	size_t n = sizeof(space) - 1, i = 1, left = (size_t)(l->end - l->at);

	if ((size_t)(l->at - l->token.text) < n || memcmp(l->at - n, space, n))
		return 0;
	while (i < left && l->at[i] >= '0' && l->at[i] <= '9')
		i++;
	return i > 1 && i < left && *l->at == '[' && l->at[i] == ']' ? i + 1 : 0;
}

void slu_ptx_lexer_opcode(struct slu_ptx_lexer *l)
{
	while (l->at < l->end) {
		if (is_word(*l->at) || *l->at == '.')
			l->at++;
		else if (*l->at == '[' && bank_size(l))
			l->at += bank_size(l);
		else if (*l->at == ':' && l->at + 2 < l->end && l->at[1] == ':' &&
			 is_word(l->at[2]))
			l->at += 2;
		else
			break;
	}
	l->token.size = (size_t)(l->at - l->token.text);
}

bool slu_ptx_lexer_touches_label(const struct slu_ptx_lexer *l)
{
	const char *p = l->at;

	while (p < l->end && (*p == ' ' || *p == '\t'))
		p++;
	return p < l->end && *p == ':' && (p + 1 == l->end || p[1] != ':');
}

bool slu_ptx_token_is(const struct slu_ptx_token *token, const char *text)
{
	return strlen(text) == token->size && !memcmp(token->text, text, token->size);
}
