/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The program that `sluice run` starts: found on PATH as execvp would find it, and looked at
 * before it starts, since what keeps our front ends out of it (no dynamic loader, set-uid, another
 * word size) can be read off its file.
 */

#include <stdbool.h>
#include <stddef.h>

enum {
	_SLU_PROGRAM_E_SUCCESS,
	SLU_PROGRAM_E_ABSENT,	 /* not found */
	SLU_PROGRAM_E_FORBIDDEN, /* found, but it may not be executed */
};

/* Finds @name. ret_path must hold PATH_MAX bytes. Return: 0, a condition above, or -errno. */
int slu_program_find(const char *name, char *ret_path, size_t size);

/*
 * Of a script its interpreter is looked at. Return: NULL if nothing is in the way, else why the
 * front ends will not get in, in words.
 */
const char *slu_program_obstacle(const char *path);

/*
 * The interpreter without which @path cannot run, if it is not there: of a script, or the loader
 * that a binary names. Return: whether one is missing; ret_path has PATH_MAX bytes.
 */
bool slu_program_lacks_interpreter(const char *path, char *ret_path);
