/* SPDX-License-Identifier: Apache-2.0 */
/* The structures among the arguments. Numbers that are enums may be one too high or too low. */

#include <stdbool.h>
#include <string.h>

#include "api-argument.h"
#include "base/util.h"

#define LIST 4

static void no_work(void *user)
{
	(void)user;
}

static unsigned number(unsigned below)
{
	return slu_api_take() % below;
}

/* -- copies --------------------------------------------------------------------------------- */

/* One side of a copy, and whether it may be in the host's bytes. */
struct side {
	CUmemorytype type;
	void *host;
	uint64_t device;
	bool is_host;
};

static struct side side(void)
{
	struct side s = { .type = number(6) };

	s.host = slu_api_bytes();
	s.device = slu_api_address();
	s.is_host = s.type == CU_MEMORYTYPE_HOST;
	if (s.type == CU_MEMORYTYPE_UNIFIED) {
		s.device = slu_api_unified();
		s.is_host = true;
	}
	return s;
}

/*
 * The numbers of a copy: with the host in it a box that fits into its bytes, whatever of the
 * pitches and heights the driver believes; else anything.
 */
static size_t extent(bool is_small, unsigned below)
{
	return is_small || number(2) ? number(below) : slu_api_size();
}

static size_t pitch(bool is_small)
{
	return is_small || number(2) ? number(5) * 16 : slu_api_size();
}

static CUDA_MEMCPY2D *copy_2d(void)
{
	static CUDA_MEMCPY2D c;
	struct side src = side(), dst = side();
	bool is_small = src.is_host || dst.is_host;

	c = (CUDA_MEMCPY2D){
		.srcMemoryType = src.type,
		.srcHost = src.host,
		.srcDevice = src.device,
		.srcArray = (CUarray)(uintptr_t)src.device,
		.dstMemoryType = dst.type,
		.dstHost = dst.host,
		.dstDevice = dst.device,
		.dstArray = (CUarray)(uintptr_t)dst.device,
	};
	c.srcXInBytes = extent(is_small, 16);
	c.srcY = extent(is_small, 4);
	c.srcPitch = pitch(is_small);
	c.dstXInBytes = extent(is_small, 16);
	c.dstY = extent(is_small, 4);
	c.dstPitch = pitch(is_small);
	c.WidthInBytes = extent(is_small, 49);
	c.Height = extent(is_small, 9);
	return &c;
}

static CUDA_MEMCPY3D *copy_3d(void)
{
	static CUDA_MEMCPY3D c;
	struct side src = side(), dst = side();
	bool is_small = src.is_host || dst.is_host;

	c = (CUDA_MEMCPY3D){
		.srcMemoryType = src.type,
		.srcHost = src.host,
		.srcDevice = src.device,
		.srcArray = (CUarray)(uintptr_t)src.device,
		.dstMemoryType = dst.type,
		.dstHost = dst.host,
		.dstDevice = dst.device,
		.dstArray = (CUarray)(uintptr_t)dst.device,
	};
	c.srcXInBytes = extent(is_small, 16);
	c.srcY = extent(is_small, 4);
	c.srcZ = extent(is_small, 2);
	c.srcPitch = pitch(is_small);
	c.srcHeight = extent(is_small, 12);
	c.dstXInBytes = extent(is_small, 16);
	c.dstY = extent(is_small, 4);
	c.dstZ = extent(is_small, 2);
	c.dstPitch = pitch(is_small);
	c.dstHeight = extent(is_small, 12);
	c.WidthInBytes = extent(is_small, 49);
	c.Height = extent(is_small, 9);
	c.Depth = extent(is_small, 5);
	return &c;
}

/* The peers' structure is the other one with contexts at the two unused places. */
static CUDA_MEMCPY3D_PEER *copy_peer(void)
{
	static CUDA_MEMCPY3D_PEER c;

	_Static_assert(sizeof(c) == sizeof(CUDA_MEMCPY3D), "the two are laid out alike");
	memcpy(&c, copy_3d(), sizeof(c));
	c.srcContext = (CUcontext)(uintptr_t)slu_api_handle();
	c.dstContext = (CUcontext)(uintptr_t)slu_api_handle();
	return &c;
}

