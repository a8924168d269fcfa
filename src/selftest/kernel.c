/* SPDX-License-Identifier: Apache-2.0 */
/* Part of selftest.h: the kernels that the parts launch. */
#include "selftest/selftest.h"

#include "base/util.h"

#define THREADS	   256
#define BLOCKS_MAX 512

const char slu_selftest_ptx[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry slu_selftest_add(.param .u64 words, .param .u64 n)\n"
	"{\n"
	"	.reg .pred %p<2>;\n"
	"	.reg .b32 %r<6>;\n"
	"	.reg .b64 %d<7>;\n"
	"	ld.param.u64 %d1, [words];\n"
	"	ld.param.u64 %d2, [n];\n"
	"	cvta.to.global.u64 %d1, %d1;\n"
	"	mov.u32 %r1, %ctaid.x;\n"
	"	mov.u32 %r2, %ntid.x;\n"
	"	mov.u32 %r3, %tid.x;\n"
	"	mov.u32 %r4, %nctaid.x;\n"
	"	mul.wide.u32 %d3, %r1, %r2;\n"
	"	cvt.u64.u32 %d4, %r3;\n"
	"	add.u64 %d3, %d3, %d4;\n"
	"	mul.wide.u32 %d5, %r4, %r2;\n"
	"WORD:\n"
	"	setp.ge.u64 %p1, %d3, %d2;\n"
	"	@%p1 bra END;\n"
	"	shl.b64 %d6, %d3, 2;\n"
	"	add.u64 %d6, %d1, %d6;\n"
	"	ld.global.u32 %r5, [%d6];\n"
	"	add.u32 %r5, %r5, 1;\n"
	"	st.global.u32 [%d6], %r5;\n"
	"	add.u64 %d3, %d3, %d5;\n"
	"	bra WORD;\n"
	"END:\n"
	"	ret;\n"
	"}\n";

CUresult slu_selftest_kernel_load(struct slu_selftest *t, CUfunction *ret_function)
{
	CUmodule module;
	CUresult r = t->driver.cuModuleLoadData(&module, slu_selftest_ptx);

	return r == CUDA_SUCCESS
		       ? t->driver.cuModuleGetFunction(ret_function, module, "slu_selftest_add")
		       : r;
}

CUresult slu_selftest_kernel_launch(struct slu_selftest *t, CUfunction function, CUdeviceptr words,
				    uint64_t n, CUstream stream)
{
	uint64_t blocks = SLU_MIN((n + THREADS - 1) / THREADS, (uint64_t)BLOCKS_MAX);
	void *params[] = { &words, &n };

	return t->driver.cuLaunchKernel(function, (unsigned)SLU_MAX(blocks, (uint64_t)1), 1, 1,
					THREADS, 1, 1, 0, stream, params, NULL);
}
