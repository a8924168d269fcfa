/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Looking into what the daemon has answered, and handing it on as it is. */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The text at @key; "" where there is none. */
const char *slu_reply_text(const json_t *object, const char *key);
/* The number at @key; 0 where there is none, or one below it. */
uint64_t slu_reply_number(const json_t *object, const char *key);

/* Prints it on stdout for machines, with sorted keys. */
void slu_reply_print(const json_t *reply, bool in_one_line);
