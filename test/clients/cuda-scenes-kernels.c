/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-scenes.h"

#include <stdbool.h>
#include <string.h>

/*
 * Kernels that come and go, so that the driver uses the values of their handles again. All have the
 * same name and parameters, and each writes another one of the buffers: who mistakes one for
 * another loses its words.
 */

enum { BUFFERS = 4, WORDS = 5000, LAUNCHES = 5, INDIRECT = BUFFERS };

static CUdeviceptr buffers[BUFFERS], table;
static uint32_t expected[BUFFERS][WORDS], found[WORDS];
static uint64_t seed;

static uint32_t draw(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(seed >> 33) % n;
}

/* Kernel @number writes that buffer; INDIRECT: the one whose address the table has at @k % 4. */
static const char *text_of(unsigned number)
{
	static char text[4096];

	snprintf(text, sizeof(text),
		 ".version 6.3\n.target sm_75\n.address_size 64\n"
		 ".visible .entry work(.param .u64 p0, .param .u64 p1, .param .u64 p2, "
		 ".param .u64 p3, .param .u64 t, .param .u32 from, .param .u32 n, .param .u32 k)\n"
		 "{\n"
		 "	.reg .pred %%q;\n"
		 "	.reg .b32 %%r<10>;\n"
		 "	.reg .b64 %%d<10>;\n"
		 "	ld.param.u32 %%r1, [from];\n"
		 "	ld.param.u32 %%r2, [n];\n"
		 "	ld.param.u32 %%r3, [k];\n"
		 "	mov.u32 %%r4, %%ctaid.x;\n"
		 "	mov.u32 %%r5, %%ntid.x;\n"
		 "	mov.u32 %%r6, %%tid.x;\n"
		 "	mad.lo.u32 %%r7, %%r4, %%r5, %%r6;\n"
		 "	setp.ge.u32 %%q, %%r7, %%r2;\n"
		 "	@%%q bra DONE;\n"
		 "	add.u32 %%r7, %%r7, %%r1;\n"
		 "%s"
		 "	mul.wide.u32 %%d2, %%r7, 4;\n"
		 "	add.u64 %%d3, %%d1, %%d2;\n"
		 "	ld.global.u32 %%r8, [%%d3];\n"
		 "	mad.lo.u32 %%r8, %%r8, 3, %%r3;\n"
		 "	st.global.u32 [%%d3], %%r8;\n"
		 "DONE:\n"
		 "	ret;\n"
		 "}\n",
		 number == INDIRECT ? "	ld.param.u64 %d4, [t];\n"
				      "	and.b32 %r9, %r3, 3;\n"
				      "	mul.wide.u32 %d5, %r9, 8;\n"
				      "	add.u64 %d4, %d4, %d5;\n"
				      "	ld.global.u64 %d1, [%d4];\n"
		 : number == 0	    ? "	ld.param.u64 %d1, [p0];\n"
		 : number == 1	    ? "	ld.param.u64 %d1, [p1];\n"
		 : number == 2	    ? "	ld.param.u64 %d1, [p2];\n"
				    : "	ld.param.u64 %d1, [p3];\n");
	return text;
}

/* A kernel, and what to unload. */
struct loaded {
	CUmodule module;
	CUlibrary library;
	CUfunction function;
};

static struct loaded load(unsigned number)
{
	struct loaded l = { 0 };
	CUkernel kernel;
	CUmodule module;

	switch (draw(5)) {
	case 0:
		OK(cuModuleLoadData(&l.module, text_of(number)));
		OK(cuModuleGetFunction(&l.function, l.module, "work"));
		return l;
	case 1:
		OK(cuModuleLoadDataEx(&l.module, text_of(number), 0, NULL, NULL));
		OK(cuModuleEnumerateFunctions(&l.function, 1, l.module));
		return l;
	case 2:
		OK(cuLibraryLoadData(&l.library, text_of(number), NULL, NULL, 0, NULL, NULL, 0));
		OK(cuLibraryGetKernel(&kernel, l.library, "work"));
		l.function = (CUfunction)kernel;
		return l;
	case 3:
		OK(cuLibraryLoadData(&l.library, text_of(number), NULL, NULL, 0, NULL, NULL, 0));
		OK(cuLibraryGetKernel(&kernel, l.library, "work"));
		OK(cuKernelGetFunction(&l.function, kernel));
		return l;
	default:
		OK(cuLibraryLoadData(&l.library, text_of(number), NULL, NULL, 0, NULL, NULL, 0));
		OK(cuLibraryGetModule(&module, l.library));
		OK(cuModuleGetFunction(&l.function, module, "work"));
		return l;
	}
}

