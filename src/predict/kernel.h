/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What each launch of a kernel touches, known before it runs: from its PTX, once, comes a small
 * program; from that and a launch's arguments and sizes come ranges of bytes. Pure.
 *
 *   slu_predict_kernel_new()       once a kernel: any thread, milliseconds
 *   slu_predict_sheet_evaluate()   every launch (sheet.h): no allocation, no lock
 *
 * The answer is sound: a launch of exactly this PTX touches no byte outside of its sets. Reads and
 * writes are known each by itself; where one is not, @why says so. The ranges say nothing about
 * memory that is the launch's own (shared, local, parameters) and nothing about whether a byte
 * belongs to an allocation.
 *
 * docs/predict.md says how it works and what each rule rests on.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predict/reason.h"
#include "ptx/ptx.h"

struct slu_predict_kernel;

/* Why something is unknown: the reason, and the line of the PTX text (0: none). */
struct slu_predict_why {
	enum slu_predict_reason reason;
	uint32_t line;
};

/*
 * Return: 0 or -ENOMEM. A kernel of which nothing is known is a kernel too. The module is not
 * needed afterwards.
 */
int slu_predict_kernel_new(const struct slu_ptx_module *module,
			   const struct slu_ptx_function *function,
			   struct slu_predict_kernel **ret_kernel);
void slu_predict_kernel_free(struct slu_predict_kernel *kernel);

/* Not more ranges than this come from one launch. */
size_t slu_predict_kernel_n_ranges(const struct slu_predict_kernel *kernel);
/* Ops of its program: what an evaluation costs. */
size_t slu_predict_kernel_n_ops(const struct slu_predict_kernel *kernel);

struct slu_predict_launch {
	const void *params;
	size_t param_bytes;
	uint32_t grid[3];
	uint32_t block[3];
	/* addresses of the module's variables, by their index; 0 for those that are not known.
	 * May be NULL. */
	const uint64_t *variables;
	size_t n_variables;
};

#define SLU_PREDICT_MAX_LEVELS 3

/*
 * @bytes at @address, repeated: levels[0].count times with levels[0].stride between them, all of
 * that levels[1].count times, and so on; of all this, what lies in [@from, @to). Fixed and linear
 * ranges have no levels.
 */
struct slu_predict_range {
	uint64_t from, to;
	uint64_t address;
	uint64_t bytes;
	unsigned n_levels;
	struct {
		uint64_t stride;
		uint64_t count; /* at least 2 */
	} levels[SLU_PREDICT_MAX_LEVELS];
	bool is_read;
	bool is_written;
};

struct slu_predict_set {
	struct slu_predict_range *ranges;
	size_t n_ranges;
	/* NONE: all reads (writes) are in @ranges; else some are not */
	struct slu_predict_why why_reads;
	struct slu_predict_why why_writes;
};