static CUmemcpy3DOperand operand(void)
{
	CUmemcpy3DOperand o = { .type = number(4) };

	if (o.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
		o.op.array.array = (CUarray)(uintptr_t)slu_api_handle();
		return o;
	}
	o.op.ptr.ptr = slu_api_unified();
	o.op.ptr.rowLength = pitch(true);
	o.op.ptr.layerHeight = number(12);
	return o;
}

static CUDA_MEMCPY3D_BATCH_OP *batch(void)
{
	static CUDA_MEMCPY3D_BATCH_OP ops[LIST];

	for (unsigned i = 0; i < LIST; i++) {
		ops[i] = (CUDA_MEMCPY3D_BATCH_OP){ .src = operand(), .dst = operand() };
		ops[i].extent = (CUextent3D){ number(65), number(13), number(5) };
		ops[i].srcAccessOrder = number(5);
		ops[i].flags = number(4);
	}
	return ops;
}

static CUmemcpyAttributes *batch_attributes(void)
{
	static CUmemcpyAttributes a[LIST];

	for (unsigned i = 0; i < LIST; i++)
		a[i] = (CUmemcpyAttributes){ .srcAccessOrder = number(5), .flags = number(4) };
	return a;
}

/* -- memory --------------------------------------------------------------------------------- */

static CUmemLocation location(void)
{
	CUmemLocation l = { .type = number(6) };

	l.id = (int)number(4) - 1;
	return l;
}

static CUmemAllocationProp *properties(void)
{
	static CUmemAllocationProp p;

	p = (CUmemAllocationProp){ .type = number(4), .location = location() };
	p.requestedHandleTypes = number(4);
	p.allocFlags.usage = (unsigned short)number(2);
	return &p;
}

static CUmemPoolProps *pool_properties(void)
{
	static CUmemPoolProps p;

	p = (CUmemPoolProps){ .allocType = number(4), .location = location() };
	p.handleTypes = number(4);
	p.maxSize = slu_api_size();
	p.usage = number(8) == 7;
	return &p;
}

static CUmemAccessDesc *rights(void)
{
	static CUmemAccessDesc r[LIST];

	for (unsigned i = 0; i < LIST; i++)
		r[i] = (CUmemAccessDesc){ .location = location(), .flags = number(5) };
	return r;
}

/* -- launches and nodes --------------------------------------------------------------------- */

static CUlaunchAttributeValue *attribute_value(void)
{
	static CUlaunchAttributeValue v;

	memset(&v, 0, sizeof(v));
	v.clusterDim.x = number(4);
	v.clusterDim.y = number(4);
	v.clusterDim.z = number(4);
	return &v;
}

static CUlaunchConfig *launch(void)
{
	static CUlaunchAttribute attributes[LIST];
	static CUlaunchConfig l;

	l = (CUlaunchConfig){ number(12), number(4), number(4), number(40), number(4), number(4) };
	l.sharedMemBytes = number(2) ? 0 : (unsigned)slu_api_size();
	l.hStream = (CUstream)(uintptr_t)slu_api_handle();
	l.numAttrs = number(LIST + 1);
	l.attrs = number(8) == 7 ? NULL : attributes;
	for (unsigned i = 0; i < LIST && i < l.numAttrs; i++) {
		attributes[i].id = number(14);
		attributes[i].value = *attribute_value();
	}
	return &l;
}

static CUDA_KERNEL_NODE_PARAMS *kernel_node(void)
{
	static CUDA_KERNEL_NODE_PARAMS p;

	p = (CUDA_KERNEL_NODE_PARAMS){ .func = (CUfunction)(uintptr_t)slu_api_handle() };
	p.gridDimX = number(12);
	p.gridDimY = number(4);
	p.gridDimZ = number(4);
	p.blockDimX = number(40);
	p.blockDimY = number(4);
	p.blockDimZ = number(4);
	p.sharedMemBytes = number(2) ? 0 : (unsigned)slu_api_size();
	p.kernelParams = (void **)(uintptr_t)slu_api_argument(number(8) == 7 ? '.' : 'p');
	p.extra = (void **)(uintptr_t)slu_api_argument('x');
	p.kern = (CUkernel)(uintptr_t)(number(2) ? slu_api_handle() : 0);
	p.ctx = (CUcontext)(uintptr_t)(number(2) ? slu_api_handle() : 0);
	return &p;
}

