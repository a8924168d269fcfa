/* SPDX-License-Identifier: Apache-2.0 */

/* Pinned host memory at an address of the device: the place MAPPED of programs that exceed it. */

#include "base/clock.h"
#include "base/util.h"
#include "selftest/selftest.h"

#define WHAT "kernels and the processor reach host memory at one address"
#define THEN                                                                                   \
	"A program larger than the device gets out-of-memory: no part of it can stay in host " \
	"memory."

/* The processor writes, a kernel adds, the processor reads. */
static CUresult words_pass(struct slu_selftest *t, struct slu_selftest_memory *m,
			   uint64_t *ret_n_wrong, uint64_t *ret_ns)
{
	volatile uint32_t *words = (uint32_t *)(uintptr_t)m->address;
	uint64_t n = m->bytes / sizeof(*words), n_wrong = 0, began_ns;
	CUfunction add;
	CUresult r = slu_selftest_kernel_load(t, &add);

	if (r != CUDA_SUCCESS)
		return r;
	for (uint64_t i = 0; i < n; i++)
		words[i] = (uint32_t)i;
	began_ns = slu_clock_now_ns();
	r = slu_selftest_kernel_launch(t, add, m->address, n, NULL);
	if (r == CUDA_SUCCESS)
		r = t->driver.cuCtxSynchronize();
	if (r != CUDA_SUCCESS)
		return r;
	*ret_ns = SLU_MAX(slu_clock_now_ns() - began_ns, UINT64_C(1));
	for (uint64_t i = 0; i < n; i++)
		n_wrong += words[i] != (uint32_t)i + 1;
	*ret_n_wrong = n_wrong;
	return CUDA_SUCCESS;
}

void slu_selftest_reach(struct slu_selftest *t)
{
	struct slu_selftest_memory m = { 0 };
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA } };
	uint64_t n_wrong = 0, ns = 1;
	CUresult r;

	if (!slu_selftest_open(t, "reach"))
		return;
	if (t->driver.cuDeviceGetAttribute(&prop.location.id, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID,
					   t->device) != CUDA_SUCCESS ||
	    prop.location.id < 0)
		prop.location.id = 0;
	r = slu_selftest_memory_make(t, t->buffer_bytes, &m);
	if (r == CUDA_SUCCESS)
		r = slu_selftest_memory_displace(t, &m);
	if (r == CUDA_SUCCESS)
		r = slu_selftest_memory_place(t, &m, &prop);
	if (r == CUDA_SUCCESS)
		r = words_pass(t, &m, &n_wrong, &ns);
	if (r != CUDA_SUCCESS) {
		slu_selftest_fail(t, "reach", r, WHAT, THEN);
		return;
	}
	slu_selftest_judge(t, "reach", !n_wrong, WHAT, THEN);
	slu_selftest_figure(t, "reach.rate", (double)(2 * m.bytes) * 1e9 / (double)ns,
			    SLU_SELFTEST_BYTES_PER_S, "a kernel that reads and writes host memory");
	slu_selftest_memory_free(t, &m);
}
