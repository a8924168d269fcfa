/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `sluice park --deep`, and what `sluice unpark` does with programs that it suspended. The driver
 * is called in a child of this command, with the user's own rights; the daemon hears of each step
 * (docs/control.md), so that it makes the program rest before and finds memory for it afterwards.
 */

#include <jansson.h>
#include <stdbool.h>

#include "cli/ask.h"

/* Suspends what @program names, or all. Return: the exit code, after having said what happened. */
int slu_suspend_programs(const struct slu_cli_where *where, const char *program, bool all);

/*
 * Brings back the programs in @suspended, as the daemon lists them. Return: as above.
 */
int slu_suspend_bring_back(const struct slu_cli_where *where, const json_t *suspended);

/* The same for a process that is not one of Sluice's. @is_back: bring it back. */
int slu_suspend_process(const struct slu_cli_where *where, int pid, bool is_back);
