/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The place where launches of one kernel are evaluated. As a spreadsheet, it keeps what the last
 * evaluation computed, and computes again only what depends on an argument or a size that changed:
 * most launches of a program differ from the one before in a pointer or two, or not at all. The
 * answer is the same as from a fresh sheet.
 *
 * One thread at a time. The kernel outlives its sheets.
 */

#include "predict/kernel.h"

struct slu_predict_sheet;

/* Return: 0 or -ENOMEM. */
int slu_predict_sheet_new(const struct slu_predict_kernel *kernel,
			  struct slu_predict_sheet **ret_sheet);
void slu_predict_sheet_free(struct slu_predict_sheet *sheet);

/* What the launch touches; valid until the next evaluation. No allocation, no lock. */
const struct slu_predict_set *slu_predict_sheet_evaluate(struct slu_predict_sheet *sheet,
							 const struct slu_predict_launch *launch);
