/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/recipe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cuda/capture.h"
#include "cuda/device.h"
#include "cuda/kernels.h"
#include "cuda/predict-trace.h"
#include "cuda/real.h"
#include "cuda/refs.h"

/* More than programs have; and how deep graphs are in graphs. */
#define STEPS_MAX  65536
#define DEPTH_MAX  16
#define PARAMS_MAX 4096
#define BYTES_MAX  65536

/* One node: a launch, or bytes that it writes. */
struct step {
	CUgraphNode node;
	struct slu_cuda_kernel *kernel; /* of a launch; held; guarded by slu_cuda.lock */
	struct slu_predict_launch launch;
	struct slu_cuda_span span; /* of all others */
};

struct recipe {
	CUgraph graph; /* whose nodes @steps names */
	struct step *steps;
	size_t n_steps, max_steps;
	bool is_told; /* @spans is made */
	struct slu_cuda_span *spans;
	size_t n_spans, max_spans;
};

static struct slu_refs recipes; /* by handle; guarded by slu_cuda.lock */

/* -- steps ------------------------------------------------------------------------------------ */

static void step_deinit_locked(struct step *s)
{
	if (s->kernel)
		slu_cuda_kernel_unref_locked(s->kernel);
	free((void *)s->launch.params);
}

static bool param_find(const CUDA_KERNEL_NODE_PARAMS *p, size_t i, size_t *ret_at,
		       size_t *ret_bytes)
{
	return (p->func ? SLU_REAL(cuFuncGetParamInfo)(p->func, i, ret_at, ret_bytes)
			: SLU_REAL(cuKernelGetParamInfo)(p->kern, i, ret_at, ret_bytes)) ==
		       CUDA_SUCCESS &&
	       *ret_at <= BYTES_MAX && *ret_bytes <= BYTES_MAX - *ret_at;
}

/* A copy of the parameters, where the kernel has them. Return: false if that is unknown. */
static bool params_copy(const CUDA_KERNEL_NODE_PARAMS *p, struct slu_predict_launch *launch)
{
	size_t n = 0, at, bytes, end = 0;
	unsigned char *params;

	/* one buffer in the place of pointers: drivers tell pointers, whatever they were given */
	if (p->extra)
		return false;
	while (n < PARAMS_MAX && param_find(p, n, &at, &bytes)) {
		end = SLU_MAX(end, at + bytes);
		n++;
	}
	if (n == PARAMS_MAX || (n && !p->kernelParams))
		return false;
	params = calloc(1, end + 1);
	if (!params)
		return false;
	launch->params = params;
	launch->param_bytes = end;
	for (size_t i = 0; i < n; i++) {
		if (!p->kernelParams[i] || !param_find(p, i, &at, &bytes))
			return false;
		memcpy(params + at, p->kernelParams[i], bytes);
	}
	return true;
}

static bool step_from_kernel(const CUDA_KERNEL_NODE_PARAMS *p, struct step *ret)
{
	const void *handle = p->func ? (const void *)p->func : (const void *)p->kern;

	ret->launch.grid[0] = p->gridDimX;
	ret->launch.grid[1] = p->gridDimY;
	ret->launch.grid[2] = p->gridDimZ;
	ret->launch.block[0] = p->blockDimX;
	ret->launch.block[1] = p->blockDimY;
	ret->launch.block[2] = p->blockDimZ;
	slu_lock_take(&slu_cuda.lock);
	ret->kernel = slu_cuda_kernels_get_locked(handle);
	slu_lock_give(&slu_cuda.lock);
	return ret->kernel && params_copy(p, &ret->launch);
}

