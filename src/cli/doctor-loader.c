/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL loader of this machine and the files that it reads. Every loader that knows layers
 * takes them from OPENCL_LAYERS; some also read files that name layers (*.lay), as a trial shows.
 * Loaders silently ignore a file that names a driver (*.icd) or a layer which cannot be loaded; the
 * doctor reports it.
 */

#define CL_TARGET_OPENCL_VERSION 300

#include <CL/cl.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/attach.h"
#include "cli/doctor.h"

#define LOADER	      "libOpenCL.so.1"
#define DRIVER_FOLDER "/etc/OpenCL/vendors"
#define LAYER_FOLDER  "/etc/OpenCL/layers"

/* A query of clGetICDLoaderInfoOCLICD(): ocl-icd's own, which Khronos' loader has too. */
enum { ICDL_VERSION = 2, ICDL_NAME = 3, ICDL_VENDOR = 4 };

/* -- who it is -------------------------------------------------------------------------------- */

static void say_who(struct slu_doctor *d, void *loader)
{
	char version[64] = "", name[64] = "OpenCL loader", vendor[64] = "", from[80] = "";
	void *(*address)(const char *) = dlsym(loader, "clGetExtensionFunctionAddress");
	cl_int (*info)(cl_uint, size_t, void *, size_t *) =
		address ? address("clGetICDLoaderInfoOCLICD") : NULL;
	Dl_info where = { 0 };

	if (info) {
		info(ICDL_VERSION, sizeof(version) - 1, version, NULL);
		info(ICDL_NAME, sizeof(name) - 1, name, NULL);
		info(ICDL_VENDOR, sizeof(vendor) - 1, vendor, NULL);
	}
	if (vendor[0])
		snprintf(from, sizeof(from), " (%s)", vendor);
	dladdr(dlsym(loader, "clGetPlatformIDs"), &where);
	slu_doctor_say(d, SLU_VERDICT_FINE, "opencl", NULL, "loader: %s: %s%s%s%s",
		       where.dli_fname ? where.dli_fname : LOADER, name, version[0] ? " " : "",
		       version, from);
}

static void look_at_name(struct slu_doctor *d, const char *what)
{
	void *loader = dlopen(what, RTLD_NOW | RTLD_LOCAL);

	if (loader)
		say_who(d, loader);
}

/* With a folder in OPENCL_LAYER_PATH whose only file names our layer. */
static void look_at_reading(struct slu_doctor *d, const char *what)
{
	void *loader = dlopen(what, RTLD_NOW | RTLD_LOCAL);
	cl_int (*platform_ids)(cl_uint, cl_platform_id *, cl_uint *);
	struct slu_attach_view view;
	cl_uint n = 0;

	platform_ids = loader ? dlsym(loader, "clGetPlatformIDs") : NULL;
	/* without a platform no loader looks at layers */
	if (!platform_ids || platform_ids(0, NULL, &n) || !n)
		return;
	slu_attach_look(getpid(), &d->install, &view);
	slu_doctor_say(d, SLU_VERDICT_FINE, "opencl", NULL,
		       view.has_layer ? "  it reads OPENCL_LAYERS and the files in " LAYER_FOLDER
					"; 'sluice run' sets the variable and needs no file"
				      : "  it reads no files in " LAYER_FOLDER
					"; 'sluice run' sets OPENCL_LAYERS and needs none");
}

/* Return: whether a file in @folder names @layer. */
static bool write_file(const char *folder, const char *layer)
{
	slu_cleanup(slu_freep) char *path = NULL;
	FILE *f;

	if (asprintf(&path, "%s/sluice.lay", folder) < 0)
		return false;
	f = fopen(path, "we");
	if (!f)
		return false;
	fprintf(f, "%s\n", layer);
	return !fclose(f);
}

static void remove_folder(const char *folder)
{
	slu_cleanup(slu_freep) char *path = NULL;

	if (asprintf(&path, "%s/sluice.lay", folder) > 0)
		unlink(path);
	rmdir(folder);
}