static CUDA_MEMSET_NODE_PARAMS *set_node(void)
{
	static CUDA_MEMSET_NODE_PARAMS p;

	p = (CUDA_MEMSET_NODE_PARAMS){ .dst = slu_api_address() };
	p.pitch = slu_api_size();
	p.value = number(256);
	p.elementSize = number(9);
	p.width = slu_api_size();
	p.height = number(2) ? number(9) : slu_api_size();
	return &p;
}

static CUDA_HOST_NODE_PARAMS *host_node(void)
{
	static CUDA_HOST_NODE_PARAMS p;

	p = (CUDA_HOST_NODE_PARAMS){ .fn = number(8) == 7 ? NULL : no_work };
	return &p;
}

static CUDA_MEM_ALLOC_NODE_PARAMS *alloc_node(void)
{
	static CUDA_MEM_ALLOC_NODE_PARAMS p;

	p = (CUDA_MEM_ALLOC_NODE_PARAMS){ .poolProps = *pool_properties() };
	p.accessDescs = number(4) ? NULL : rights();
	p.accessDescCount = number(LIST + 1);
	p.bytesize = slu_api_size();
	slu_api.allocated = &p.dptr;
	return &p;
}

/* A write may go anywhere, a wait only to where it ends. */
static CUstreamBatchMemOpParams *values(void)
{
	static CUstreamBatchMemOpParams v[LIST];

	for (unsigned i = 0; i < LIST; i++) {
		memset(&v[i], 0, sizeof(v[i]));
		v[i].operation = number(8);
		v[i].writeValue.flags = (unsigned)slu_api_argument('i');
		if (v[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_32 ||
		    v[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64) {
			v[i].writeValue.address = slu_api_address();
			v[i].writeValue.value64 = number(256);
		} else {
			v[i].waitValue.address = slu_api_argument('w');
			v[i].waitValue.value64 = 5;
		}
	}
	return v;
}

static CUDA_BATCH_MEM_OP_NODE_PARAMS *values_node(void)
{
	static CUDA_BATCH_MEM_OP_NODE_PARAMS p;

	p = (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .paramArray = number(8) == 7 ? NULL : values() };
	p.ctx = (CUcontext)(uintptr_t)slu_api_handle();
	p.count = number(LIST + 1);
	p.flags = number(8) == 7;
	return &p;
}

static CUgraphNodeParams *any_node(void)
{
	static CUgraph bodies[LIST];
	static CUgraphNodeParams p;

	memset(&p, 0, sizeof(p));
	p.type = number(15);
	switch (p.type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		p.kernel = *kernel_node();
		break;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		p.memcpy.copyParams = *copy_3d();
		p.memcpy.copyCtx = (CUcontext)(uintptr_t)slu_api_handle();
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		/* the later one has a context behind the same fields */
		memcpy(&p.memset, set_node(), sizeof(CUDA_MEMSET_NODE_PARAMS));
		p.memset.ctx = (CUcontext)(uintptr_t)slu_api_handle();
		break;
	case CU_GRAPH_NODE_TYPE_HOST:
		p.host = *host_node();
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		p.alloc = *alloc_node();
		slu_api.allocated = &p.alloc.dptr;
		break;
	case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
		p.memOp = *values_node();
		break;
	case CU_GRAPH_NODE_TYPE_CONDITIONAL:
		/* one that goes on while something holds may go on for ever */
		p.conditional.type = number(2) ? CU_GRAPH_COND_TYPE_SWITCH : CU_GRAPH_COND_TYPE_IF;
		p.conditional.handle = slu_api_handle();
		p.conditional.size = number(LIST + 1);
		p.conditional.phGraph_out = bodies;
		p.conditional.ctx = (CUcontext)(uintptr_t)slu_api_handle();
		break;
	default:
		p.graph.graph = (CUgraph)(uintptr_t)slu_api_handle();
		break;
	}
	return &p;
}

static CUgraphEdgeData *edges(void)
{
	static CUgraphEdgeData e[LIST];

	if (number(2))
		return NULL;
	for (unsigned i = 0; i < LIST; i++)
		e[i] = (CUgraphEdgeData){ .from_port = (uint8_t)(number(8) == 7),
					  .type = (uint8_t)(number(8) == 7) };
	return e;
}

static CUDA_GRAPH_INSTANTIATE_PARAMS *instantiation(void)
{
	static CUDA_GRAPH_INSTANTIATE_PARAMS p;

	p = (CUDA_GRAPH_INSTANTIATE_PARAMS){ .flags = number(16) };
	p.hUploadStream = (CUstream)(uintptr_t)slu_api_handle();
	return &p;
}

/* -- arrays, textures ----------------------------------------------------------------------- */

/* Small ones, and sometimes what no device has. */
static size_t side_of_array(void)
{
	return number(8) ? number(20) : slu_api_size();
}

static CUarray_format format(void)
{
	static const CUarray_format formats[] = { 1, 2, 3, 8, 9, 10, 16, 32, 0, 0x91, -1 };

	return formats[number(SLU_ARRAY_SIZE(formats))];
}

static CUDA_ARRAY3D_DESCRIPTOR *array_3d(void)
{
	static CUDA_ARRAY3D_DESCRIPTOR d;

	d = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = side_of_array() };
	d.Height = side_of_array();
	d.Depth = side_of_array();
	d.Format = format();
	d.NumChannels = number(6);
	d.Flags = number(4) ? number(16) : slu_api_take();
	return &d;
}

static CUDA_ARRAY_DESCRIPTOR *array_2d(void)
{
	static CUDA_ARRAY_DESCRIPTOR d;

	d = (CUDA_ARRAY_DESCRIPTOR){ .Width = side_of_array() };
	d.Height = side_of_array();
	d.Format = format();
	d.NumChannels = number(6);
	return &d;
}

static CUDA_RESOURCE_DESC *resource(void)
{
	static CUDA_RESOURCE_DESC r;

	memset(&r, 0, sizeof(r));
	r.resType = number(5);
	r.flags = number(8) == 7;
	switch (r.resType) {
	case CU_RESOURCE_TYPE_LINEAR:
		r.res.linear.devPtr = slu_api_address();
		r.res.linear.format = format();
		r.res.linear.numChannels = number(6);
		r.res.linear.sizeInBytes = slu_api_size();
		break;
	case CU_RESOURCE_TYPE_PITCH2D:
		r.res.pitch2D.devPtr = slu_api_address();
		r.res.pitch2D.format = format();
		r.res.pitch2D.numChannels = number(6);
		r.res.pitch2D.width = side_of_array();
		r.res.pitch2D.height = side_of_array();
		r.res.pitch2D.pitchInBytes = slu_api_size();
		break;
	default:
		r.res.array.hArray = (CUarray)(uintptr_t)slu_api_handle();
		break;
	}
	return &r;
}

static CUDA_TEXTURE_DESC *texture(void)
{
	static CUDA_TEXTURE_DESC t;

	memset(&t, 0, sizeof(t));
	for (unsigned i = 0; i < 3; i++)
		t.addressMode[i] = number(5);
	t.filterMode = number(3);
	t.flags = number(4) ? number(4) : slu_api_take();
	t.maxAnisotropy = number(3);
	return &t;
}

static CUDA_RESOURCE_VIEW_DESC *view(void)
{
	static CUDA_RESOURCE_VIEW_DESC v;

	if (number(4))
		return NULL;
	memset(&v, 0, sizeof(v));
	v.format = number(3);
	v.width = side_of_array();
	v.height = side_of_array();
	v.depth = side_of_array();
	v.lastLayer = number(2);
	return &v;
}

void *slu_api_structure(char kind)
{
	switch (kind) {
	case '2':
		return copy_2d();
	case '3':
		return copy_3d();
	case 'P':
		return copy_peer();
	case 'R':
		return batch();
	case 'Y':
		return batch_attributes();
	case 'M':
		return properties();
	case 'Q':
		return pool_properties();
	case 'C':
		return rights();
	case 'L':
		return launch();
	case 'V':
		return attribute_value();
	case 'K':
		return kernel_node();
	case 'S':
		return set_node();
	case 'H':
		return host_node();
	case 'A':
		return alloc_node();
	case 'O':
		return values_node();
	case 'W':
		return values();
	case 'G':
		return any_node();
	case 'E':
		return edges();
	case 'X':
		return instantiation();
	case '4':
		return array_3d();
	case '6':
		return array_2d();
	case '7':
		return resource();
	case '8':
		return texture();
	case '9':
		return view();
	default:
		return NULL;
	}
}
