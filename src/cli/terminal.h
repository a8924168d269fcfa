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

/* Characters, not bytes: continuation bytes of UTF-8 and colours take no place. */
size_t slu_terminal_length(const char *text);
/* How many lines end in @text. */
size_t slu_terminal_lines(const char *text);
/* The first @n characters of @text: how many bytes these are. */
size_t slu_terminal_cut(const char *text, size_t n);

/*
 * Prints @text in lines of at most @room characters (0: in one), broken between words; each line
 * but the first is indented by @indent blanks. A word that is longer than that has a line of its
 * own. There is no newline at the end.
 */
void slu_terminal_wrap(FILE *out, const char *text, size_t room, size_t indent);
