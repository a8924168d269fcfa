/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A screen that is painted again and again, as `top` does: on the terminal's alternate screen, so
 * that what was there before is back at the end.
 *
 *   CLOSED -> OPEN      [slu_screen_open]
 *   OPEN   -> CLOSED    [slu_screen_close]  also by a signal that ends the process
 *   OPEN   -> SUSPENDED                     SIGTSTP: the shell gets its own screen back
 *   SUSPENDED -> OPEN                       SIGCONT
 */

#include <stddef.h>

/* stdout is a terminal. */
void slu_screen_open(void);
/* Nothing happens if it is not open. */
void slu_screen_close(void);

/* Lines that a painted text may have. */
size_t slu_screen_lines(void);

/* Paints over the last text without a flicker; what is too long or too much is cut. */
void slu_screen_paint(const char *text);

/* Returns after @ms, or at once when the terminal has another size. */
void slu_screen_wait(int ms);
