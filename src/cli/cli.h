/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The command `sluice`: exit codes, and how it speaks to people. verb.h has its commands. Errors
 * say what happened, why, and what to do, one line each, on stderr.
 */

/* Exit codes of ours; `run` otherwise ends with the program's own. Documented in sluice(1). */
enum slu_cli_exit {
	SLU_CLI_OK = 0,
	SLU_CLI_USAGE = 120, /* the words on the command line are wrong */
	SLU_CLI_NO_DAEMON,   /* nobody answers at the socket */
	SLU_CLI_REFUSED,     /* the daemon said no: no such program, not yours, a bad value */
	SLU_CLI_TROUBLE,     /* doctor found something that keeps Sluice from working */
	SLU_CLI_FAILED,	     /* anything else that went wrong on our side */
	SLU_CLI_WAITED,	     /* run --wait: the time is over */
	SLU_CLI_CANNOT_EXECUTE = 126,
	SLU_CLI_NOT_FOUND = 127,
};

/* Prints "sluice: " and the line, then each of the further lines; NULL lines are left out. */
void slu_cli_complain(const char *why_and_what_to_do, const char *what, ...)
	__attribute__((__format__(__printf__, 2, 3)));
