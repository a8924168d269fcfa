/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The socket that connections come in by: our own, under a lock file so that a path has one
 * daemon, or systemd's.
 *
 *   OPEN   -> PAUSED  [accept]   no file descriptor is left
 *   PAUSED -> OPEN    [timer]    a little later
 *
 *   OPEN   -> OPEN    [inotify]  somebody removed the socket or its lock: both are made again
 *   OPEN   -> LOST    [inotify]  … which failed, because another daemon has the path, for instance
 *
 * A listener that cannot accept would be called again at once, for ever. So one descriptor is kept
 * in reserve: it is given up to take the connection off the queue and close it, which the peer
 * sees, and then the listener rests.
 */

#include <stdbool.h>

struct slu_listener;
struct slu_server;

/*
 * Binds @path, or takes what systemd handed over when @path is NULL. What is wrong has been logged
 * when it fails.
 */
int slu_listener_new(struct slu_server *server, const char *path,
		     struct slu_listener **ret_listener);

/* Nobody can reach us any more; NULL is fine. */
bool slu_listener_is_lost(const struct slu_listener *listener);

/* Removes our own socket and its lock, as far as these are still ours. */
void slu_listener_free(struct slu_listener *listener);
