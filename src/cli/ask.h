/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One question to the daemon: JSON there, JSON back, each in a passed memory file
 * (docs/control.md). Complains by itself, so that every verb says the same thing the same way.
 */

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "wire/message.h"

/* The options --system, --socket and --json (parse.c). */
struct slu_cli_where {
	const char *socket; /* --socket, or NULL: the usual place */
	bool is_system;	    /* --system */
	bool is_json;	    /* --json */
};

/*
 * Who was asked, and what is known of it if it did not answer. A stopped daemon accepts connections
 * (the kernel does), but it never says a word.
 */
struct slu_cli_peer {
	char path[PATH_MAX]; /* of the socket; the folder if that is what cannot be used */
	pid_t pid;	     /* 0: unknown */
	bool is_stopped;
	char refusal[SLU_WIRE_DETAIL_MAX]; /* its words if it refused the connection */
};

/*
 * Asks @request (taken over) and fills *ret_reply (the caller's to free).
 * Return: 0, or the exit code after having complained.
 */
int slu_cli_ask(const struct slu_cli_where *where, json_t *request, json_t **ret_reply);

/*
 * The same without a word to anybody. Return: 0, -errno if nobody answers (-ETIMEDOUT if somebody
 * is there and does not) or the daemon refuses the connection (then ret_peer->refusal has its
 * words), SLU_CLI_E_REFUSED with the daemon's own words in *ret_reply.
 */
enum { _SLU_CLI_E_SUCCESS, SLU_CLI_E_REFUSED };

int slu_cli_try(const struct slu_cli_where *where, json_t *request, struct slu_cli_peer *ret_peer,
		json_t **ret_reply);

/* Whether a signal or a debugger stopped the process. */
bool slu_cli_is_stopped(pid_t pid);

/* Says what the daemon had against it; @reply is freed. Return: the exit code. */
int slu_cli_refused(json_t *reply);

/* Whether a daemon is there and answers. Return: 0, or -errno as above. */
int slu_cli_ping(const struct slu_cli_where *where, struct slu_cli_peer *ret_peer);

/* What to do about a refused connection, or NULL. */
const char *slu_cli_refusal_advice(int error);

/* Says why nobody answered: @error of slu_cli_try(). Return: the exit code. */
int slu_cli_no_daemon(const struct slu_cli_where *where, const struct slu_cli_peer *peer,
		      int error);

/* The end of a sentence about a daemon that does not answer, and what to do about it. */
#define SLU_CLI_WORDS_MAX 160
void slu_cli_explain_silence(const struct slu_cli_peer *peer, char ret_why[SLU_CLI_WORDS_MAX],
			     char ret_then[SLU_CLI_WORDS_MAX]);
