/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The link in the state folder that names the daemon's socket (wire/path.h). One daemon at a time
 * uses a state folder, but commands of the same user may look for its socket in another run-time
 * folder, from a session of cron or su for example. Only the holder of the roster changes the link.
 * Without it such commands find no daemon: no function here fails.
 */

/* @state: the folder; @socket: where the daemon listens. */
void slu_link_make(const char *state, const char *socket);
void slu_link_remove(const char *state);
