/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Why a kernel, a copy or a set was ended or refused, for people who asked: SLUICE_LOG is "stderr"
 * or a path to append to. The interface itself has a number only.
 *
 * Programs that check nothing go on with wrong results. SLUICE_SOFTGPU_REPORT=once, which `sluice
 * softgpu run` sets, therefore tells the first fault of a process on stderr whatever SLUICE_LOG
 * says. Without it nothing is written that nobody asked for.
 */

#include "ptx/ptx.h"
#include "softgpu/interp/interp.h"

/* One line about @fault; @module is what the kernel is from. */
void dev_report_fault(const struct slu_ptx_module *module, const struct dev_interp_fault *fault);

/* A kernel that cannot be launched. */
void dev_report_launch(const char *kernel, const struct slu_ptx_error *error);

/* A launch that cannot be: its grid, its blocks or their memory. */
void dev_report_refusal(const char *kernel, const char *why);

/*
 * A copy, or with @src 0 a set, of @bytes: refused by the call that asked for it because @what of
 * it is not there, or ended because memory was unmapped meanwhile (@what is NULL).
 */
void dev_report_copy(uint64_t dst, uint64_t src, uint64_t bytes, const char *what);

/* A module that was not loaded; @has_reason if the program asked for the reason and has it. */
void dev_report_image(const char *why, bool has_reason);
