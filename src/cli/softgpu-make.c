/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver itself makes the device, before the program starts. A failure is explained in words;
 * cuInit() has only a few numbers for it, and leaves the true reason in errno.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/cli.h"
#include "cli/softgpu.h"

/* The numbers of cuInit() that say something about the requested device. */
enum {
	INVALID_VALUE = 1,
	NO_DEVICE = 100,
	DRIVER_MISMATCH = 803,
};

static const struct {
	int error;
	const char *what, *then;
} reasons[] = {
	{ EBADMSG, "its files are damaged", "Remove them with 'sluice softgpu reset'." },
	{ EPROTONOSUPPORT, "another version of Sluice has made it, and it is still in use",
	  "End the programs that use it first: 'sluice softgpu info' of that version has them." },
	{ EBUSY, "somebody has kept it locked for 10 s",
	  "'sluice softgpu info' has the programs that use it: is one of them stopped?" },
	{ ENOMEM, "this process gets no more memory",
	  "It takes a large range of addresses: does 'ulimit -v' leave it so much?" },
	{ EFBIG, "this process may not have files as large as its memory",
	  "Raise the limit ('ulimit -f unlimited'), or give --memory a smaller size." },
	{ EXDEV, "the clock of this process cannot be compared with that of others",
	  "It has made a time namespace: start the program as a child of it." },
};

static void complain(int result, int error)
{
	char folder[PATH_MAX], free_size[SLU_SIZE_STRING_MAX] = "nothing";
	const char *given = getenv("SLUICE_BOARDS");
	struct statvfs fs;

	if (given && *given)
		snprintf(folder, sizeof(folder), "%s", given);
	else
		snprintf(folder, sizeof(folder), "/dev/shm/sluice-%u", (unsigned)geteuid());
	if (error == ENOSPC || error == EDQUOT) {
		if (statvfs(folder, &fs) == 0)
			slu_size_format(free_size, (uint64_t)fs.f_bavail * fs.f_frsize);
		slu_cli_complain("Give --memory a smaller size, or SLUICE_BOARDS a folder with "
				 "more space. 'sluice softgpu reset' removes devices that nobody "
				 "uses.",
				 "there is no space for the software GPU's memory in %s: %s is "
				 "free.",
				 folder, free_size);
		return;
	}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(reasons); i++) {
		if (reasons[i].error != error)
			continue;
		slu_cli_complain(reasons[i].then, "the software GPU in %s cannot be used: %s.",
				 folder, reasons[i].what);
		return;
	}
	slu_cli_complain("Set SLUICE_BOARDS to a folder that is there and yours, or unset it.",
			 "the software GPU cannot be made in %s: %s (error %d).", folder,
			 error == EPERM ? "it is somebody else's, or not a folder"
					: strerror(error),
			 result);
}

/* Return: whether the trace could not be opened; the error has been printed. */
static bool complain_of_trace(void)
{
	const char *path = getenv("SLUICE_SOFTGPU_TRACE");
	int fd;

	if (!path || !*path)
		return false;
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return false;
	}
	slu_cli_complain("Set SLUICE_SOFTGPU_TRACE to a file that you may write, or unset it.",
			 "the trace %s cannot be written: %s.", path, strerror(errno));
	return true;
}

int slu_softgpu_make(const struct slu_install *install)
{
	char path[PATH_MAX + 16];
	int (*init)(unsigned);
	void *driver;
	int r, error;

	r = slu_softgpu_check_options();
	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/libcuda.so.1", install->softgpu_folder);
	driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	init = driver ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
	if (!init) {
		slu_cli_complain("Reinstall Sluice.", "the software GPU does not load: %s.",
				 dlerror());
		return SLU_CLI_FAILED;
	}
	errno = 0;
	r = init(0);
	switch (r) {
	case 0:
	case NO_DEVICE: /* they exist; CUDA_VISIBLE_DEVICES lets the program see none of them */
		return 0;
	case INVALID_VALUE:
		return slu_softgpu_complain_of_options();
	case DRIVER_MISMATCH:
		slu_cli_complain("Leave --memory, --profile and --scale out to use it, or remove "
				 "it with 'sluice softgpu reset'.",
				 "the software GPU that is there is another one than asked for.");
		return SLU_CLI_REFUSED;
	default:
		error = errno;
		if (!complain_of_trace())
			complain(r, error);
		return SLU_CLI_FAILED;
	}
}
