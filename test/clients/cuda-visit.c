/* SPDX-License-Identifier: Apache-2.0 */

/* Comes to the first CUDA device and goes, in the way of visit.h. */

#include "cuda-util.h"
#include "visit.h"

static CUdeviceptr memory;
static uint64_t n_bytes;

static bool take(uint64_t bytes, const uint8_t pattern[static VISIT_BYTES])
{
	CUresult r = cu.cuMemAlloc_v2(&memory, bytes);

	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		return false;
	cuda_check(r, "cuMemAlloc");
	n_bytes = bytes;
	CHECK(cuMemcpyHtoD_v2(memory, pattern, VISIT_BYTES));
	CHECK(cuMemcpyHtoD_v2(memory + bytes - VISIT_BYTES, pattern, VISIT_BYTES));
	return true;
}

static void give(uint8_t ret_first[static VISIT_BYTES], uint8_t ret_last[static VISIT_BYTES])
{
	CHECK(cuMemcpyDtoH_v2(ret_first, memory, VISIT_BYTES));
	CHECK(cuMemcpyDtoH_v2(ret_last, memory + n_bytes - VISIT_BYTES, VISIT_BYTES));
	CHECK(cuMemFree_v2(memory));
}

int main(int argc, char **argv)
{
	static const struct visit_calls calls = {
		.usage = "usage: cuda-visit [OPTION]...\n"
			 "Takes memory of a CUDA device and gives it back, by the clock.\n"
			 "\n" VISIT_USAGE CUDA_EXIT_TEXT,
		.open = cuda_open,
		.take = take,
		.give = give,
		.close = cuda_close,
	};

	return visit_main(argc, argv, &calls);
}
