/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Looking into what the daemon has answered, and handing it on as it is. */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Replaces control characters other than tab and line feed by '?', in @text and in all texts of
 * @reply: whoever answers at the socket must not control the terminal.
 */
void slu_reply_clean_text(char *text);
void slu_reply_clean(json_t *reply);

/* The text at @key; "" where there is none. */
const char *slu_reply_text(const json_t *object, const char *key);
/* The number at @key; 0 where there is none, or one below it. */
uint64_t slu_reply_number(const json_t *object, const char *key);

/* Whether an entry of @list, each with "name" and "pid", is another process of this name. */
bool slu_reply_is_shared(const json_t *list, const char *name, uint64_t pid);
/* For people: entries of @list that share a name, but are not one process, become "NAME[PID]". */
void slu_reply_tell_apart(json_t *list);

/* Prints it on stdout for machines, with sorted keys. */
void slu_reply_print(const json_t *reply, bool in_one_line);
