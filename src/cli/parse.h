/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The command line of a verb. */

#include <argp.h>

/*
 * As argp_parse(), which ends the process where the words are wrong (SLU_CLI_USAGE). An unknown
 * long option is looked for first, to say which one was meant.
 */
void slu_cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input);
