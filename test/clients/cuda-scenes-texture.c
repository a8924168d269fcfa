/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Textures over memory that moves, and over arrays, which do not. A texture is made once and read
 * in every round, with other texels each time.
 */
#include "cuda-scenes.h"

#include <string.h>

#define WIDTH  96u
#define HEIGHT 40u
#define PITCH  512u
#define WORDS  (WIDTH * HEIGHT)

/* out[i] = the texel of thread i, of a texture of one row and of one with many */
static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry row(.param .u64 t, .param .u64 out)\n{\n"
	".reg .b32 %r<9>; .reg .b64 %d<4>; ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ntid.x;\n"
	"mad.lo.u32 %r8, %r6, %r7, %r1; tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r8}];\n"
	"mad.wide.u32 %d3, %r8, 4, %d2; st.global.u32 [%d3], %r2; ret;\n}\n"
	".visible .entry rows(.param .u64 t, .param .u64 out)\n{\n"
	".reg .b32 %r<9>; .reg .b64 %d<4>; ld.param.u64 %d1, [t]; ld.param.u64 %d2, [out];\n"
	"mov.u32 %r1, %tid.x; mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ntid.x;\n"
	"mad.lo.u32 %r8, %r6, %r7, %r1; tex.2d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%d1, {%r1, "
	"%r6}];\n"
	"mad.wide.u32 %d3, %r8, 4, %d2; st.global.u32 [%d3], %r2; ret;\n}\n";

static uint32_t texels[WORDS], back[WORDS];

static CUtexObject texture_of(const CUDA_RESOURCE_DESC *resource)
{
	CUDA_TEXTURE_DESC plain = { .addressMode = { CU_TR_ADDRESS_MODE_CLAMP,
						     CU_TR_ADDRESS_MODE_CLAMP,
						     CU_TR_ADDRESS_MODE_CLAMP } };
	CUtexObject object;

	OK(cuTexObjectCreate(&object, resource, &plain, NULL));
	return object;
}

static void read_back(CUfunction kernel, CUtexObject object, CUdeviceptr out)
{
	void *params[] = { &object, &out };

	OK(cuMemsetD8_v2(out, 0, sizeof(back)));
	OK(cuLaunchKernel(kernel, HEIGHT, 1, 1, WIDTH, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH_v2(back, out, sizeof(back)));
	EXPECT(!memcmp(back, texels, sizeof(back)));
}

static void copy_rows(CUmemorytype type, CUdeviceptr p, CUarray array)
{
	CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = texels,
			    .srcPitch = WIDTH * 4,
			    .dstMemoryType = type,
			    .dstDevice = p,
			    .dstPitch = type == CU_MEMORYTYPE_ARRAY ? 0 : PITCH,
			    .dstArray = array,
			    .WidthInBytes = WIDTH * 4,
			    .Height = HEIGHT };

	OK(cuMemcpy2D_v2(&c));
}

/* Memory that may go away while somebody else has the device, until the input ends. */
void scene_late_texture(const char *mib)
{
	size_t bytes = (size_t)atoi(mib) << 20;
	CUDA_RESOURCE_DESC linear = { .resType = CU_RESOURCE_TYPE_LINEAR };
	CUdeviceptr p, out;
	CUtexObject object;
	CUfunction row;
	CUmodule module;

	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&row, module, "row"));
	OK(cuMemAlloc_v2(&p, bytes));
	OK(cuMemAlloc_v2(&out, sizeof(texels)));
	for (unsigned i = 0; i < WORDS; i++)
		texels[i] = i * 2654435761u;
	OK(cuMemcpyHtoD_v2(p, texels, sizeof(texels)));
	puts("waiting");
	fflush(stdout);
	while (getchar() != EOF)
		;
	linear.res.linear.devPtr = p;
	linear.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
	linear.res.linear.numChannels = 1;
	linear.res.linear.sizeInBytes = bytes;
	object = texture_of(&linear);
	read_back(row, object, out);
	OK(cuTexObjectDestroy(object));
}

void scene_textures(const char *rounds)
{
	CUDA_ARRAY_DESCRIPTOR description = { WIDTH, HEIGHT, CU_AD_FORMAT_UNSIGNED_INT32, 1 };
	CUDA_RESOURCE_DESC linear = { .resType = CU_RESOURCE_TYPE_LINEAR },
			   pitched = { .resType = CU_RESOURCE_TYPE_PITCH2D },
			   fixed = { .resType = CU_RESOURCE_TYPE_ARRAY };
	CUtexObject over_linear, over_pitched, over_array;
	CUdeviceptr p, q, out;
	CUfunction row, rows;
	CUmodule module;
	CUarray array;

	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&row, module, "row"));
	OK(cuModuleGetFunction(&rows, module, "rows"));
	OK(cuMemAlloc_v2(&p, sizeof(texels)));
	OK(cuMemAlloc_v2(&q, PITCH * HEIGHT));
	OK(cuMemAlloc_v2(&out, sizeof(texels)));
	OK(cuArrayCreate_v2(&array, &description));
	linear.res.linear.devPtr = p;
	linear.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT32;
	linear.res.linear.numChannels = 1;
	linear.res.linear.sizeInBytes = sizeof(texels);
	pitched.res.pitch2D.devPtr = q;
	pitched.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT32;
	pitched.res.pitch2D.numChannels = 1;
	pitched.res.pitch2D.width = WIDTH;
	pitched.res.pitch2D.height = HEIGHT;
	pitched.res.pitch2D.pitchInBytes = PITCH;
	fixed.res.array.hArray = array;
	over_linear = texture_of(&linear);
	over_pitched = texture_of(&pitched);
	over_array = texture_of(&fixed);
	for (int k = 0; k < atoi(rounds); k++) {
		for (unsigned i = 0; i < WORDS; i++)
			texels[i] = (i + (uint32_t)k * WORDS) * 2654435761u;
		OK(cuMemcpyHtoD_v2(p, texels, sizeof(texels)));
		copy_rows(CU_MEMORYTYPE_DEVICE, q, NULL);
		copy_rows(CU_MEMORYTYPE_ARRAY, 0, array);
		read_back(row, over_linear, out);
		read_back(rows, over_pitched, out);
		read_back(rows, over_array, out);
		if (k % 4)
			continue;
		OK(cuTexObjectDestroy(over_linear));
		over_linear = texture_of(&linear);
	}
	OK(cuTexObjectDestroy(over_linear));
	OK(cuTexObjectDestroy(over_pitched));
	OK(cuTexObjectDestroy(over_array));
	OK(cuArrayDestroy(array));
	OK(cuMemFree_v2(out));
	OK(cuMemFree_v2(q));
	OK(cuMemFree_v2(p));
	OK(cuModuleUnload(module));
}
