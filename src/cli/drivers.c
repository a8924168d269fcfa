/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/drivers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/library.h"

#define NAME "libcuda.so.1"

struct search {
	struct slu_drivers *drivers;
	const struct slu_install *install;
};

/* Return: false, all of them are wanted. */
static bool add(void *data, const char *path)
{
	const struct search *search = data;
	struct slu_drivers *drivers = search->drivers;
	char real[PATH_MAX];

	if (access(path, R_OK) || !realpath(path, real) || drivers->n == SLU_DRIVERS_MAX ||
	    !strcmp(real, search->install->cuda))
		return false;
	for (size_t i = 0; i < drivers->n; i++)
		if (!strcmp(drivers->paths[i], real))
			return false;
	strcpy(drivers->paths[drivers->n++], real);
	return false;
}

struct slu_drivers *slu_drivers_find(const struct slu_install *install)
{
	const char *said = getenv("SLUICE_CUDA_DRIVER");
	struct slu_drivers *drivers = calloc(1, sizeof(*drivers));
	struct search search = { drivers, install };

	if (!drivers)
		return NULL;
	if (said)
		add(&search, said);
	slu_library_in_folders(NAME, getenv("LD_LIBRARY_PATH"), add, &search);
	slu_library_in_cache(NAME, add, &search);
	slu_library_in_folders(NAME, SLU_LIBRARY_USUAL_FOLDERS, add, &search);
	return drivers;
}
