/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies and sets. Bytes that cross the bus take the engine of their direction for as long as the
 * card would need; the copy is not done before. It goes in slices of about a millisecond, so that
 * two programs that copy the same way share the engine as on a card.
 *
 * A copy from or to pageable memory goes through the processor as well, and is not done before that
 * part of it is: it leaves the engine free meanwhile.
 *
 * Memory may be taken away under a copy (cuMemUnmap waits for nobody). Such a copy breaks its
 * context with an illegal address, as on a card.
 */

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/driver/card.h"
#include "softgpu/driver/execution/command.h"

struct dev_context;

/* @later: in a graph, so that memory of graphs may still be missing. */
CUresult dev_copy_check(struct dev_card *card, const struct dev_command_copy *copy, bool later,
			bool *ret_is_pageable);
CUresult dev_copy_check_set(struct dev_card *card, const struct dev_command_set *set, bool later);

/* Return: when it ended, in the device's time; by then the real time has come, too. */
uint64_t dev_copy_run(struct dev_context *context, const struct dev_command_copy *copy,
		      uint64_t start_ns);
void dev_copy_run_set(struct dev_context *context, const struct dev_command_set *set);
