/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/drivers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "/libcuda.so.1"

static void add(struct slu_drivers *drivers, const struct slu_install *install, const char *path)
{
	char real[PATH_MAX];

	if (access(path, R_OK) || !realpath(path, real) || drivers->n == SLU_DRIVERS_MAX ||
	    !strcmp(real, install->cuda))
		return;
	for (size_t i = 0; i < drivers->n; i++)
		if (!strcmp(drivers->paths[i], real))
			return;
	strcpy(drivers->paths[drivers->n++], real);
}

static void add_folders(struct slu_drivers *drivers, const struct slu_install *install,
			const char *folders)
{
	while (folders && *folders) {
		size_t n = strcspn(folders, ":");
		char path[PATH_MAX];

		if (n && (size_t)snprintf(path, sizeof(path), "%.*s" NAME, (int)n, folders) <
				 sizeof(path))
			add(drivers, install, path);
		folders += n + (folders[n] == ':');
	}
}

/* The strings of the loader's cache that are paths with the driver's name: see cuda/real.c. */
static void add_cached(struct slu_drivers *drivers, const struct slu_install *install)
{
	FILE *cache = fopen("/etc/ld.so.cache", "re");
	char *text = NULL;
	size_t size = 0;
	ssize_t n;

	if (!cache)
		return;
	while ((n = getdelim(&text, &size, '\0', cache)) > 0) {
		size_t length = strlen(text);

		if (text[0] == '/' && length > strlen(NAME) &&
		    !strcmp(text + length - strlen(NAME), NAME))
			add(drivers, install, text);
	}
	free(text);
	fclose(cache);
}

struct slu_drivers *slu_drivers_find(const struct slu_install *install)
{
	const char *said = getenv("SLUICE_CUDA_DRIVER");
	struct slu_drivers *drivers = calloc(1, sizeof(*drivers));

	if (!drivers)
		return NULL;
	if (said)
		add(drivers, install, said);
	add_folders(drivers, install, getenv("LD_LIBRARY_PATH"));
	add_cached(drivers, install);
	add_folders(drivers, install,
		    "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:"
		    "/usr/lib/wsl/lib:/usr/local/cuda/compat");
	return drivers;
}
