/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <stdbool.h>

#include "base/util.h"

/*
 * Arrays, and the textures and surfaces over them and over plain memory, through the driver's
 * interface. What the instructions make of texels is the conformance test's subject; here it is
 * whether an object reaches the right ones.
 */

#define WIDTH  37
#define HEIGHT 11
#define DEPTH  5

/* read(t, out, shape): out[i] = texel of thread i at (x, y, z) = block and thread numbers */
static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry read1(.param .u64 t, .param .u64 out)\n{\n"
	".reg .b32 %r<8>; .reg .b64 %d<4>; ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];\n"
	"mov.u32 %r1, %tid.x; tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r1}];\n"
	"mad.wide.u32 %d3, %r1, 4, %d2; st.global.u32 [%d3], %r2; ret;\n}\n"
	".visible .entry read2(.param .u64 t, .param .u64 out)\n{\n"
	".reg .b32 %r<9>; .reg .b64 %d<4>; ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ntid.x;\n"
	"tex.2d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r1, %r6}];\n"
	"mad.lo.u32 %r8, %r6, %r7, %r1; mad.wide.u32 %d3, %r8, 4, %d2;\n"
	"st.global.u32 [%d3], %r2; ret;\n}\n"
	".visible .entry read3(.param .u64 t, .param .u64 out)\n{\n"
	".reg .b32 %r<12>; .reg .b64 %d<4>; ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ctaid.y; mov.u32 %r9, %ntid.x;\n"
	"mov.u32 %r10, %nctaid.x; tex.3d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r1, %r6, %r7, "
	"%r7}];\n"
	"mad.lo.u32 %r8, %r7, %r10, %r6; mad.lo.u32 %r8, %r8, %r9, %r1; mad.wide.u32 %d3, %r8, 4, "
	"%d2;\n"
	"st.global.u32 [%d3], %r2; ret;\n}\n"
	".visible .entry layers(.param .u64 t, .param .u64 out)\n{\n"
	".reg .b32 %r<12>; .reg .b64 %d<4>; ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ctaid.y; mov.u32 %r9, %ntid.x;\n"
	"mov.u32 %r10, %nctaid.x; tex.a2d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r7, %r1, %r6, "
	"%r6}];\n"
	"mad.lo.u32 %r8, %r7, %r10, %r6; mad.lo.u32 %r8, %r8, %r9, %r1; mad.wide.u32 %d3, %r8, 4, "
	"%d2;\n"
	"st.global.u32 [%d3], %r2; ret;\n}\n"
	".visible .entry turn(.param .u64 s, .param .u64 unused)\n{\n"
	".reg .b32 %r<8>; .reg .b64 %d<4>; ld.param.u64 %d1, [s]; mov.u32 %r1, %tid.x;\n"
	"mov.u32 %r2, %ctaid.x; shl.b32 %r1, %r1, 2; suld.b.2d.b32.trap {%r3}, [%d1, {%r1, %r2}];\n"
	"not.b32 %r3, %r3; sust.b.2d.b32.trap [%d1, {%r1, %r2}], {%r3}; ret;\n}\n";

static CUfunction kernels[5];
enum { READ1, READ2, READ3, LAYERS, TURN };
static unsigned texels[DEPTH][HEIGHT][WIDTH], out[DEPTH][HEIGHT][WIDTH];
static CUdeviceptr result;

static CUDA_ARRAY3D_DESCRIPTOR words(size_t width, size_t height, size_t depth, unsigned flags)
{
	return (CUDA_ARRAY3D_DESCRIPTOR){ .Width = width,
					  .Height = height,
					  .Depth = depth,
					  .Format = CU_AD_FORMAT_UNSIGNED_INT32,
					  .NumChannels = 1,
					  .Flags = flags };
}

static CUarray array_new(size_t width, size_t height, size_t depth, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = words(width, height, depth, flags);
	CUarray array;

	assert_cu(cuArray3DCreate_v2(&array, &d));
	return array;
}

static CUDA_RESOURCE_DESC resource_of(CUarray array)
{
	return (CUDA_RESOURCE_DESC){ .resType = CU_RESOURCE_TYPE_ARRAY, .res.array.hArray = array };
}

static CUtexObject texture_new(const CUDA_RESOURCE_DESC *resource)
{
	CUDA_TEXTURE_DESC plain = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP,
						     CU_TR_ADDRESS_MODE_CLAMP,
						     CU_TR_ADDRESS_MODE_CLAMP } };
	CUtexObject object = 0;

	assert_cu(cuTexObjectCreate(&object, resource, &plain, NULL));
	assert_int_not_equal(object, 0);
	return object;
}

