/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Text for people who asked for ASCII (LC_ALL=C): bars, dashes and dots become the nearest ASCII,
 * any other character becomes "?". Whoever set no locale at all gets UTF-8, which nearly every
 * terminal shows.
 */

#include <stdbool.h>
#include <stddef.h>

/* What was begun at the end of one piece and goes on in the next. */
struct slu_ascii {
	char held[4];
	size_t n_held;
};

/* By LC_ALL, LC_CTYPE and LANG; the first that is set and not empty counts. */
bool slu_ascii_is_wanted(void);

/* Translates @size bytes. @ret_text holds @size + 4 bytes. Return: how many bytes it is. */
size_t slu_ascii_translate(struct slu_ascii *ascii, const char *text, size_t size, char *ret_text);
