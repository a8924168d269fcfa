/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int slu_environment_add(const char *name, const char *value, bool last)
{
	const char *old = getenv(name);
	char *joined;
	int r;

	if (!old || !*old)
		return setenv(name, value, 1);
	if (asprintf(&joined, "%s:%s", last ? old : value, last ? value : old) < 0)
		return -1;
	r = setenv(name, joined, 1);
	free(joined);
	return r;
}

int slu_environment_add_shim(const struct slu_install *install)
{
	const char *preloaded = getenv("LD_PRELOAD");

	if (!install->cuda[0] || (preloaded && strstr(preloaded, install->cuda)))
		return 0;
	/*
	 * preloaded for programs that ask for libcuda.so.1; the folder for those that ask for
	 * libcuda.so
	 */
	if (slu_environment_add("LD_PRELOAD", install->cuda, false))
		return -1;
	return slu_environment_add("LD_LIBRARY_PATH", install->cuda_folder, false);
}
