/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * PTX text into tokens. The lexer looks one token ahead and knows nothing of the grammar, with
 * one exception: at the beginning of an instruction the parser asks for the opcode with all its
 * modifiers in one piece.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slu_ptx_token_kind {
	SLU_PTX_TOKEN_END,
	SLU_PTX_TOKEN_WORD,	 /* add, %r1, $L_3, _ */
	SLU_PTX_TOKEN_DIRECTIVE, /* .reg; @text is without the dot */
	SLU_PTX_TOKEN_INT,	 /* @value */
	SLU_PTX_TOKEN_F32,	 /* @value holds the bits */
	SLU_PTX_TOKEN_F64,
	SLU_PTX_TOKEN_STRING, /* with its quotes */
	SLU_PTX_TOKEN_CHAR,   /* one character of punctuation */
	SLU_PTX_TOKEN_BAD,    /* a character or number that cannot be; @text is it */
};

struct slu_ptx_token {
	enum slu_ptx_token_kind kind;
	const char *text;
	size_t size;
	uint64_t value;
	unsigned line;
	unsigned column;
};

struct slu_ptx_lexer {
	const char *at;
	const char *end;
	const char *line_start;
	unsigned line;
	struct slu_ptx_token token; /* the one to be looked at */
};

void slu_ptx_lexer_init(struct slu_ptx_lexer *lexer, const char *text, size_t size);
void slu_ptx_lexer_next(struct slu_ptx_lexer *lexer);

/* Lengthens the WORD at hand by the modifiers that follow it directly; "ld.const[3].b32" is one. */
void slu_ptx_lexer_opcode(struct slu_ptx_lexer *lexer);
/* Is the WORD at hand a label: does a single colon follow it? */
bool slu_ptx_lexer_touches_label(const struct slu_ptx_lexer *lexer);

static inline bool slu_ptx_lexer_is(const struct slu_ptx_lexer *lexer, char c)
{
	return lexer->token.kind == SLU_PTX_TOKEN_CHAR && *lexer->token.text == c;
}

bool slu_ptx_token_is(const struct slu_ptx_token *token, const char *text);
