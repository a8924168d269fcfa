/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The last turns as bars, one line a program, time from left to right:
 *
 *   GPU 0, the last 12.0 s
 *   coder  ▒███████░         ▒███████  61 %
 *   train           ▒███████░          36 %
 *          -12 s                  now
 *
 * A character shows what took most of its time: █ runs, ▒ its bytes come in, ░ comes to rest.
 * The share is that of the time in which it ran.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Draws the turns of the answer @history that lie in the last @span_ms (0: all of them), one
 * picture a device.
 * @width: characters a line.
 */
void slu_picture_print(const json_t *history, uint64_t span_ms, size_t width, FILE *out);
