/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A command of `sluice`, as data: its options, the words behind them and its help. The command
 * line,
 * --help and the shell's completion come from it. A command is one file verb-NAME.c and one row in
 * wire/commands.def.
 */

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

/* How the argument of an option is read, and what it becomes in the struct of options. */
enum slu_cli_kind {
	SLU_CLI_FLAG,  /* bool: no argument */
	SLU_CLI_TEXT,  /* const char * */
	SLU_CLI_PATH,  /* const char *: not empty */
	SLU_CLI_NAME,  /* const char *: of a program, no longer than a message carries */
	SLU_CLI_COUNT, /* unsigned long: from 1 */
	SLU_CLI_TIME,  /* uint64_t: nanoseconds, from 1 ms */
	SLU_CLI_SIZE,  /* uint64_t: bytes, from 1 */
};

/* What completion offers: words with blanks between them, or one of these. */
#define SLU_CLI_OFFERS_COMMAND	"@command" /* another program with words of its own */
#define SLU_CLI_OFFERS_FILES	"@files"
#define SLU_CLI_OFFERS_PROGRAMS "@programs" /* those that the daemon knows */
#define SLU_CLI_OFFERS_SETTINGS "@settings" /* one of them, then its values */

struct slu_cli_option {
	const char *name;   /* long; NULL ends a list */
	int key;	    /* the letter, or 0 */
	const char *arg;    /* the argument in help, NULL for a flag */
	const char *doc;    /* in help */
	size_t at;	    /* offset in the struct of options */
	const char *offers; /* for the argument; NULL: nothing */
	enum slu_cli_kind kind;
};

/* Which options come along: the struct of options then begins with a struct slu_cli_where. */
enum slu_cli_asks {
	SLU_CLI_ASKS_NOBODY,
	SLU_CLI_ASKS_DAEMON, /* --system, --socket */
	SLU_CLI_ASKS_FACTS,  /* and --json */
};

struct slu_cli_command;

struct slu_cli_verb {
	const struct slu_cli_option *options; /* NULL: none of its own */
	enum slu_cli_asks asks;
	const char *args_doc, *doc; /* as argp has them */

	/* A word behind the options. NULL: there may be none. */
	void (*take)(void *options, char *word, struct argp_state *state);
	const char *offers;  /* for these words; NULL: nothing */
	const char *missing; /* the error if there is none; NULL: there may be none */
	bool takes_numbers;  /* what looks like an option, such as -5s, is a word */
	/* The last check of the options. May be NULL. */
	void (*check)(const void *options, struct argp_state *state);

	/* argv[0] is "sluice NAME". Return: the exit code. */
	int (*run)(int argc, char **argv);
	const struct slu_cli_command
		*parts; /* commands of this one, or NULL; ended by a NULL name */
};

struct slu_cli_command {
	const char *name;
	const char *summary; /* a line in help; NULL for a part of a command */
	const struct slu_cli_verb *verb;
	bool is_common;
};

/* Ended by a NULL name. */
extern const struct slu_cli_command slu_cli_commands[];

#define SLU_COMMAND(name, rank, asks, users, summary) \
	extern const struct slu_cli_verb slu_cli_##name;
#define SLU_REQUEST(name, users)
#include "wire/commands.def"
#undef SLU_COMMAND
#undef SLU_REQUEST
