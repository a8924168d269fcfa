/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs, what graphs keep alive, and the memory they own. */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/branch.h"
#include "softgpu/driver/execution/condition.h"
#include "softgpu/driver/execution/graph.h"
#include "softgpu/driver/execution/graph-memory.h"

/* What is wrong with the branches of a graph, and where. */
static CUresult check_branches(const struct dev_graph *graph, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	const struct dev_graph_node *wrong = NULL;

	for (size_t i = 0; i < graph->n_conditions; i++)
		if (!graph->conditions[i]->is_used) {
			p->result_out = CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED;
			return CUDA_ERROR_INVALID_VALUE;
		}
	if (dev_branch_is_sound(graph, false, &wrong))
		return CUDA_SUCCESS;
	p->hErrNode_out = (CUgraphNode)(void *)(uintptr_t)wrong;
	p->result_out = CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult exec_instantiate(CUgraphExec *ret_exec, CUgraph handle,
				 CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	unsigned long long flags = p->flags;
	struct dev_graph_exec *exec;
	struct dev_graph *graph;

	p->hErrNode_out = NULL;
	p->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(handle);
	if (!ret_exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	/* a launch from the device is not there; the other flags change no result */
	if (flags & 4)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (flags & ~15ull)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(check_branches(graph, p));
	exec = dev_graph_instantiate(graph);
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->flags = flags;
	*ret_exec = (CUgraphExec)(void *)exec;
	p->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph handle,
				     unsigned long long flags)
{
	CUDA_GRAPH_INSTANTIATE_PARAMS p = { .flags = flags };

	return exec_instantiate(ret_exec, handle, &p);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *ret_exec, CUgraph handle, CUgraphNode *ret_node,
			       char *log, size_t log_size)
{
	if (ret_node)
		*ret_node = NULL;
	if (log && log_size)
		*log = '\0';
	return cuGraphInstantiateWithFlags(ret_exec, handle, 0);
}

CUresult cuGraphInstantiate(CUgraphExec *ret_exec, CUgraph handle, CUgraphNode *ret_node, char *log,
			    size_t log_size)
{
	return cuGraphInstantiate_v2(ret_exec, handle, ret_node, log, log_size);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *ret_exec, CUgraph handle,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
	return p ? exec_instantiate(ret_exec, handle, p) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *ret_flags)
{
	struct dev_graph_exec *exec;

	DEV_TRY(dev_driver_enter());
	exec = dev_graph_exec_get(handle);
	if (!exec || !ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_flags = exec->flags;
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
	struct dev_graph_exec *exec;

	DEV_TRY(dev_driver_enter());
	exec = dev_graph_exec_get(handle);
	if (!exec)
		return CUDA_ERROR_INVALID_VALUE;
	dev_graph_exec_free(exec);
	return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec exec_handle, CUstream handle)
{
	struct dev_graph_exec *exec;
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	exec = dev_graph_exec_get(exec_handle);
	return exec ? dev_graph_launch(exec, stream) : CUDA_ERROR_INVALID_VALUE;
}

/* Makes the memory that the launch will need; nothing else has to be brought anywhere. */
CUresult cuGraphUpload(CUgraphExec exec_handle, CUstream handle)
{
	struct dev_graph_exec *exec;
	struct dev_context *context;
	struct dev_stream *stream;

	DEV_TRY(dev_entry_stream(handle, &context, &stream));
	exec = dev_graph_exec_get(exec_handle);
	return exec ? dev_graph_upload(exec) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec_handle, CUgraph handle,
			      CUgraphExecUpdateResultInfo *ret_info)
{
	struct dev_graph_exec *exec;
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	exec = dev_graph_exec_get(exec_handle);
	graph = dev_graph_get(handle);
	if (!exec || !graph || !ret_info)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_graph_update(exec, graph, ret_info);
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *ret_node,
			   CUgraphExecUpdateResult *ret_result)
{
	CUgraphExecUpdateResultInfo info = { .result = CU_GRAPH_EXEC_UPDATE_ERROR };
	CUresult result = cuGraphExecUpdate_v2(exec, graph, &info);

	if (ret_node)
		*ret_node = info.errorNode;
	if (ret_result)
		*ret_result = info.result;
	return result;
}

/* -- what graphs keep alive ----------------------------------------------------------------- */

CUresult cuUserObjectCreate(CUuserObject *ret_user, void *pointer, CUhostFn destroy,
			    unsigned int n_refs, unsigned int flags)
{
	struct dev_user_object *user;

	DEV_TRY(dev_driver_enter());
	/* the only flag there is must be given: the destructor may run at any time */
	if (!ret_user || !destroy || !n_refs || flags != 1)
		return CUDA_ERROR_INVALID_VALUE;
	user = dev_graph_object_new(pointer, destroy, n_refs);
	if (!user)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_user = (CUuserObject)(void *)user;
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject handle, unsigned int n)
{
	DEV_TRY(dev_driver_enter());
	if (!dev_graph_object_get(handle) || !n)
		return CUDA_ERROR_INVALID_VALUE;
	dev_graph_object_ref(dev_graph_object_get(handle), n);
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(CUuserObject handle, unsigned int n)
{
	struct dev_user_object *user;

	DEV_TRY(dev_driver_enter());
	user = dev_graph_object_get(handle);
	if (!user || !n || n > user->n_refs)
		return CUDA_ERROR_INVALID_VALUE;
	dev_graph_object_unref(user, n);
	return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int n,
				 unsigned int flags)
{
	struct dev_user_object *user;
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	user = dev_graph_object_get(handle);
	graph = dev_graph_get(graph_handle);
	if (!user || !graph || !n || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	/* flag 1: the caller's own references go over to the graph */
	if (!flags)
		dev_graph_object_ref(user, n);
	return dev_driver_result(dev_graph_retain(graph, user, n));
}

CUresult cuGraphReleaseUserObject(CUgraph graph_handle, CUuserObject handle, unsigned int n)
{
	struct dev_user_object *user;
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	user = dev_graph_object_get(handle);
	graph = dev_graph_get(graph_handle);
	if (!user || !graph || dev_graph_release(graph, user, n))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* -- memory of graphs ----------------------------------------------------------------------- */

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which, void *ret_value)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!ret_value || (unsigned)which > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	*(cuuint64_t *)ret_value = dev_graph_memory_bytes(card, which);
	return CUDA_SUCCESS;
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute which, void *value)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	if (!value || *(cuuint64_t *)value ||
	    (which != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
	     which != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE;
	dev_graph_memory_reset(card, which);
	return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device)
{
	struct dev_card *card;

	DEV_TRY(dev_driver_card(device, &card));
	dev_graph_memory_trim(card);
	return CUDA_SUCCESS;
}
