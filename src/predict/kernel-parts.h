/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The inside of a kernel, for the files that make and evaluate it. */

#include "predict/kernel.h"
#include "predict/program.h"

struct slu_predict_kernel {
	struct slu_predict_program program;
	struct slu_predict_why why;
	uint64_t param_bytes;
};
