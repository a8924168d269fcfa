/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where daemon and command find each other. They must agree without talking, so both use these
 * functions.
 *
 *            socket                                         state (the roster)
 *   given    SLUICE_SOCKET                                  SLUICE_STATE
 *   system   /run/sluice/sluice.sock                        /run/sluice
 *   user     <run-time folder>/sluice.sock                  $XDG_STATE_HOME/sluice, else
 *                                                           the run-time folder
 *
 * The run-time folder of a user is the first that works of $XDG_RUNTIME_DIR/sluice,
 * /run/user/<uid>/sluice and /dev/shm/sluice-<uid>. It must be a real folder of the user, closed to
 * others: anything else in its place is refused, because every user may write to /dev/shm.
 */

#include <stdbool.h>
#include <stddef.h>

enum slu_path_mode { SLU_PATH_USER, SLU_PATH_SYSTEM };

#define SLU_PATH_SYSTEM_FOLDER "/run/sluice"
#define SLU_PATH_SOCKET_NAME   "sluice.sock"
#define SLU_PATH_LOG_NAME      "sluiced.log" /* in the state folder, in the background */
#define SLU_PATH_LINK_NAME     "socket"	     /* in the state folder, to the socket of its daemon */

/*
 * Writes the path of the socket. With @make the user's folder is created where it is absent;
 * without it the path may name a folder that does not exist.
 *
 * Return: 0, -ENAMETOOLONG, or -errno of a folder that cannot be used (-EPERM: somebody else's or
 * open to others); then @ret_path has the folder, for the message.
 */
int slu_path_socket(enum slu_path_mode mode, bool make, char *ret_path, size_t size);

/*
 * The socket that the link in the user's state folder names: that of a daemon which was started
 * with another run-time folder, perhaps. Return: 0, -ENOENT if there is none or SLUICE_SOCKET says
 * which socket to use, or -errno.
 */
int slu_path_linked_socket(char *ret_path, size_t size);

/* The daemon's roster in the state folder is a file of at most this size. */
#define SLU_PATH_ROSTER_BYTES (2 << 20)

/* The folder for what outlives the daemon; as above. */
int slu_path_state(enum slu_path_mode mode, bool make, char *ret_path, size_t size);

/*
 * The folders for bytes on disk where no setting names one, in order of preference: @i from 0.
 *
 *   system   /var/tmp
 *   user     $XDG_CACHE_HOME or ~/.cache; /var/tmp
 *
 * Return: 0, or -ENOENT when there is no such candidate (a later one may be there, up to 1).
 */
int slu_path_disk(enum slu_path_mode mode, unsigned i, char *ret_path, size_t size);

/*
 * Makes sure that @path is a folder of ours that nobody else can enter; creates it (0700) with
 * @make.
 *
 * Return: 0, -ENOENT, -ENOTDIR, -EPERM, or -errno.
 */
int slu_path_private_folder(const char *path, bool make);