static void restore(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/*
 * A process that removes the folder when this one closes @ret_end, or ends before that, by Ctrl-C
 * perhaps.
 */
static pid_t cleaner_start(const char *folder, int *ret_end)
{
	int ends[2];
	pid_t cleaner;
	char byte;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	cleaner = fork();
	if (!cleaner) {
		setsid();
		close(ends[1]);
		while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
			;
		remove_folder(folder);
		_exit(0);
	}
	close(ends[0]);
	*ret_end = ends[1];
	return cleaner;
}

static void try_files(struct slu_doctor *d)
{
	slu_cleanup(slu_freep) char *layers = NULL, *files = NULL;
	const char *old_layers = getenv("OPENCL_LAYERS"), *old_files = getenv("OPENCL_LAYER_PATH");
	char folder[] = "/tmp/sluice-doctor-XXXXXX";
	pid_t cleaner;
	int end = -1;

	if (old_layers)
		layers = strdup(old_layers);
	if (old_files)
		files = strdup(old_files);
	if (!mkdtemp(folder))
		return;
	cleaner = cleaner_start(folder, &end);
	if (cleaner > 0 && write_file(folder, d->install.opencl)) {
		unsetenv("OPENCL_LAYERS");
		setenv("OPENCL_LAYER_PATH", folder, 1);
		slu_doctor_try(d, "opencl", LOADER, look_at_reading);
		restore("OPENCL_LAYERS", layers);
		restore("OPENCL_LAYER_PATH", files);
	}
	if (end >= 0)
		close(end);
	if (cleaner <= 0 || waitpid(cleaner, NULL, 0) != cleaner)
		remove_folder(folder);
}

/* -- the files that it reads ------------------------------------------------------------------ */

static bool ends_in(const char *name, const char *ending)
{
	size_t n = strlen(name), m = strlen(ending);

	return n > m && !strcmp(name + n - m, ending);
}

/* In a child: checks the library that the first line of @path names. */
static void look_at_file(struct slu_doctor *d, const char *path)
{
	slu_cleanup(slu_freep) char *line = NULL;
	FILE *f = fopen(path, "re");
	const char *error;
	size_t size = 0;

	if (!f || getline(&line, &size, f) <= 0) {
		slu_doctor_say(d, SLU_VERDICT_NOTE, "opencl", "Remove it, or mend it.",
			       "%s names nothing", path);
		return;
	}
	line[strcspn(line, "\r\n")] = '\0';
	if (dlopen(line, RTLD_LAZY | RTLD_LOCAL))
		return;
	error = dlerror();
	slu_doctor_say(d, SLU_VERDICT_NOTE, "opencl",
		       "Programs do not get what it stands for: install that library again, or "
		       "remove the file.",
		       "%s: %s", path, error ? error : line);
}

static void look_at_files(struct slu_doctor *d, const char *folder, const char *ending)
{
	DIR *files = opendir(folder);
	struct dirent *file;

	while (files && (file = readdir(files))) {
		slu_cleanup(slu_freep) char *path = NULL;

		if (ends_in(file->d_name, ending) &&
		    asprintf(&path, "%s/%s", folder, file->d_name) > 0)
			slu_doctor_try(d, "opencl", path, look_at_file);
	}
	if (files)
		closedir(files);
}

static const char *folder_of_drivers(void)
{
	const char *said = getenv("OCL_ICD_VENDORS");
	struct stat there;

	/* some loaders accept a file or a library: then no folder is read */
	if (said && *said)
		return !stat(said, &there) && S_ISDIR(there.st_mode) ? said : NULL;
	said = getenv("OPENCL_VENDOR_PATH");
	return said && *said ? said : DRIVER_FOLDER;
}

void slu_doctor_loader(struct slu_doctor *d)
{
	const char *drivers = folder_of_drivers(), *layers = getenv("OPENCL_LAYER_PATH");

	unsigned n_bad = d->n_bad;

	slu_doctor_try(d, "opencl", LOADER, look_at_name);
	if (d->n_bad == n_bad && d->install.opencl[0])
		try_files(d);
	if (drivers)
		look_at_files(d, drivers, ".icd");
	look_at_files(d, layers ? layers : LAYER_FOLDER, ".lay");
}
