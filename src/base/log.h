/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The log of programs (daemon, command, tests). Libraries return, programs log, once. Levels
 * are syslog's; on stderr, with the "<4>" prefix under systemd and plain on a terminal. A
 * survived failure ends in ", ignoring".
 */

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

void slu_log_set_level(int level);
int slu_log_level(void);

/*
 * From now on stderr is the file @path (0600), and each line of the log is added to its end with
 * the time and the process. A file of @max_bytes becomes PATH.1, and a new one is begun.
 *
 * Return: 0, or -errno with stderr as it was.
 */
int slu_log_to_file(const char *path, uint64_t max_bytes);

void slu_log_write(int level, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

#define slu_log(level, ...)                                      \
	do {                                                     \
		if (LOG_##level <= slu_log_level())              \
			slu_log_write(LOG_##level, __VA_ARGS__); \
	} while (0)
