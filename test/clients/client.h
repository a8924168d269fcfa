/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the small programs have in common, whatever API they use: their command line, the exit
 * statuses that mean the same in all of them, and how a test holds them up.
 */

#include <stdbool.h>
#include <stdint.h>

enum client_exit {
	CLIENT_EXIT_RIGHT, /* everything was as it should be */
	CLIENT_EXIT_WRONG, /* contents were wrong */
	CLIENT_EXIT_USAGE, /* the command line was */
};

/* One option; of number, flag and word one is not NULL. */
struct client_option {
	char letter;
	const char *name;
	uint64_t *number;
	uint64_t min, max;
	bool *flag;
	const char **word;
};

#define CLIENT_NUMBER(letter, name, variable, min, max)         \
	{                                                       \
		letter, name, &(variable), min, max, NULL, NULL \
	}
#define CLIENT_FLAG(letter, name, variable)                 \
	{                                                   \
		letter, name, NULL, 0, 0, &(variable), NULL \
	}
#define CLIENT_WORD(letter, name, variable)                 \
	{                                                   \
		letter, name, NULL, 0, 0, NULL, &(variable) \
	}

/*
 * Reads the command line; @options end with an empty one. -h and --help print @usage and end, and
 * so does what is wrong. Return: the only word that is no option, or NULL.
 */
const char *client_options(int argc, char **argv, const struct client_option *options,
			   const char *usage);

/* Says what the command line should be, and ends. */
_Noreturn void client_misused(const char *usage);

/* Prints 'ready' and waits for the end of standard input. */
void client_wait(void);

/* Whether nothing is to be read from standard input, nor its end. */
bool client_input_is_quiet(void);
