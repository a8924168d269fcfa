/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which CUDA runtime a program brings along. NVIDIA's authenticates the driver beneath it and so
 * does not work on the software GPU; whoever has it linked in should know why before it fails.
 */

#include "cli/install.h"

/* Says on stderr what to do if the program at @path has a runtime that cannot work; else nothing.
 */
void slu_cudart_hint(const char *path, const struct slu_install *install);
