/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The truth about a launch: which pages it read and wrote. Two want to know it.
 *
 *   - Kernels that reach the host's memory pay for the way: every page of mapped host memory that a
 *     launch touched crosses the bus once, in the direction of the access, and so does every byte
 *     of pinned memory that it touched.
 *   - With SLUICE_SOFTGPU_TRACE=FILE each launch is written there, as text, in one piece:
 *
 *       launch PID NUMBER KERNEL GX GY GZ BX BY BZ START_NS END_NS PAGE_BYTES READ WRITTEN N
 *       r ADDRESS PAGES         pages that were read only; w: written only; x: both
 *       lost PID N              instead of N launches that could not be written
 *
 *     READ and WRITTEN are bytes of the host, N is how many lines of pages follow: who reads less
 *     has a launch that was cut short. (tools/softgpu-trace reads it.) Kernels of a process then
 *     run one at a time, so that what was touched is one launch's. Where there is no space for what
 *     is needed to know the pages, cuInit() fails: a trace without them would be no truth.
 */

#include <stdint.h>

#include "softgpu/driver/card.h"
#include "softgpu/driver/execution/command.h"
#include "softgpu/interp/interp.h"

struct dev_truth {
	struct dev_card *card;
	bool is_traced;
	bool is_charged;
	uint64_t range_bytes[2]; /* of pinned memory: read, written */
};

/* Opens the trace, if there shall be one. */
int dev_truth_init(void);

/* The same for what it needs when the window is there. */
int dev_truth_prepare(void);

/* Before a launch, whose view of memory becomes @memory. */
void dev_truth_begin(struct dev_truth *ret_truth, struct dev_card *card,
		     struct dev_interp_memory *memory);

/* After it. Return: when everything it sent over the bus has arrived. */
uint64_t dev_truth_end(struct dev_truth *truth, const struct dev_command_kernel *kernel,
		       uint64_t start_ns);
