/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Runs a launch on the interpreter; what the kernel does wrong breaks the context. */

#include "softgpu/driver/execution/command.h"

struct dev_context;

void dev_kernel_run(struct dev_context *context, const struct dev_command_kernel *kernel);
