/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * OPENCL_LAYERS for the children of the program. ocl-icd cuts the variable at its colons in the
 * process's own environment while it reads it, so a child would get the first layer only. We put
 * the whole value back, in new memory, because the loader is still reading the old.
 */

/* @self: a name that is part of the whole value, e.g. this layer's file. */
void slu_environment_restore(const char *self);