/* Whether all that a node of this attribute does is what its parameters say. */
static bool kernel_node_is_plain(CUgraphNode node)
{
	CUkernelNodeAttrValue value = { 0 };
	int is_updatable;

	if (SLU_REAL(cuGraphKernelNodeGetAttribute)(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
						    &value) == CUDA_SUCCESS &&
	    (value.clusterDim.x > 1 || value.clusterDim.y > 1 || value.clusterDim.z > 1))
		return false;
	/* kernels may give it other parameters; a driver without the attribute has none such */
	memset(&value, 0, sizeof(value));
	if (SLU_REAL(cuGraphKernelNodeGetAttribute)(
		    node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value) != CUDA_SUCCESS)
		return true;
	memcpy(&is_updatable, &value, sizeof(is_updatable));
	return !is_updatable;
}

/* From the first byte to the last of a copy's rows. What goes to an array reaches no unit. */
static bool step_from_copy(const CUDA_MEMCPY3D *p, struct step *ret)
{
	uint64_t at, slice, bytes, more;

	if (!p->WidthInBytes || !p->Height || !p->Depth)
		return true;
	switch (p->dstMemoryType) {
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		at = p->dstDevice;
		break;
	case CU_MEMORYTYPE_HOST:
		/* drivers let programs pass any address for any other */
		at = (uint64_t)(uintptr_t)p->dstHost;
		break;
	default:
		return false;
	}
	if (__builtin_mul_overflow(p->dstPitch, p->dstHeight, &slice) ||
	    __builtin_mul_overflow(slice, p->dstZ, &more) ||
	    __builtin_add_overflow(at, more, &at) ||
	    __builtin_mul_overflow(p->dstPitch, p->dstY, &more) ||
	    __builtin_add_overflow(at, more, &at) ||
	    __builtin_add_overflow(at, p->dstXInBytes, &at) ||
	    __builtin_mul_overflow(slice, p->Depth - 1, &bytes) ||
	    __builtin_mul_overflow(p->dstPitch, p->Height - 1, &more) ||
	    __builtin_add_overflow(bytes, more, &bytes) ||
	    __builtin_add_overflow(bytes, p->WidthInBytes, &bytes) ||
	    __builtin_add_overflow(at, bytes, &more))
		return false;
	ret->span = (struct slu_cuda_span){ at, bytes };
	return true;
}

static bool step_from_set(uint64_t at, size_t pitch, unsigned element, size_t width, size_t height,
			  struct step *ret)
{
	uint64_t bytes, more;

	if (!width || !height)
		return true;
	if (__builtin_mul_overflow(pitch, height - 1, &bytes) ||
	    __builtin_mul_overflow(width, element, &more) ||
	    __builtin_add_overflow(bytes, more, &bytes) || __builtin_add_overflow(at, bytes, &more))
		return false;
	ret->span = (struct slu_cuda_span){ at, bytes };
	return true;
}

/* -- the walk --------------------------------------------------------------------------------- */

static void recipe_free_locked(struct recipe *recipe)
{
	for (size_t i = 0; recipe && i < recipe->n_steps; i++)
		step_deinit_locked(&recipe->steps[i]);
	if (recipe) {
		free(recipe->steps);
		free(recipe->spans);
	}
	free(recipe);
}

/* Capacity for one more. Return: false without memory. */
static bool array_grow(void **array, size_t n, size_t *max, size_t size)
{
	size_t more = *max ? *max * 2 : 16;
	void *bigger;

	if (n < *max)
		return true;
	bigger = reallocarray(*array, more, size);
	if (!bigger)
		return false;
	*array = bigger;
	*max = more;
	return true;
}

static bool graph_walk(struct recipe *recipe, CUgraph graph, unsigned depth);

