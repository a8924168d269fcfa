/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One end of a connection: a SOCK_SEQPACKET unix socket that carries one message a packet, with at
 * most one file descriptor. Never blocks, never raises SIGPIPE. Messages that the socket did not
 * take at once wait in a bounded queue; when it is full, the peer that does not read is
 * disconnected. Protocol rules 1 and 40 keep it short: of messages that report a state only the
 * newest is kept, so a client waits for a slow daemon, however much it moves meanwhile.
 *
 *   EMPTY -> QUEUED  [slu_channel_send]   the socket is full; poll for writing
 *   QUEUED -> EMPTY  [slu_channel_flush]  all of it has been sent
 *
 * Files go from the daemon to a client only. To close the last copy of a file may take as long as
 * its owner likes (a TCP socket that lingers, a file system in user space), and the daemon has one
 * thread for all users. So it never owns a file of a client: where the kernel has SO_PASSRIGHTS, it
 * refuses them to the sender, and elsewhere the packet stays unread in the socket, which then must
 * not be closed by that thread either (slu_channel_dry()).
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wire/message.h"

#define SLU_CHANNEL_QUEUE_MAX 256 /* messages */

enum {
	_SLU_CHANNEL_E_SUCCESS,
	SLU_CHANNEL_E_AGAIN, /* nothing to read now */
	SLU_CHANNEL_E_EOF,   /* the other end is closed or reset */
	SLU_CHANNEL_E_BAD,   /* the packet is no message that side may send; see fault */
	SLU_CHANNEL_E_FULL,  /* the queue is full: the peer does not read */
	SLU_CHANNEL_E_FILES, /* the packet has files, and a client may pass none; it stays unread */
};

struct slu_channel;

/* Takes over @fd, a connected SEQPACKET socket. @side is that of the *other* end. */
int slu_channel_new(int fd, enum slu_message_side side, struct slu_channel **ret_channel);
void slu_channel_free(struct slu_channel *channel);

/* Frees all but the socket. Return: the socket. */
int slu_channel_release(struct slu_channel *channel);

/* New connections of the listening socket @fd pass no files, where the kernel can do that. */
void slu_channel_refuse_files(int fd);

/*
 * Ends what the peer of the socket @fd can send, and reads what it has sent. Return: whether @fd
 * can be closed without waiting; else unread packets have files.
 */
bool slu_channel_dry(int fd);

int slu_channel_fd(const struct slu_channel *channel);
bool slu_channel_wants_write(const struct slu_channel *channel);

/* The bytes that wait in the queue, so that its owner can be charged for them. */
size_t slu_channel_queued_bytes(const struct slu_channel *channel);

/*
 * Sends @m, whose header must be stamped; queues it if the socket is full. A passed @fd (or -1)
 * is duplicated if it must be queued and stays the caller's.
 *
 * Return: 0, SLU_CHANNEL_E_EOF, SLU_CHANNEL_E_FULL, or -errno.
 */
int slu_channel_send(struct slu_channel *channel, const struct slu_message *m, int fd);

/* Return: 0 when the queue is empty, SLU_CHANNEL_E_AGAIN, SLU_CHANNEL_E_EOF, or -errno. */
int slu_channel_flush(struct slu_channel *channel);

/*
 * Reads one message. @ret_fd (may be NULL: passed files are then closed) gets the passed file of a
 * daemon, or -1. Of a SLU_CHANNEL_E_BAD packet *ret_fault says what is wrong, in words, and
 * *ret_message has its beginning with zeroes behind: enough to tell a HELLO of another version. Its
 * files are closed.
 */
int slu_channel_receive(struct slu_channel *channel, struct slu_message *ret_message, int *ret_fd,
			const char **ret_fault);

/* Credentials of the other end at connect time. */
int slu_channel_peer(const struct slu_channel *channel, pid_t *ret_pid, uid_t *ret_uid,
		     gid_t *ret_gid);

/* Opens a non-blocking connection to the daemon at @path. Return: fd, or -errno. */
int slu_channel_connect(const char *path);
