/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command line of a verb. */

#include "cli/verb.h"

/*
 * Reads the words into the verb's struct of @options. As argp_parse(), ends the process for --help
 * and where the words are wrong (SLU_CLI_USAGE). An unknown long option is looked for first, to say
 * which one was meant.
 */
void slu_cli_parse(const struct slu_cli_verb *verb, int argc, char **argv, void *options);

/* Calls @call for each option of @verb, those that come along as well. */
void slu_cli_each_option(const struct slu_cli_verb *verb,
			 void (*call)(void *data, const struct slu_cli_option *option), void *data);

/* Takes the words from here on as those of another program, for slu_cli_verb.take. */
char **slu_cli_take_command(struct argp_state *state);
