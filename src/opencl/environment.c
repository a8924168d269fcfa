/* SPDX-License-Identifier: Apache-2.0 */

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "opencl/environment.h"

#define VARIABLE   "OPENCL_LAYERS"
#define MANY_BYTES 65536

/* Where the string after entry @i begins, if the environment is still the kernel's block. */
static const char *next_string(size_t i)
{
	return environ[i + 1] ? environ[i + 1] : (const char *)(uintptr_t)getauxval(AT_EXECFN);
}

/*
 * The kernel lays the strings of the environment out one after the other, so the distance to the
 * next one is the length that the value had before the cuts. If the program has changed its
 * environment, the distance says nothing, and a piece with a '=' or an odd length shows that.
 */
static char *layers_rejoin(size_t i)
{
	const char *value = strchr(environ[i], '=') + 1, *end = next_string(i);
	char *whole;
	size_t n;

	if (!end || end <= value || (size_t)(end - value) > MANY_BYTES || end[-1])
		return NULL;
	n = (size_t)(end - value) - 1;
	if (memchr(value, '=', n))
		return NULL;
	whole = malloc(n + 1);
	if (!whole)
		return NULL;
	for (size_t k = 0; k < n; k++)
		whole[k] = value[k] ? value[k] : ':';
	whole[n] = '\0';
	return whole;
}

void slu_environment_restore(const char *self)
{
	const char *value = getenv(VARIABLE);
	slu_cleanup(slu_freep) char *whole = NULL;
	size_t length = strlen(VARIABLE);

	if (!value || strstr(value, self))
		return;
	for (size_t i = 0; environ[i]; i++)
		if (!strncmp(environ[i], VARIABLE, length) && environ[i][length] == '=')
			whole = layers_rejoin(i);
	if (whole && strstr(whole, self)) {
		setenv(VARIABLE, whole, 1);
		return;
	}
	/* at least ourselves, nearest the program */
	free(whole);
	whole = malloc(strlen(value) + strlen(self) + 2);
	if (!whole)
		return;
	strcpy(stpcpy(stpcpy(whole, value), ":"), self);
	setenv(VARIABLE, whole, 1);
}