/* Sound: nodes of every kind that is not listed may write anything. */
static bool node_walk(struct recipe *recipe, CUgraphNode node, unsigned depth)
{
	CUDA_KERNEL_NODE_PARAMS kernel = { 0 };
	CUDA_MEMSET_NODE_PARAMS set = { 0 };
	CUDA_MEMCPY3D copy = { 0 };
	CUgraphNodeType type;
	struct step *s;
	CUgraph child;

	if (SLU_REAL(cuGraphNodeGetType)(node, &type) != CUDA_SUCCESS ||
	    recipe->n_steps == STEPS_MAX ||
	    !array_grow((void **)&recipe->steps, recipe->n_steps, &recipe->max_steps, sizeof(*s)))
		return false;
	s = &recipe->steps[recipe->n_steps];
	*s = (struct step){ .node = node };
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		recipe->n_steps++;
		return kernel_node_is_plain(node) &&
		       SLU_REAL(cuGraphKernelNodeGetParams_v2)(node, &kernel) == CUDA_SUCCESS &&
		       step_from_kernel(&kernel, s);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		recipe->n_steps++;
		return SLU_REAL(cuGraphMemcpyNodeGetParams)(node, &copy) == CUDA_SUCCESS &&
		       step_from_copy(&copy, s);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		recipe->n_steps++;
		return SLU_REAL(cuGraphMemsetNodeGetParams)(node, &set) == CUDA_SUCCESS &&
		       step_from_set(set.dst, set.pitch, set.elementSize, set.width, set.height, s);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return SLU_REAL(cuGraphChildGraphNodeGetGraph)(node, &child) == CUDA_SUCCESS &&
		       graph_walk(recipe, child, depth + 1);
	case CU_GRAPH_NODE_TYPE_HOST:
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC: /* memory of the driver: no unit of ours */
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		return true;
	default:
		return false;
	}
}

static bool graph_walk(struct recipe *recipe, CUgraph graph, unsigned depth)
{
	CUgraphNode *nodes;
	bool is_known = true;
	size_t n = 0;

	if (depth == DEPTH_MAX || SLU_REAL(cuGraphGetNodes)(graph, NULL, &n) != CUDA_SUCCESS ||
	    n > STEPS_MAX)
		return false;
	nodes = calloc(n + 1, sizeof(CUgraphNode));
	if (!nodes)
		return false;
	is_known = !n || SLU_REAL(cuGraphGetNodes)(graph, nodes, &n) == CUDA_SUCCESS;
	for (size_t i = 0; is_known && i < n; i++)
		is_known = node_walk(recipe, nodes[i], depth);
	free(nodes);
	return is_known;
}

static struct recipe *recipe_new(CUgraph graph)
{
	CUstreamCaptureMode before = slu_cuda_capture_relax();
	struct recipe *recipe = calloc(1, sizeof(*recipe));
	bool is_known;

	is_known = recipe && graph_walk(recipe, graph, 0);
	slu_cuda_capture_restore(before);
	if (!is_known) {
		slu_lock_take(&slu_cuda.lock);
		recipe_free_locked(recipe);
		slu_lock_give(&slu_cuda.lock);
		return NULL;
	}
	recipe->graph = graph;
	return recipe;
}

/* -- the table -------------------------------------------------------------------------------- */

static struct recipe *recipe_find_locked(CUgraphExec exec)
{
	const struct slu_ref *ref = slu_refs_find(&recipes, (uintptr_t)exec);

	return ref ? ref->target : NULL;
}

/* The recipe of @exec is @recipe from now on; NULL: it has none. */
static void recipe_replace_locked(CUgraphExec exec, struct recipe *recipe)
{
	struct slu_ref ref = { 0 };

	if (slu_refs_take(&recipes, (uintptr_t)exec, 1, &ref))
		recipe_free_locked(ref.target);
	if (recipe && slu_refs_add(&recipes, (struct slu_ref){ (uintptr_t)exec, 1, recipe }))
		recipe_free_locked(recipe);
}

