/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The functions of a driver that the self-test calls, by dlsym() from the file at a path. */

#include "cuabi/cuda-calls.h"

struct slu_selftest_driver {
	void *handle;
#define SLU_SELFTEST_CALL(name) __typeof__(&name) name;
#include "selftest/calls.def"
#undef SLU_SELFTEST_CALL
};

/* Return: NULL, or the reason in words why the driver cannot be used; the text is static or the
 * loader's. */
const char *slu_selftest_driver_open(const char *path, struct slu_selftest_driver *ret_driver);
