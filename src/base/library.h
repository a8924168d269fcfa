/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the loader would find a library, without asking it to open one: for who stands in front of
 * a library of the same name. @offer gets each path that may be one, in order, until it returns
 * true. Return: whether it did.
 */

#include <stdbool.h>

/* Where drivers lie on usual systems, whatever the loader's cache says; as in LD_LIBRARY_PATH. */
#define SLU_LIBRARY_USUAL_FOLDERS                                                   \
	"/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:" \
	"/usr/lib/wsl/lib:/usr/local/cuda/compat"

/* @folders: as in LD_LIBRARY_PATH; may be NULL. */
bool slu_library_in_folders(const char *name, const char *folders,
			    bool (*offer)(void *data, const char *path), void *data);

/* In the loader's cache. */
bool slu_library_in_cache(const char *name, bool (*offer)(void *data, const char *path),
			  void *data);
