/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A daemon of one's own: `sluice run` starts it when none answers; it leaves when unused. */

#include <stddef.h>

struct slu_cli_where;

/*
 * Makes sure that a daemon answers at the socket, starting `sluiced --user` where that is ours to
 * do. Return: 0 with the socket's path, or the exit code after having complained.
 */
int slu_daemon_ensure(const struct slu_cli_where *where, char *ret_socket, size_t size);
