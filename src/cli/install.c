/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/install.h"

/* Fills @ret with "@folder/@file" if that is there. */
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

static void find_in(struct slu_install *i, const char *libraries)
{
	find(i->opencl, libraries, "libsluice-opencl.so");
	find(i->limiter, libraries, "libsluice-limiter.so");
	find(i->cuda_folder, libraries, "cuda");
	find(i->cuda, libraries, "cuda/libcuda.so.1");
	find(i->softgpu_folder, libraries, "softgpu");
	snprintf(i->looked, sizeof(i->looked), "%s", libraries);
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
		find_in(i, said);
	} else {
		/* a build tree keeps each library in the folder of its source */
		find(i->opencl, folder, "../opencl/libsluice-opencl.so");
		find(i->limiter, folder, "../limiter/libsluice-limiter.so");
		find(i->cuda_folder, folder, "../cuda");
		find(i->cuda, folder, "../cuda/libcuda.so.1");
		find(i->softgpu_folder, folder, "../softgpu");
		find(i->cudart_folder, folder, "../cudart");
		find(i->nvml_folder, folder, "../nvml");
		snprintf(i->looked, sizeof(i->looked), "%s", folder);
		if (!i->daemon[0])
			find(i->daemon, folder, "../daemon/sluiced");
		if (!i->opencl[0] && !i->cuda[0])
			find_in(i, SLU_LIBDIR);
	}
}
