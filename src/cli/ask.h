/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One question to the daemon: JSON there, JSON back, each in a passed memory file
 * (docs/control.md). Complains by itself, so that every verb says the same thing the same way.
 */

#include <argp.h>
#include <jansson.h>

struct slu_cli_where {
	const char *socket; /* --socket, or NULL: the usual place */
	int is_system;	    /* --system */
};

/* The options --system and --socket, as a child parser whose input is a struct slu_cli_where. */
extern const struct argp slu_cli_where_argp;

/*
 * Asks @request (taken over) and fills *ret_reply (the caller's to free).
 * Return: 0, or the exit code after having complained.
 */
int slu_cli_ask(const struct slu_cli_where *where, json_t *request, json_t **ret_reply);

/*
 * The same without a word to anybody. Return: 0, -errno if nobody answers, SLU_CLI_E_REFUSED with
 * the daemon's own words in *ret_reply.
 */
enum { _SLU_CLI_E_SUCCESS, SLU_CLI_E_REFUSED };

int slu_cli_try(const struct slu_cli_where *where, json_t *request, json_t **ret_reply);

/* Connects to the daemon without complaining. Return: fd, or -errno; @ret_path gets the socket's
 * path. */
int slu_cli_connect(const struct slu_cli_where *where, char *ret_path, size_t size);
