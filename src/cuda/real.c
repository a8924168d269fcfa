/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/library.h"
#include "base/util.h"

#define DRIVER "libcuda.so.1"

void *slu_real_table[_SLU_CUNAME_MAX];

static struct {
	pthread_once_t once;
	void *handle; /* constant after once */
} driver = { .once = PTHREAD_ONCE_INIT };

static CUresult no_driver(void)
{
	return CUDA_ERROR_NO_DEVICE;
}

static CUresult no_symbol(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

/* Our own file, however it was reached: by link, by another path. */
static bool file_is_ourselves(const struct stat *st)
{
	static struct stat own;
	Dl_info info;

	if (!own.st_ino && (!dladdr((void *)slu_real_resolve, &info) || stat(info.dli_fname, &own)))
		return false;
	return st->st_dev == own.st_dev && st->st_ino == own.st_ino;
}

/* A second copy of the shim (another build, an installed one) brings our client along; no driver
 * does. */
static bool driver_is_shim(void *handle)
{
	return dlsym(handle, "slu_client_device_add") != NULL;
}

static bool driver_try_path(void *data, const char *path)
{
	char file[PATH_MAX];
	struct stat st;
	void *handle;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || file_is_ourselves(&st))
		return false;
	/* a path with a slash is opened as that file, whatever has the same SONAME already */
	if (!realpath(path, file))
		return false;
	handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (handle && !driver_is_shim(handle)) {
		driver.handle = handle;
		return true;
	}
	if (handle)
		dlclose(handle);
	return false;
}

static void driver_open(void)
{
	int saved = errno;
	const char *said = secure_getenv("SLUICE_CUDA_DRIVER");

	if (said)
		driver_try_path(NULL, said);
	else if (!slu_library_in_folders(DRIVER, secure_getenv("LD_LIBRARY_PATH"), driver_try_path,
					 NULL) &&
		 !slu_library_in_cache(DRIVER, driver_try_path, NULL))
		slu_library_in_folders(DRIVER, SLU_LIBRARY_USUAL_FOLDERS, driver_try_path, NULL);
	errno = saved;
}

static void *symbol_lookup(unsigned id)
{
	pthread_once(&driver.once, driver_open);
	return driver.handle ? dlsym(driver.handle, slu_cunames[id].symbol) : NULL;
}

void *slu_real_resolve(unsigned id)
{
	void *found = symbol_lookup(id);

	if (!found)
		found = driver.handle ? (void *)no_symbol : (void *)no_driver;
	/* every thread that gets here writes the same value */
	__atomic_store_n(&slu_real_table[id], found, __ATOMIC_RELAXED);
	return found;
}

bool slu_real_has(unsigned id)
{
	void *p = slu_real_get(id);

	return p != (void *)no_symbol && p != (void *)no_driver;
}
