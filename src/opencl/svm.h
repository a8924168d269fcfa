/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared virtual memory of the program, for files that create objects in it.
 */

#include <stdbool.h>

/* Whether clSVMAlloc() gave @address, which is not freed yet. */
bool slu_svm_has(const void *address);
