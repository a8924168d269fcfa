/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a command prints must arrive: a full disk or a closed pipe behind stdout is no success. To
 * be called first in main(); whatever way the command then ends by exit(), what is still buffered
 * is written, and where that or anything before it failed, the command says so and ends with
 * @status instead. For that stdout becomes a stream of ours, which remembers why the first write
 * failed: of one that failed long before the end stdio only knows that it did.
 */

/* @program: for the message; both constant for the life of the process. */
void slu_output_guard(const char *program, int status);

/* From now on both streams print ASCII where the locale asks for it (ascii.h). */
void slu_output_follow_locale(void);
