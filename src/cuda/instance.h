/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Instances: executable graphs, and how much memory of their own they need. The driver tells their
 * addresses when nodes are made, makes the memory at a launch, and says only how much all graphs
 * have together. So the shim counts the allocation nodes of a graph when it is instantiated, once
 * the program has made such a node.
 */

#include <stdint.h>

#include "cuda/device.h"

/*
 * How many bytes the driver may have to make for a launch of @exec: all, at the first one and after
 * a trim, less what graphs still have then, which may be its own.
 */
uint64_t slu_cuda_instance_needs(struct slu_cuda_device *device, CUgraphExec exec);

/* @exec was launched, and has its memory until the next trim after slu_cuda_instance_needs(). */
void slu_cuda_instance_launched(CUgraphExec exec);
