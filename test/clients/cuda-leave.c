/* SPDX-License-Identifier: Apache-2.0 */

/* Leaves the first CUDA device in the ways of leave.h; a context is what it gives up. */

#include <stdlib.h>

#include "cuda-util.h"
#include "leave.h"

#define BLOCK 256

static const char ptx[] = ".version 6.3\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry add(.param .u64 p, .param .u32 n)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b32 %r<10>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	mov.u32 %r3, %ctaid.x;\n"
			  "	mov.u32 %r4, %ntid.x;\n"
			  "	mov.u32 %r5, %tid.x;\n"
			  "	mad.lo.s32 %r6, %r3, %r4, %r5;\n"
			  "	setp.ge.u32 %q1, %r6, %r1;\n"
			  "	@%q1 bra DONE;\n"
			  "	mul.wide.u32 %d2, %r6, 4;\n"
			  "	cvta.to.global.u64 %d3, %d1;\n"
			  "	add.s64 %d4, %d3, %d2;\n"
			  "	ld.global.u32 %r7, [%d4];\n"
			  "	add.s32 %r8, %r7, %r6;\n"
			  "	st.global.u32 [%d4], %r8;\n"
			  "DONE:\n"
			  "	ret;\n"
			  "}\n";

static struct {
	CUcontext context; /* NULL: the primary one */
	CUfunction add;
	CUdeviceptr buffers[LEAVE_BUFFERS];
	uint32_t n_words; /* a buffer */
	uint32_t *host;	  /* one buffer */
} m;

static void set_up(uint64_t bytes, bool is_given_up)
{
	if (!cuda_context)
		cuda_open();
	m.context = NULL;
	if (is_given_up)
		CHECK(cuCtxCreate_v2(&m.context, 0, 0));
	m.n_words = (uint32_t)(bytes / 4 / LEAVE_BUFFERS);
	m.host = calloc(m.n_words, 4);
	if (!m.host)
		exit(CUDA_EXIT_NO_MEMORY);
	m.add = cuda_function(ptx, "add");
	for (unsigned i = 0; i < LEAVE_BUFFERS; i++) {
		CHECK(cuMemAlloc_v2(&m.buffers[i], (size_t)m.n_words * 4));
		CHECK(cuMemcpyHtoD_v2(m.buffers[i], m.host, (size_t)m.n_words * 4));
	}
}

static void queue(void)
{
	for (unsigned k = 0; k < LEAVE_LAUNCHES; k++)
		for (unsigned i = 0; i < LEAVE_BUFFERS; i++) {
			void *params[] = { &m.buffers[i], &m.n_words };

			CHECK(cuLaunchKernel(m.add, (m.n_words + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1,
					     1, 0, NULL, params, NULL));
		}
}

static const uint32_t *read_buffer(unsigned i, uint32_t *ret_n_words)
{
	CHECK(cuMemcpyDtoH_v2(m.host, m.buffers[i], (size_t)m.n_words * 4));
	*ret_n_words = m.n_words;
	return m.host;
}

static void tear_down(void)
{
	CHECK(cuCtxDestroy_v2(m.context));
	free(m.host);
}

int main(int argc, char **argv)
{
	static const struct leave_calls calls = {
		.usage = "usage: cuda-leave [OPTION]... HOW\n"
			 "Uses memory of the first CUDA device and leaves it.\n"
			 "\n" LEAVE_USAGE CUDA_EXIT_TEXT,
		.set_up = set_up,
		.queue = queue,
		.read = read_buffer,
		.tear_down = tear_down,
		.end_child = exit,
	};

	return leave_main(argc, argv, &calls);
}
