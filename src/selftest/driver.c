/* SPDX-License-Identifier: Apache-2.0 */
#include "selftest/driver.h"

#include <dlfcn.h>

const char *slu_selftest_driver_open(const char *path, struct slu_selftest_driver *ret_driver)
{
	struct slu_selftest_driver driver = { .handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) };

	if (!driver.handle)
		return dlerror();
#define SLU_SELFTEST_CALL(name)                                       \
	driver.name = (__typeof__(&name))dlsym(driver.handle, #name); \
	if (!driver.name)                                             \
		return "the driver lacks " #name "()";
#include "selftest/calls.def"
#undef SLU_SELFTEST_CALL
	*ret_driver = driver;
	return NULL;
}
