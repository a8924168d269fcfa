/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The environment in which a program is started. */

#include <stdbool.h>

#include "cli/install.h"

/* Puts @value in front of what the list variable @name has (behind it with @last). As setenv(). */
int slu_environment_add(const char *name, const char *value, bool last);

/* The CUDA shim gets into what is started, if it does not already. As setenv(). */
int slu_environment_add_shim(const struct slu_install *install);