static void run(unsigned kernel, unsigned long long object, unsigned width, unsigned height,
		unsigned depth)
{
	void *params[] = { &object, &result };

	assert_cu(cuMemsetD8_v2(result, 0xee, sizeof(out)));
	assert_cu(cuLaunchKernel(kernels[kernel], height, depth, 1, width, 1, 1, 0, NULL, params,
				 NULL));
	assert_cu(cuMemcpyDtoH_v2(out, result, 4ul * width * height * depth));
}

/* The whole of an array from @texels, or back into @out. */
static void copy_whole(CUarray array, unsigned depth, bool is_in)
{
	CUDA_MEMCPY3D c = { .WidthInBytes = WIDTH * 4, .Height = HEIGHT, .Depth = depth };

	if (is_in) {
		c.srcMemoryType = CU_MEMORYTYPE_HOST;
		c.srcHost = texels;
		c.srcPitch = WIDTH * 4;
		c.srcHeight = HEIGHT;
		c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
		c.dstArray = array;
	} else {
		memset(out, 0, sizeof(out));
		c.srcMemoryType = CU_MEMORYTYPE_ARRAY;
		c.srcArray = array;
		c.dstMemoryType = CU_MEMORYTYPE_HOST;
		c.dstHost = out;
		c.dstPitch = WIDTH * 4;
		c.dstHeight = HEIGHT;
	}
	assert_cu(cuMemcpy3D_v2(&c));
}

static void an_array_says_what_it_is(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = words(WIDTH, HEIGHT, DEPTH, CUDA_ARRAY3D_SURFACE_LDST), back;
	CUDA_ARRAY_DESCRIPTOR flat;
	CUarray array;

	(void)state;
	assert_cu(cuArray3DCreate_v2(&array, &d));
	assert_cu(cuArray3DGetDescriptor_v2(&back, array));
	assert_memory_equal(&back, &d, sizeof(d));
	assert_cu(cuArrayGetDescriptor_v2(&flat, array));
	assert_int_equal(flat.Width, WIDTH);
	assert_int_equal(flat.Height, HEIGHT);
	assert_cu(cuArrayDestroy(array));
	assert_int_equal(cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuArray3DGetDescriptor_v2(&back, array), CUDA_ERROR_INVALID_HANDLE);
}

