/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Why a kernel was ended, for people who asked: SLUICE_LOG is "stderr" or a path to append to. The
 * interface itself has room for a number only.
 */

#include "ptx/ptx.h"
#include "softgpu/interp/interp.h"

/* One line about @fault; @module is what the kernel is from. */
void slu_report_fault(const struct slu_ptx_module *module, const struct slu_interp_fault *fault);
