/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The thread that analyses kernels which launches asked about (kernels.h). It begins with the first
 * one. If it cannot begin, their launches stay unknown.
 */

/* A kernel is WANTED. With slu_cuda.lock. */
void slu_cuda_analyst_wake_locked(void);

/* In the child of a fork: there is no such thread. */
void slu_cuda_analyst_forked(void);
