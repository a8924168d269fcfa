/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Operations on single values in memory, by which streams wait for each other, for the host and for
 * other devices. Calls, batches and the nodes of graphs make their commands here. The caller owns
 * the command.
 */

#include "softgpu/driver/execution/command.h"

/* @kind is WRITE or WAIT. */
CUresult dev_operation_value(enum dev_command_kind kind, CUdeviceptr address, uint64_t value,
			     unsigned size, unsigned flags, struct dev_command **ret_command);

/* One operation of a batch; *ret_command is NULL where there is nothing to do. */
CUresult dev_operation_command(const CUstreamBatchMemOpParams *op,
			       struct dev_command **ret_command);