static void unload(const struct loaded *l)
{
	if (l->module)
		OK(cuModuleUnload(l->module));
	if (l->library)
		OK(cuLibraryUnload(l->library));
}

static void launch(CUfunction function, unsigned number)
{
	struct {
		CUdeviceptr p[BUFFERS], t;
		uint32_t from, n, k;
	} a = { .t = table, .from = draw(WORDS), .k = draw(1000) };
	size_t bytes = sizeof(a);
	void *params[] = { &a.p[0], &a.p[1], &a.p[2], &a.p[3], &a.t, &a.from, &a.n, &a.k };
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &a, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			  CU_LAUNCH_PARAM_END };
	CUlaunchConfig config = {
		.gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1, .blockDimZ = 1
	};
	unsigned written = number == INDIRECT ? a.k % BUFFERS : number;

	memcpy(a.p, buffers, sizeof(a.p));
	a.n = 1 + draw(WORDS - a.from);
	config.gridDimX = (a.n + 63) / 64;
	switch (draw(3)) {
	case 0:
		OK(cuLaunchKernel(function, config.gridDimX, 1, 1, 64, 1, 1, 0, NULL, params,
				  NULL));
		break;
	case 1:
		OK(cuLaunchKernel(function, config.gridDimX, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
		break;
	default:
		OK(cuLaunchKernelEx(&config, function, params, NULL));
	}
	for (uint32_t i = a.from; i < a.from + a.n; i++)
		expected[written][i] = 3 * expected[written][i] + a.k;
}

/* Copies and sets, which say by their arguments what they write. */
static void other_write(void)
{
	unsigned to = draw(BUFFERS), of = draw(BUFFERS);
	uint32_t at = draw(WORDS), n = 1 + draw(WORDS - at), k = draw(1000), rows = 1 + draw(8);

	switch (draw(4)) {
	case 0:
		OK(cuMemsetD32_v2(buffers[to] + 4 * at, k, n));
		for (uint32_t i = 0; i < n; i++)
			expected[to][at + i] = k;
		break;
	case 1:
		OK(cuMemsetD2D32_v2(buffers[to] + 4 * (at / 2), 4 * (WORDS / 2 / rows), k, 1,
				    rows));
		for (uint32_t i = 0; i < rows; i++)
			expected[to][at / 2 + i * (WORDS / 2 / rows)] = k;
		break;
	case 2:
		if (of == to)
			return;
		OK(cuMemcpyDtoD_v2(buffers[to] + 4 * at, buffers[of] + 4 * at, 4 * n));
		memcpy(expected[to] + at, expected[of] + at, 4 * n);
		break;
	default:
		memset(found, (int)k, sizeof(found));
		OK(cuMemcpyHtoD_v2(buffers[to] + 4 * at, found, 4 * n));
		memcpy(expected[to] + at, found, 4 * n);
	}
}

void scene_kernels(const char *rounds)
{
	const char *given = getenv("SLUICE_SEED");

	seed = given ? strtoull(given, NULL, 0) : 1;
	for (unsigned i = 0; i < BUFFERS; i++) {
		OK(cuMemAlloc_v2(&buffers[i], sizeof(found)));
		OK(cuMemsetD32_v2(buffers[i], i, WORDS));
		for (unsigned w = 0; w < WORDS; w++)
			expected[i][w] = i;
	}
	OK(cuMemAlloc_v2(&table, sizeof(buffers)));
	OK(cuMemcpyHtoD_v2(table, buffers, sizeof(buffers)));
	for (unsigned round = 0; round < (rounds ? strtoul(rounds, NULL, 0) : 20); round++) {
		unsigned number = draw(8) ? draw(BUFFERS) : INDIRECT;
		struct loaded l = load(number);

		for (unsigned i = 0; i < LAUNCHES; i++)
			launch(l.function, number);
		OK(cuCtxSynchronize());
		unload(&l);
		other_write();
	}
	for (unsigned i = 0; i < BUFFERS; i++) {
		OK(cuMemcpyDtoH_v2(found, buffers[i], sizeof(found)));
		EXPECT(!memcmp(found, expected[i], sizeof(found)));
		OK(cuMemFree_v2(buffers[i]));
	}
	OK(cuMemFree_v2(table));
}
