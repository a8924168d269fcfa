/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Shared virtual memory of the program (svm.c), for who makes objects in it.
 */

#include <stdbool.h>

/* Whether clSVMAlloc() gave @address, which is not freed yet. */
bool slu_svm_is_there(const void *address);
