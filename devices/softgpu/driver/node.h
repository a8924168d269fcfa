/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parameters of a graph's node, in the forms that the calls have them, made into a command. Who
 * gets one owns it.
 */

#include "softgpu/driver/command.h"

CUresult slu_node_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct slu_command **ret_command);
CUresult slu_node_copy(const CUDA_MEMCPY3D *p, struct slu_command **ret_command);
CUresult slu_node_set(const CUDA_MEMSET_NODE_PARAMS *p, struct slu_command **ret_command);
CUresult slu_node_host(const CUDA_HOST_NODE_PARAMS *p, struct slu_command **ret_command);
CUresult slu_node_event(enum slu_command_kind kind, CUevent event,
			struct slu_command **ret_command);
CUresult slu_node_child(CUgraph handle, struct slu_command **ret_command);
CUresult slu_node_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct slu_command **ret_command);
CUresult slu_node_free(CUdeviceptr address, struct slu_command **ret_command);
CUresult slu_node_empty(struct slu_command **ret_command);
/* @kind is WRITE or WAIT. */
CUresult slu_node_value(enum slu_command_kind kind, CUdeviceptr address, uint64_t value,
			unsigned size, unsigned flags, struct slu_command **ret_command);
/* One operation of a batch; *ret_command is NULL where there is nothing to do. */
CUresult slu_node_operation(const CUstreamBatchMemOpParams *op, struct slu_command **ret_command);
CUresult slu_node_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct slu_command **ret_command);
CUresult slu_node_any(CUgraphNodeParams *p, struct slu_command **ret_command);

/* The newer form begins like the older one. */
CUDA_KERNEL_NODE_PARAMS slu_node_widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p);