static void shapes_that_cannot_be_are_refused(void **state)
{
	const struct {
		CUDA_ARRAY3D_DESCRIPTOR d;
		CUresult result;
	} wrong[] = {
		{ words(0, 0, 0, 0), CUDA_ERROR_INVALID_VALUE },
		{ words(4, 0, 4, 0), CUDA_ERROR_INVALID_VALUE },
		{ words(4, 4, 0, CUDA_ARRAY3D_LAYERED), CUDA_ERROR_INVALID_VALUE },
		{ words(4, 5, 6, CUDA_ARRAY3D_CUBEMAP), CUDA_ERROR_INVALID_VALUE },
		{ words(4, 4, 12, CUDA_ARRAY3D_CUBEMAP), CUDA_ERROR_INVALID_VALUE },
		{ words(1 << 20, 0, 0, 0), CUDA_ERROR_INVALID_VALUE },
		{ words(4, 4, 4, CUDA_ARRAY3D_TEXTURE_GATHER), CUDA_ERROR_INVALID_VALUE },
		{ words(4, 4, 0, CUDA_ARRAY3D_SPARSE), CUDA_ERROR_NOT_SUPPORTED },
		{ { .Width = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 3 },
		  CUDA_ERROR_INVALID_VALUE },
		{ { .Width = 4, .Format = (CUarray_format)0x91, .NumChannels = 4 },
		  CUDA_ERROR_NOT_SUPPORTED },
		{ { .Width = 4, .Format = (CUarray_format)0x44, .NumChannels = 4 },
		  CUDA_ERROR_INVALID_VALUE },
	};
	CUarray array = NULL;

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(wrong); i++)
		assert_int_equal(cuArray3DCreate_v2(&array, &wrong[i].d), wrong[i].result);
	assert_int_equal(cuArray3DCreate_v2(NULL, &wrong[0].d), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuArrayCreate_v2(&array, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_null(array);
}

static void memory_of_arrays_is_the_cards(void **state)
{
	size_t before, during, after, total;
	CUDA_ARRAY3D_DESCRIPTOR d = words(1024, 1024, 16, 0);
	CUarray array, other;

	(void)state;
	assert_cu(cuMemGetInfo_v2(&before, &total));
	assert_cu(cuArray3DCreate_v2(&array, &d));
	assert_cu(cuMemGetInfo_v2(&during, &total));
	assert_true(before - during >= 64ul << 20);
	assert_int_equal(cuArray3DCreate_v2(&other, &d), CUDA_ERROR_OUT_OF_MEMORY);
	assert_cu(cuArrayDestroy(array));
	assert_cu(cuMemGetInfo_v2(&after, &total));
	assert_int_equal(after, before);
}

static void boxes_go_into_arrays_and_out(void **state)
{
	CUarray array = array_new(WIDTH, HEIGHT, DEPTH, 0), other = array_new(WIDTH, HEIGHT, 0, 0);
	CUDA_MEMCPY3D inside = { .srcMemoryType = CU_MEMORYTYPE_ARRAY,
				 .srcArray = array,
				 .srcXInBytes = 8,
				 .srcY = 3,
				 .srcZ = 2,
				 .dstMemoryType = CU_MEMORYTYPE_ARRAY,
				 .dstArray = other,
				 .dstXInBytes = 4,
				 .WidthInBytes = 20,
				 .Height = 4,
				 .Depth = 1 };

	(void)state;
	copy_whole(array, DEPTH, true);
	copy_whole(array, DEPTH, false);
	assert_memory_equal(out, texels, sizeof(out));
	copy_whole(other, 1, true);
	assert_cu(cuMemcpy3D_v2(&inside));
	copy_whole(other, 1, false);
	for (unsigned y = 0; y < 4; y++)
		assert_memory_equal(&out[0][y][1], &texels[2][3 + y][2], 20);
	assert_int_equal(out[0][0][0], texels[0][0][0]);
	inside.srcXInBytes = WIDTH * 4 - 16;
	assert_int_equal(cuMemcpy3D_v2(&inside), CUDA_ERROR_INVALID_VALUE);
	inside.srcXInBytes = 0;
	inside.Height = SIZE_MAX;
	assert_int_equal(cuMemcpy3D_v2(&inside), CUDA_ERROR_INVALID_VALUE);
	inside.Height = 4;
	assert_cu(cuArrayDestroy(other));
	assert_int_equal(cuMemcpy3D_v2(&inside), CUDA_ERROR_INVALID_HANDLE);
	assert_cu(cuArrayDestroy(array));
}

static void a_row_is_copied_from_an_offset_on(void **state)
{
	CUarray a = array_new(64, 0, 0, 0), b = array_new(64, 0, 0, 0);
	unsigned row[64], back[64] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		row[i] = 1000 + i;
	assert_cu(cuMemcpyHtoA_v2(a, 0, row, 256));
	assert_cu(cuMemcpyAtoA_v2(b, 16, a, 32, 128));
	assert_cu(cuMemcpyAtoD_v2(result, b, 16, 128));
	assert_cu(cuMemcpyDtoH_v2(back, result, 128));
	assert_memory_equal(back, row + 8, 128);
	assert_cu(cuMemcpyDtoA_v2(a, 4, result, 128));
	assert_cu(cuMemcpyAtoHAsync_v2(back, a, 4, 128, NULL));
	assert_cu(cuMemcpyHtoAAsync_v2(a, 0, row, 4, NULL));
	assert_cu(cuCtxSynchronize());
	assert_memory_equal(back, row + 8, 128);
	assert_cu(cuMemcpyAtoH_v2(back, a, 0, 8));
	assert_int_equal(back[0], row[0]);
	assert_int_equal(back[1], row[8]);
	assert_int_equal(cuMemcpyHtoA_v2(a, 4, row, 256), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyAtoH_v2(back, NULL, 0, 8), CUDA_ERROR_INVALID_HANDLE);
	assert_cu(cuArrayDestroy(a));
	assert_cu(cuArrayDestroy(b));
}

static void textures_read_arrays_of_every_shape(void **state)
{
	const struct {
		unsigned kernel, height, depth, flags;
	} shapes[] = {
		{ READ1, 0, 0, 0 },
		{ READ2, HEIGHT, 0, 0 },
		{ READ3, HEIGHT, DEPTH, 0 },
		{ LAYERS, HEIGHT, DEPTH, CUDA_ARRAY3D_LAYERED },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(shapes); i++) {
		unsigned rows = SLU_MAX(shapes[i].height, 1u),
			 layers = SLU_MAX(shapes[i].depth, 1u);
		CUarray array =
			array_new(WIDTH, shapes[i].height, shapes[i].depth, shapes[i].flags);
		CUDA_RESOURCE_DESC resource = resource_of(array), back;
		CUtexObject object = texture_new(&resource);
		CUDA_MEMCPY3D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
				    .srcHost = texels,
				    .srcPitch = WIDTH * 4,
				    .srcHeight = HEIGHT,
				    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
				    .dstArray = array,
				    .WidthInBytes = WIDTH * 4,
				    .Height = rows,
				    .Depth = layers };

		assert_cu(cuMemcpy3D_v2(&c));
		run(shapes[i].kernel, object, WIDTH, rows, layers);
		assert_memory_equal(out, texels, 4ul * WIDTH * rows * layers);
		assert_cu(cuTexObjectGetResourceDesc(&back, object));
		assert_memory_equal(&back, &resource, sizeof(back));
		assert_cu(cuTexObjectDestroy(object));
		assert_int_equal(cuTexObjectDestroy(object), CUDA_ERROR_INVALID_VALUE);
		assert_cu(cuArrayDestroy(array));
	}
}

