/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A scripted daemon for the client's tests: a real socket, the real words, one client at a time.
 * Each device goes round and round:
 *
 *   RAISING  -> FILLING  [SUMS]   the limit is up; TURN
 *   FILLING  -> RUNNING  [READY]
 *   RUNNING  -> CLOSING  [after a random moment]  CLOSE; a calm daemon never does
 *   CLOSING  -> LOWERING [REST]   a random lower LIMIT
 *   LOWERING -> RAISING  [SUMS that meet it, or final]  LIMIT up
 *
 * A client that rejoins in a turn has that turn closed first.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/message.h"

struct slu_test_daemon {
	/* Set between init and start. */
	uint64_t seed;
	uint32_t status; /* of WELCOME */
	uint8_t predict; /* enum slu_predicting */
	bool is_calm;
	bool run_without_daemon;
	uint64_t device_bytes;	   /* the limit when it is up; 0: plenty */
	uint64_t pinned_bytes;	   /* 0: none, copies go through pageable memory */
	uint64_t deny_above_bytes; /* a WANT above it is denied; 0: none is */
	bool goes_deaf;	  /* after a turn it lowers to 0, and reads nothing more until a command */
	bool pins_copies; /* also host copies go into pinned_bytes, more and fewer of them */
	bool omits_sums;  /* moves are not checksummed */
	bool has_disk;	  /* little host memory, now more and now less of it, and plenty of disk */

	char folder[64];
	char path[96];
	pthread_t thread;
	int stop_fd;
	int command_fd;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t n_turns; /* guarded by lock: READYs since start */
	uint64_t n_joins; /* guarded by lock */
};

void slu_test_daemon_init(struct slu_test_daemon *daemon);

/* Stops it if it runs, and takes its folder away. */
void slu_test_daemon_deinit(struct slu_test_daemon *daemon);

void slu_test_daemon_start(struct slu_test_daemon *daemon);

/* Closes everything, as if it had been killed. */
void slu_test_daemon_stop(struct slu_test_daemon *daemon);

/* Tells a daemon that went deaf to read again, another one to end the turns that are open. */
void slu_test_daemon_tell(struct slu_test_daemon *daemon);

/* Waits until a client had @n turns since the start. */
void slu_test_daemon_wait_turns(struct slu_test_daemon *daemon, uint64_t n);
