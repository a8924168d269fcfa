/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The socket that accepts connections: the daemon's own, under a lock file so that a path has one
 * daemon, or systemd's.
 *
 *   OPEN   -> PAUSED  [accept]   no file descriptor is free
 *   PAUSED -> OPEN    [timer]    a little later
 *
 *   OPEN   -> OPEN    [inotify]  the socket or its lock was removed: both are created again
 *   OPEN   -> LOST    [inotify]  … which failed, for instance because another daemon has the path
 *
 * A listener that cannot accept would wake up again at once, for ever. So it keeps one descriptor
 * in reserve, gives it up to accept and close the connection, which the peer sees, and then pauses.
 */

#include <stdbool.h>

struct slu_listener;
struct slu_server;

/*
 * Binds @path, or takes the socket of systemd if @path is NULL. Logs the reason if it fails.
 */
int slu_listener_new(struct slu_server *server, const char *path,
		     struct slu_listener **ret_listener);

/* Ends the listener; NULL is fine. */
bool slu_listener_is_lost(const struct slu_listener *listener);

/* Removes the socket and its lock, if they still belong to this daemon. */
void slu_listener_free(struct slu_listener *listener);
