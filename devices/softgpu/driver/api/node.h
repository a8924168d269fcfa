/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parameters of a graph's node, in the forms that the calls have them, made into a command. Who
 * gets one owns it.
 */

#include "softgpu/driver/execution/command.h"

CUresult dev_node_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct dev_command **ret_command);
CUresult dev_node_copy(const CUDA_MEMCPY3D *p, struct dev_command **ret_command);
CUresult dev_node_set(const CUDA_MEMSET_NODE_PARAMS *p, struct dev_command **ret_command);
CUresult dev_node_host(const CUDA_HOST_NODE_PARAMS *p, struct dev_command **ret_command);
CUresult dev_node_event(enum dev_command_kind kind, CUevent event,
			struct dev_command **ret_command);
CUresult dev_node_child(CUgraph handle, struct dev_command **ret_command);
CUresult dev_node_alloc(CUDA_MEM_ALLOC_NODE_PARAMS *p, struct dev_command **ret_command);
CUresult dev_node_free(CUdeviceptr address, struct dev_command **ret_command);
CUresult dev_node_empty(struct dev_command **ret_command);
CUresult dev_node_batch(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, struct dev_command **ret_command);
CUresult dev_node_any(CUgraphNodeParams *p, struct dev_command **ret_command);

/* The newer form begins like the older one. */
CUDA_KERNEL_NODE_PARAMS dev_node_widen(const CUDA_KERNEL_NODE_PARAMS_v1 *p);
