/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/install.h"

/* Fills @ret with "@folder/@file" if that is there. */
static void find(char ret[PATH_MAX], const char *folder, const char *file)
{
	char path[2 * PATH_MAX];

	ret[0] = '\0';
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (access(path, F_OK) || !realpath(path, ret))
		ret[0] = '\0';
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
	struct slu_install i = { 0 };
	const char *said = getenv("SLUICE_LIBDIR");
	char folder[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1);

	if (n > 0) {
		folder[n] = '\0';
		*strrchr(folder, '/') = '\0';
	} else {
		strcpy(folder, "/usr/bin");
	}
	find(i.daemon, folder, "sluiced");
	if (said) {
		find_in(&i, said);
	} else {
		/* a build tree keeps each library in the folder of its source */
		find(i.opencl, folder, "../opencl/libsluice-opencl.so");
		find(i.limiter, folder, "../limiter/libsluice-limiter.so");
		find(i.cuda_folder, folder, "../cuda");
		find(i.cuda, folder, "../cuda/libcuda.so.1");
		find(i.softgpu_folder, folder, "../softgpu");
		find(i.cudart_folder, folder, "../cudart");
		find(i.nvml_folder, folder, "../nvml");
		snprintf(i.looked, sizeof(i.looked), "%s", folder);
		if (!i.daemon[0])
			find(i.daemon, folder, "../daemon/sluiced");
		if (!i.opencl[0] && !i.cuda[0])
			find_in(&i, SLU_LIBDIR);
	}
	*ret_install = i;
}
