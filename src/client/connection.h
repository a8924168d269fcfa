/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The way to the daemon: connects, reconnects with a pause that doubles from 10 ms to 1 s, and
 * never blocks. It carries messages and knows nothing of what they mean.
 *
 *   DOWN -> UP     [slu_connection_try]    when the pause is over and the daemon accepts
 *   UP   -> BROKEN [_send, _receive]       end of file, or an invalid message came
 *   UP, BROKEN -> DOWN [_drop]             after the peer knows that the connection is lost
 *
 * Not thread-safe: guarded by the client's lock.
 */

#include <stdbool.h>
#include <stdint.h>

#include "wire/message.h"

struct slu_channel;

struct slu_connection {
	char *path;		     /* NULL: there is no daemon to connect to */
	struct slu_channel *channel; /* NULL: DOWN */
	bool is_broken;
	bool is_last;	   /* never tries again once it is DOWN */
	uint64_t pause_ns; /* before the next try but one */
	uint64_t next_ns;  /* when to try */
};

enum {
	_SLU_CONNECTION_E_SUCCESS,
	SLU_CONNECTION_E_NOTHING, /* _receive: no message now; _try: not connected */
};

/* @path may be NULL; it is copied. Return: 0, or -ENOMEM. */
int slu_connection_init(struct slu_connection *connection, const char *path);
void slu_connection_deinit(struct slu_connection *connection);

/* Return: 0 when a connection was made, SLU_CONNECTION_E_NOTHING if not (yet). */
int slu_connection_try(struct slu_connection *connection, uint64_t now_ns);

/* The daemon welcomed us: after the next loss the first try comes at once. */
void slu_connection_reset_pause(struct slu_connection *connection);

/* Goes DOWN, and tries again after the pause. */
void slu_connection_drop(struct slu_connection *connection, uint64_t now_ns);

/* Goes DOWN and does not try again. */
void slu_connection_give_up(struct slu_connection *connection);

/*
 * Stays UP and sends nothing more; does not try again when it ends. A daemon that refused a program
 * shows it, with the reason, as long as its connection lasts.
 */
void slu_connection_stay(struct slu_connection *connection);

/* Tries again at once. */
void slu_connection_hurry(struct slu_connection *connection);

/* A message that cannot be sent is lost and breaks the connection. */
void slu_connection_send(struct slu_connection *connection, const struct slu_message *m);
void slu_connection_flush(struct slu_connection *connection);

/* Return: 0 with a message, SLU_CONNECTION_E_NOTHING. */
int slu_connection_receive(struct slu_connection *connection, struct slu_message *ret_message);

/* -1 while DOWN or BROKEN. */
int slu_connection_fd(const struct slu_connection *connection);
bool slu_connection_wants_write(const struct slu_connection *connection);
