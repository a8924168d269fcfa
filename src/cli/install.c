/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/install.h"

/* Fills @ret with "@folder/@file" if that exists. */
static void find(char ret[PATH_MAX], const char *folder, const char *file)
{
	slu_cleanup(slu_freep) char *path = NULL;

	ret[0] = '\0';
	if (asprintf(&path, "%s/%s", folder, file) < 0 || !realpath(path, ret))
		ret[0] = '\0';
}

static const char *folder_said(void)
{
	const char *said = getenv("SLUICE_LIBDIR");

	return said && *said ? said : NULL;
}

const char *slu_install_advice(void)
{
	return folder_said()
		       ? "SLUICE_LIBDIR says so: set it to the folder that has them, or "
			 "unset it."
		       : "Reinstall Sluice, or set SLUICE_LIBDIR to the folder that has them.";
}

/* A build tree keeps each library in the folder of its source; installed, the runtime and NVML are
 * where the driver is. */
static const struct {
	size_t field;
	const char *installed;
	const char *built;
} places[] = {
#define PLACE(field, installed, built)                                \
	{                                                             \
		offsetof(struct slu_install, field), installed, built \
	}
	PLACE(opencl, "libsluice-opencl.so", "../opencl/libsluice-opencl.so"),
	PLACE(limiter, "libsluice-limiter.so", "../../devices/limiter/libsluice-limiter.so"),
	PLACE(cuda_folder, "cuda", "../cuda"),
	PLACE(cuda, "cuda/libcuda.so.1", "../cuda/libcuda.so.1"),
	PLACE(softgpu_folder, "softgpu", "../../devices/softgpu"),
	PLACE(cudart_folder, NULL, "../../devices/cudart"),
	PLACE(nvml_folder, NULL, "../../devices/nvml"),
#undef PLACE
};

static void find_libraries(struct slu_install *i, const char *folder, bool is_built)
{
	for (size_t n = 0; n < SLU_ARRAY_SIZE(places); n++) {
		const char *file = is_built ? places[n].built : places[n].installed;

		if (file)
			find((char *)i + places[n].field, folder, file);
	}
	snprintf(i->looked, sizeof(i->looked), "%s", folder);
}

void slu_install_find(struct slu_install *ret_install)
{
	struct slu_install *i = ret_install; /* large, so not a second one on the stack */
	const char *said = folder_said();
	char folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	*i = (struct slu_install){ 0 };
	if (n > 0) {
		folder[n] = '\0';
		*strrchr(folder, '/') = '\0';
	} else {
		strcpy(folder, "/usr/bin");
	}
	find(i->daemon, folder, "sluiced");
	if (said) {
		find_libraries(i, said, false);
	} else {
		find_libraries(i, folder, true);
		if (!i->daemon[0])
			find(i->daemon, folder, "../daemon/sluiced");
		if (!i->opencl[0] && !i->cuda[0])
			find_libraries(i, SLU_LIBDIR, false);
	}
}
