/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Facts about other processes. A process is named by pid and start time together, because the pid
 * alone may belong to another process by now.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* In ticks since boot, as the kernel counts them. Return: 0, or -ESRCH. */
int slu_process_start(pid_t pid, uint64_t *ret_start);

bool slu_process_is(pid_t pid, uint64_t start);

/* Whether it is stopped, by a signal or a debugger. */
bool slu_process_is_stopped(pid_t pid);

/* The first of its threads that has one of the @n names. Return: its number, or 0. */
pid_t slu_process_find_thread(pid_t pid, const char *const *names, size_t n);

/* Whether it is certain that @pid, which lives, has no such thread. */
bool slu_process_lacks_thread(pid_t pid, pid_t thread);

/* The short name as the kernel has it; "?" when it is gone. */
void slu_process_name(pid_t pid, char *ret_name, size_t size);

/*
 * The path of its executable, if the same file has this path here as well: a user may choose the
 * paths of another mount namespace. Else empty.
 */
void slu_process_executable(pid_t pid, char *ret_path, size_t size);

/* Whether @uid may send signals to it: is its real and its saved user (kill(2)). */
bool slu_process_obeys(pid_t pid, uid_t uid);

/* Return: 0, or -ESRCH. */
int slu_process_uid(pid_t pid, uid_t *ret_uid);
int slu_process_gid(pid_t pid, gid_t *ret_gid);

/*
 * A pidfd of the process behind a connected unix socket: from the kernel where it has SO_PEERPIDFD,
 * else by @pid.
 *
 * Return: fd, or -ESRCH when it is gone, or -errno.
 */
int slu_process_open_peer(int socket_fd, pid_t pid);
int slu_process_open(pid_t pid);

/* "sluiced (pid 4121, uid 1000)", for people. */
void slu_process_describe(pid_t pid, char *ret_text, size_t size);

/* The path of the first unix socket at which @pid listens. Return: 0, -ENOENT, or -errno. */
int slu_process_socket(pid_t pid, char *ret_path, size_t size);