void slu_cuda_recipe_made(CUgraphExec exec, CUgraph graph)
{
	struct recipe *recipe = recipe_new(graph);

	slu_lock_take(&slu_cuda.lock);
	recipe_replace_locked(exec, recipe);
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_recipe_drop(CUgraphExec exec)
{
	slu_lock_take(&slu_cuda.lock);
	recipe_replace_locked(exec, NULL);
	slu_lock_give(&slu_cuda.lock);
}

void slu_cuda_recipe_forked(void)
{
	recipes = (struct slu_refs){ 0 };
}

/* -- what it writes --------------------------------------------------------------------------- */

static bool span_add(struct recipe *r, struct slu_cuda_span span)
{
	if (!span.bytes)
		return true;
	if (!array_grow((void **)&r->spans, r->n_spans, &r->max_spans, sizeof(*r->spans)))
		return false;
	r->spans[r->n_spans++] = span;
	return true;
}

static bool launch_tell_locked(struct recipe *r, const struct step *s)
{
	const struct slu_predict_set *set;

	if (slu_cuda_predict_trace_is_on)
		slu_cuda_kernel_await_locked(s->kernel);
	set = slu_cuda_kernel_evaluate_locked(s->kernel, &s->launch);
	if (slu_cuda_predict_trace_is_on)
		slu_cuda_predict_trace_write(s->kernel->name, set);
	if (!set || set->why_writes.reason)
		return false;
	for (size_t i = 0; i < set->n_ranges; i++) {
		const struct slu_predict_range *range = &set->ranges[i];

		if (range->is_written &&
		    !span_add(r, (struct slu_cuda_span){ range->from, range->to - range->from }))
			return false;
	}
	return true;
}

static int span_compare(const void *x, const void *y)
{
	const struct slu_cuda_span *a = x, *b = y;

	return (a->address > b->address) - (a->address < b->address);
}

/* Those that overlap, or lie side by side, become one. */
static void spans_join(struct recipe *r)
{
	size_t n = 0;

	if (r->n_spans)
		qsort(r->spans, r->n_spans, sizeof(*r->spans), span_compare);
	for (size_t i = 0; i < r->n_spans; i++) {
		struct slu_cuda_span *last = n ? &r->spans[n - 1] : NULL, s = r->spans[i];

		if (last && s.address - last->address <= last->bytes)
			last->bytes = SLU_MAX(last->bytes, s.address - last->address + s.bytes);
		else
			r->spans[n++] = s;
	}
	r->n_spans = n;
}

const struct slu_cuda_span *slu_cuda_recipe_spans_locked(CUgraphExec exec, size_t *ret_n)
{
	static const struct slu_cuda_span none;
	struct recipe *r = recipe_find_locked(exec);
	bool is_known = true;

	if (!r)
		return NULL;
	if (!r->is_told || slu_cuda_predict_trace_is_on) {
		r->n_spans = 0;
		/* all of them, so that the analysis of all kernels begins */
		for (size_t i = 0; i < r->n_steps; i++)
			is_known &= r->steps[i].kernel ? launch_tell_locked(r, &r->steps[i])
						       : span_add(r, r->steps[i].span);
		if (!is_known)
			return NULL;
		spans_join(r);
		r->is_told = true;
	}
	*ret_n = r->n_spans;
	return r->n_spans ? r->spans : &none;
}

/* -- changes ---------------------------------------------------------------------------------- */

/*
 * A node of @exec does what @step says from now on; takes it over. Sound: without @is_known the
 * instance may write anything. For a node that no step names there is a step more, and the one
 * that it replaces stays, which writes too much.
 */
static void step_set(CUgraphExec exec, CUgraphNode node, struct step *step, bool is_known)
{
	struct recipe *r;
	size_t i = 0;

	slu_lock_take(&slu_cuda.lock);
	r = recipe_find_locked(exec);
	while (r && i < r->n_steps && r->steps[i].node != node)
		i++;
	if (r && is_known && i < STEPS_MAX &&
	    array_grow((void **)&r->steps, i, &r->max_steps, sizeof(*r->steps))) {
		if (i < r->n_steps)
			step_deinit_locked(&r->steps[i]);
		else
			r->n_steps++;
		r->steps[i] = *step;
		r->steps[i].node = node;
		r->is_told = false;
	} else {
		step_deinit_locked(step);
		recipe_replace_locked(exec, NULL);
	}
	slu_lock_give(&slu_cuda.lock);
}

static void kernel_set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct step step = { 0 };
	bool is_known = step_from_kernel(params, &step);

	step_set(exec, node, &step, is_known);
}

