/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What stdout is: how wide and high, and whether it may have colour. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Characters a line; 0 where it is no terminal and COLUMNS does not say. */
size_t slu_terminal_width(void);
/* Lines; 0 where it is no terminal. */
size_t slu_terminal_height(void);
/* A terminal that is not dumb, and NO_COLOR is not set. */
bool slu_terminal_has_colour(void);
/* One character for what was cut off. */
const char *slu_terminal_ellipsis(void);

/* Columns, not bytes: a character of Chinese takes two, an accent of its own and colours none. */
size_t slu_terminal_length(const char *text);
/* How many lines end in @text. */
size_t slu_terminal_lines(const char *text);
/* What of @text fits into @n columns: how many bytes these are, and columns.
 * @ret_columns may be NULL. */
size_t slu_terminal_cut(const char *text, size_t n, size_t *ret_columns);

/*
 * Prints @text in lines of at most @columns characters (0: in one), broken between words; each line
 * but the first is indented by @indent blanks. A word that is longer than that has a line of its
 * own. There is no newline at the end.
 */
void slu_terminal_wrap(FILE *out, const char *text, size_t columns, size_t indent);
