/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `sluice --complete [COMMAND [PART]]`: what the shell's completion has to know, a line each:
 *
 *   word|NAME                        a command, a part of one, or an option of `sluice` itself
 *   option|--LONG|-S|takes|OFFERS    -S may be empty; "takes" is empty for a flag
 *   words|OFFERS                     for the words behind the options
 *
 * Return: the exit code.
 */
int slu_cli_complete(int n_words, char **words);
