/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the library did and why, for people who asked: SLUICE_LOG is "stderr" or a path to append
 * to. Without it nothing is ever written, and a call costs one load.
 */

/* Once, before the first line. Reads the environment. */
void slu_client_log_init(void);

/* One line, with time and process. Keeps errno. */
void slu_client_log(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
