/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text that people see is UTF-8: it is cut between characters, never inside of one. */

#include <stddef.h>

/* Copies as many whole characters of @text as fit into @size bytes with the final NUL. */
void slu_utf8_copy(char *ret_text, size_t size, const char *text);