static void copy_set(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params)
{
	struct step step = { 0 };
	bool is_known = step_from_copy(params, &step);

	step_set(exec, node, &step, is_known);
}

void slu_cuda_recipe_node_set(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *p)
{
	struct step step = { 0 };
	bool is_known;

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		kernel_set(exec, node, &p->kernel);
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		copy_set(exec, node, &p->memcpy.copyParams);
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		is_known = step_from_set(p->memset.dst, p->memset.pitch, p->memset.elementSize,
					 p->memset.width, p->memset.height, &step);
		step_set(exec, node, &step, is_known);
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		break;
	default:
		slu_cuda_recipe_drop(exec);
		break;
	}
}

/* -- the calls ----------------------------------------------------------------------------------
 */

/* After the driver's call: one that failed changed nothing. */
#define AFTER(r, note)                    \
	({                                \
		CUresult r_ = (r);        \
		int saved_ = errno;       \
                                          \
		if (r_ == CUDA_SUCCESS) { \
			note;             \
		}                         \
		errno = saved_;           \
		r_;                       \
	})

static void kernel_set_v1(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
	CUDA_KERNEL_NODE_PARAMS wide = {
		.func = p->func,
		.gridDimX = p->gridDimX,
		.gridDimY = p->gridDimY,
		.gridDimZ = p->gridDimZ,
		.blockDimX = p->blockDimX,
		.blockDimY = p->blockDimY,
		.blockDimZ = p->blockDimZ,
		.kernelParams = p->kernelParams,
		.extra = p->extra,
	};

	kernel_set(exec, node, &wide);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	return AFTER(SLU_REAL(cuGraphExecKernelNodeSetParams)(exec, node, params),
		     kernel_set_v1(exec, node, params));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					   const CUDA_KERNEL_NODE_PARAMS *params)
{
	return AFTER(SLU_REAL(cuGraphExecKernelNodeSetParams_v2)(exec, node, params),
		     kernel_set(exec, node, params));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_MEMCPY3D *params, CUcontext context)
{
	return AFTER(SLU_REAL(cuGraphExecMemcpyNodeSetParams)(exec, node, params, context),
		     copy_set(exec, node, params));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
	struct step step = { 0 };

	return AFTER(SLU_REAL(cuGraphExecMemsetNodeSetParams)(exec, node, params, context),
		     step_set(exec, node, &step,
			      step_from_set(params->dst, params->pitch, params->elementSize,
					    params->width, params->height, &step)));
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	return AFTER(SLU_REAL(cuGraphExecChildGraphNodeSetParams)(exec, node, child),
		     slu_cuda_recipe_drop(exec));
}

/*
 * Nodes of an instance go by the names that they had when it was made. An update that failed may
 * have changed a part.
 */
static CUresult recipe_update(CUgraphExec exec, CUgraph graph, CUresult r)
{
	const struct slu_cuda_device *d = slu_cuda_device_here();
	struct recipe *recipe = NULL, *old;
	int saved = errno;

	if (r == CUDA_SUCCESS && d &&
	    (slu_gate_wants_writes(d->index) || slu_cuda_predict_trace_is_on))
		recipe = recipe_new(graph);
	slu_lock_take(&slu_cuda.lock);
	old = recipe_find_locked(exec);
	for (size_t i = 0; recipe && i < recipe->n_steps; i++)
		if (!old || old->graph != graph)
			recipe->steps[i].node = NULL;
	recipe_replace_locked(exec, recipe);
	slu_lock_give(&slu_cuda.lock);
	errno = saved;
	return r;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *ret_node,
			   CUgraphExecUpdateResult *ret_result)
{
	return recipe_update(exec, graph,
			     SLU_REAL(cuGraphExecUpdate)(exec, graph, ret_node, ret_result));
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
			      CUgraphExecUpdateResultInfo *ret_info)
{
	return recipe_update(exec, graph, SLU_REAL(cuGraphExecUpdate_v2)(exec, graph, ret_info));
}