static void textures_read_plain_memory(void **state)
{
	size_t pitch = 256;
	CUDA_RESOURCE_DESC linear = { .resType = CU_RESOURCE_TYPE_LINEAR,
				      .res.linear = { .format = CU_AD_FORMAT_UNSIGNED_INT32,
						      .numChannels = 1,
						      .sizeInBytes = WIDTH * 4 } };
	CUDA_RESOURCE_DESC pitched = { .resType = CU_RESOURCE_TYPE_PITCH2D,
				       .res.pitch2D = { .format = CU_AD_FORMAT_UNSIGNED_INT32,
							.numChannels = 1,
							.width = WIDTH,
							.height = HEIGHT,
							.pitchInBytes = pitch } };
	CUDA_TEXTURE_DESC plain = { 0 };
	CUtexObject object;
	CUdeviceptr p;

	(void)state;
	/* whole granules, which are gone when they are freed */
	assert_cu(cuMemAlloc_v2(&p, 4 << 20));
	for (unsigned y = 0; y < HEIGHT; y++)
		assert_cu(cuMemcpyHtoD_v2(p + y * pitch, texels[0][y], WIDTH * 4));
	linear.res.linear.devPtr = pitched.res.pitch2D.devPtr = p;
	object = texture_new(&linear);
	run(READ1, object, WIDTH + 3, 1, 1);
	assert_memory_equal(out, texels, WIDTH * 4);
	/* behind its end there is nothing */
	assert_int_equal(((unsigned *)out)[WIDTH], 0);
	assert_cu(cuTexObjectDestroy(object));
	object = texture_new(&pitched);
	run(READ2, object, WIDTH, HEIGHT, 1);
	assert_memory_equal(out, texels, sizeof(out[0]));
	assert_cu(cuTexObjectDestroy(object));

	linear.res.linear.devPtr = p + 4;
	assert_int_equal(cuTexObjectCreate(&object, &linear, &plain, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	linear.res.linear.devPtr = p;
	linear.res.linear.sizeInBytes = 512ul << 20;
	assert_int_equal(cuTexObjectCreate(&object, &linear, &plain, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	linear.res.linear.sizeInBytes = 4096;
	pitched.res.pitch2D.pitchInBytes = 100;
	assert_int_equal(cuTexObjectCreate(&object, &pitched, &plain, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFree_v2(p));
	assert_int_equal(cuTexObjectCreate(&object, &linear, &plain, NULL),
			 CUDA_ERROR_INVALID_VALUE);
}

static void what_a_texture_cannot_do_is_refused(void **state)
{
	CUarray array = array_new(WIDTH, HEIGHT, 0, 0);
	CUDA_RESOURCE_DESC resource = resource_of(array);
	CUDA_RESOURCE_VIEW_DESC view = { .width = WIDTH, .height = HEIGHT }, back;
	CUDA_TEXTURE_DESC t = { 0 }, same;
	CUtexObject object;
	CUsurfObject surface;

	(void)state;
	/* integers of 32 bits cannot be filtered */
	t.filterMode = CU_TR_FILTER_MODE_LINEAR;
	assert_int_equal(cuTexObjectCreate(&object, &resource, &t, NULL), CUDA_ERROR_INVALID_VALUE);
	t.filterMode = CU_TR_FILTER_MODE_POINT;
	t.flags = CU_TRSF_SRGB;
	assert_int_equal(cuTexObjectCreate(&object, &resource, &t, NULL), CUDA_ERROR_NOT_SUPPORTED);
	t.flags = 0;
	t.maxAnisotropy = 4;
	assert_int_equal(cuTexObjectCreate(&object, &resource, &t, NULL), CUDA_ERROR_NOT_SUPPORTED);
	t.maxAnisotropy = 0;
	resource.flags = 1;
	assert_int_equal(cuTexObjectCreate(&object, &resource, &t, NULL), CUDA_ERROR_INVALID_VALUE);
	resource.flags = 0;
	view.width = 1;
	assert_int_equal(cuTexObjectCreate(&object, &resource, &t, &view),
			 CUDA_ERROR_NOT_SUPPORTED);
	view.width = WIDTH;
	assert_cu(cuTexObjectCreate(&object, &resource, &t, &view));
	assert_cu(cuTexObjectGetTextureDesc(&same, object));
	assert_memory_equal(&same, &t, sizeof(t));
	assert_cu(cuTexObjectGetResourceViewDesc(&back, object));
	assert_memory_equal(&back, &view, sizeof(view));
	assert_int_equal(cuSurfObjectDestroy(object), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuTexObjectDestroy(object));
	/* made without the flag for it */
	assert_int_equal(cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuArrayDestroy(array));
	assert_int_equal(cuTexObjectCreate(&object, &resource, &t, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void surfaces_write_arrays(void **state)
{
	CUarray array = array_new(WIDTH, HEIGHT, 0, CUDA_ARRAY3D_SURFACE_LDST);
	CUDA_RESOURCE_DESC resource = resource_of(array), back;
	CUsurfObject surface;

	(void)state;
	assert_cu(cuSurfObjectCreate(&surface, &resource));
	assert_cu(cuSurfObjectGetResourceDesc(&back, surface));
	assert_ptr_equal(back.res.array.hArray, array);
	copy_whole(array, 1, true);
	run(TURN, surface, WIDTH, HEIGHT, 1);
	copy_whole(array, 1, false);
	for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
		assert_int_equal(((unsigned *)out)[i], ~((unsigned *)texels)[i]);
	assert_cu(cuSurfObjectDestroy(surface));
	assert_cu(cuArrayDestroy(array));
}

static void a_mipmapped_array_has_one_level(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = words(WIDTH, HEIGHT, 0, 0);
	CUDA_RESOURCE_DESC resource = { .resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY };
	CUmipmappedArray mipmap;
	CUtexObject object;
	CUarray level;

	(void)state;
	assert_int_equal(cuMipmappedArrayCreate(&mipmap, &d, 4), CUDA_ERROR_NOT_SUPPORTED);
	assert_cu(cuMipmappedArrayCreate(&mipmap, &d, 1));
	assert_cu(cuMipmappedArrayGetLevel(&level, mipmap, 0));
	assert_int_equal(cuMipmappedArrayGetLevel(&level, mipmap, 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuArrayDestroy(level), CUDA_ERROR_INVALID_HANDLE);
	copy_whole(level, 1, true);
	resource.res.mipmap.hMipmappedArray = mipmap;
	object = texture_new(&resource);
	run(READ2, object, WIDTH, HEIGHT, 1);
	assert_memory_equal(out, texels, sizeof(out[0]));
	assert_cu(cuTexObjectDestroy(object));
	assert_cu(cuMipmappedArrayDestroy(mipmap));
	assert_int_equal(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
}

static void a_mipmapped_array_ends_with_its_context(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = words(WIDTH, HEIGHT, 0, 0);
	CUmipmappedArray mipmap;
	CUcontext context;
	CUarray level, arrays[4];

	(void)state;
	assert_cu(cuCtxCreate_v2(&context, 0, 0));
	assert_cu(cuMipmappedArrayCreate(&mipmap, &d, 1));
	assert_cu(cuCtxDestroy_v2(context));
	/* one of them may be where its level was */
	for (unsigned i = 0; i < 4; i++)
		arrays[i] = array_new(WIDTH, HEIGHT, 0, 0);
	assert_int_equal(cuMipmappedArrayGetLevel(&level, mipmap, 0), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuMipmappedArrayDestroy(mipmap), CUDA_ERROR_INVALID_HANDLE);
	for (unsigned i = 0; i < 4; i++)
		assert_cu(cuArrayDestroy(arrays[i]));
}

/* Programs destroy a texture right behind the launch that uses it. */
static void a_texture_may_be_destroyed_behind_a_launch(void **state)
{
	CUarray array = array_new(WIDTH, HEIGHT, 0, 0);
	CUDA_RESOURCE_DESC resource = resource_of(array);

	(void)state;
	copy_whole(array, 1, true);
	for (unsigned i = 0; i < 200; i++) {
		CUtexObject object = texture_new(&resource);
		void *params[] = { &object, &result };

		assert_cu(cuLaunchKernel(kernels[READ2], HEIGHT, 1, 1, WIDTH, 1, 1, 0, NULL, params,
					 NULL));
		assert_cu(cuTexObjectDestroy(object));
	}
	assert_cu(cuMemcpyDtoH_v2(out, result, sizeof(out[0])));
	assert_memory_equal(out, texels, sizeof(out[0]));
	assert_cu(cuArrayDestroy(array));
}

static void a_context_takes_its_arrays_with_it(void **state)
{
	CUDA_ARRAY3D_DESCRIPTOR d = words(WIDTH, HEIGHT, 0, 0), back;
	CUDA_RESOURCE_DESC resource, same;
	CUtexObject object;
	CUcontext own, before;
	CUarray array;

	(void)state;
	assert_cu(cuCtxGetCurrent(&before));
	assert_cu(cuCtxCreate_v2(&own, 0, 0));
	assert_cu(cuArray3DCreate_v2(&array, &d));
	resource = resource_of(array);
	object = texture_new(&resource);
	assert_cu(cuCtxDestroy_v2(own));
	assert_cu(cuCtxSetCurrent(before));
	assert_int_equal(cuArray3DGetDescriptor_v2(&back, array), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuTexObjectGetResourceDesc(&same, object), CUDA_ERROR_INVALID_VALUE);
}

/* The last one: it breaks the context. */
static void a_number_that_is_no_texture_ends_the_kernel(void **state)
{
	unsigned long long object = 0x1234;
	void *params[] = { &object, &result };

	(void)state;
	assert_cu(cuLaunchKernel(kernels[READ2], 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static int set_up(void **state)
{
	static const char *const names[] = { "read1", "read2", "read3", "layers", "turn" };

	(void)state;
	test_context_make("96M");
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(names); i++)
		kernels[i] = test_function(ptx, names[i]);
	for (unsigned i = 0; i < DEPTH * HEIGHT * WIDTH; i++)
		((unsigned *)texels)[i] = i * 2654435761u;
	assert_cu(cuMemAlloc_v2(&result, sizeof(out)));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_array_says_what_it_is),
		cmocka_unit_test(shapes_that_cannot_be_are_refused),
		cmocka_unit_test(memory_of_arrays_is_the_cards),
		cmocka_unit_test(boxes_go_into_arrays_and_out),
		cmocka_unit_test(a_row_is_copied_from_an_offset_on),
		cmocka_unit_test(textures_read_arrays_of_every_shape),
		cmocka_unit_test(textures_read_plain_memory),
		cmocka_unit_test(what_a_texture_cannot_do_is_refused),
		cmocka_unit_test(surfaces_write_arrays),
		cmocka_unit_test(a_mipmapped_array_has_one_level),
		cmocka_unit_test(a_mipmapped_array_ends_with_its_context),
		cmocka_unit_test(a_texture_may_be_destroyed_behind_a_launch),
		cmocka_unit_test(a_context_takes_its_arrays_with_it),
		cmocka_unit_test(a_number_that_is_no_texture_ends_the_kernel),
	};

	return cmocka_run_group_tests_name("array", tests, set_up, test_device_tear_down);
}
