/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Runs a launch on the interpreter; what the kernel does wrong breaks the context. */

#include "softgpu/driver/command.h"

struct slu_context;

void slu_kernel_run(struct slu_context *context, const struct slu_command_kernel *kernel);
