/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A PTX text as statements at module scope, without understanding more of it than where they begin
 * and end, what they name, and who may see that.
 */

#include <stdbool.h>
#include <stddef.h>

enum dev_statement_linkage {
	DEV_STATEMENT_LOCAL,
	DEV_STATEMENT_STRONG,
	DEV_STATEMENT_WEAK, /* .common as well */
	DEV_STATEMENT_EXTERN,
};

/* One statement at module scope. */
struct dev_statement {
	const char *begin, *end;
	const char *name; /* NULL: names nothing */
	size_t name_bytes;
	const char *body; /* where the body or the initial value begins; NULL: there is none */
	enum dev_statement_linkage linkage;
	bool is_function, is_kernel;
	bool is_dropped; /* a header or a debug section */
};

/* Reads one statement from *@text on, which moves behind it. Return: whether there is one. */
bool dev_statement_next(const char **text, const char *end, struct dev_statement *ret_statement);

/* Does it define what it names, and not merely declare it? */
bool dev_statement_is_definition(const struct dev_statement *statement);

bool dev_statement_is_name_start(char c);
bool dev_statement_is_name_char(char c);
/* Return: what follows the name that begins at @at. */
const char *dev_statement_skip_name(const char *at, const char *end);
/* Return: the first place at or after @at that is neither a comment nor part of a string. */
const char *dev_statement_skip_filling(const char *at, const char *end);
bool dev_statement_is_word(const char *at, const char *end, const char *word);
