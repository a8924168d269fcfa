/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Copies over the bus: each direction alone and both at once, from pinned and from pageable memory,
 * and what pinning itself costs. The best of a few rounds counts: others may use the bus as well.
 */

#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/util.h"
#include "selftest/selftest.h"

#define N_ROUNDS 4
#define NO_COPY	 "Sluice cannot move memory: programs that do not fit together wait for each other."

enum { IN = 1, OUT = 2 };

/* For each direction, 0 in and 1 out: a buffer on each side, and the times of the last copy. */
struct link {
	struct slu_selftest *test;
	struct slu_selftest_memory device[2];
	CUstream streams[2];
	CUevent begins[2], ends[2];
	void *host[2];
};

/* The time from @from to @to on the device; negative if @to was first. */
static float span_ms(struct link *l, CUevent from, CUevent to)
{
	float ms = 0;

	l->test->driver.cuEventElapsedTime(&ms, from, to);
	return ms;
}

/* Whether the last two copies ran at the same time for half of the shorter one at least. */
static bool link_overlapped(struct link *l)
{
	float in_ms = span_ms(l, l->begins[0], l->ends[0]);
	float out_ms = span_ms(l, l->begins[1], l->ends[1]);
	float shared_ms =
		SLU_MIN(span_ms(l, l->begins[0], l->ends[1]), span_ms(l, l->begins[1], l->ends[0]));

	return shared_ms >= SLU_MIN(in_ms, out_ms) / 2;
}

static CUresult link_copy(struct link *l, unsigned ways)
{
	const struct slu_selftest_driver *d = &l->test->driver;
	uint64_t bytes = l->test->buffer_bytes;
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < 2 && r == CUDA_SUCCESS; i++) {
		if (!(ways & (i ? OUT : IN)))
			continue;
		r = d->cuEventRecord(l->begins[i], l->streams[i]);
		if (r == CUDA_SUCCESS)
			r = i ? d->cuMemcpyDtoHAsync_v2(l->host[i], l->device[i].address, bytes,
							l->streams[i])
			      : d->cuMemcpyHtoDAsync_v2(l->device[i].address, l->host[i], bytes,
							l->streams[i]);
		if (r == CUDA_SUCCESS)
			r = d->cuEventRecord(l->ends[i], l->streams[i]);
	}
	for (unsigned i = 0; i < 2 && r == CUDA_SUCCESS; i++)
		r = d->cuStreamSynchronize(l->streams[i]);
	return r;
}

/* Reports the best rate. Return: whether there is one. */
static bool link_rate(struct link *l, unsigned ways, const char *key, const char *what)
{
	uint64_t n_ways = (ways & IN ? 1u : 0u) + (ways & OUT ? 1u : 0u), best_ns = UINT64_MAX;
	double rate;

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		uint64_t began_ns = slu_clock_now_ns(), took_ns;
		CUresult r = link_copy(l, ways);

		if (r != CUDA_SUCCESS) {
			slu_selftest_fail(l->test, key, r, what, NO_COPY);
			return false;
		}
		took_ns = slu_clock_now_ns() - began_ns + 1; /* never 0 */
		best_ns = SLU_MIN(best_ns, took_ns);
	}
	rate = (double)(n_ways * l->test->buffer_bytes) * 1e9 / (double)best_ns;
	slu_selftest_figure(l->test, key, rate, SLU_SELFTEST_BYTES_PER_S, what);
	return true;
}

static CUresult link_make(struct link *l)
{
	const struct slu_selftest_driver *d = &l->test->driver;
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < 2 && r == CUDA_SUCCESS; i++) {
		l->host[i] = mmap(NULL, l->test->buffer_bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (l->host[i] == MAP_FAILED)
			return CUDA_ERROR_OUT_OF_MEMORY;
		/* without its pages the first copy would measure the kernel */
		memset(l->host[i], (int)i + 1, l->test->buffer_bytes);
		r = slu_selftest_memory_make(l->test, l->test->buffer_bytes, &l->device[i]);
		if (r == CUDA_SUCCESS)
			r = d->cuStreamCreate(&l->streams[i], CU_STREAM_NON_BLOCKING);
		if (r == CUDA_SUCCESS)
			r = d->cuEventCreate(&l->begins[i], CU_EVENT_DEFAULT);
		if (r == CUDA_SUCCESS)
			r = d->cuEventCreate(&l->ends[i], CU_EVENT_DEFAULT);
	}
	return r;
}

static CUresult link_pin(struct link *l)
{
	uint64_t began_ns = slu_clock_now_ns();
	CUresult r = CUDA_SUCCESS;

	for (unsigned i = 0; i < 2 && r == CUDA_SUCCESS; i++)
		r = l->test->driver.cuMemHostRegister_v2(l->host[i], l->test->buffer_bytes, 0);
	if (r == CUDA_SUCCESS)
		slu_selftest_figure(l->test, "pin.ns_per_gib",
				    (double)(slu_clock_now_ns() - began_ns) * (double)SLU_GIB /
					    (double)(2 * l->test->buffer_bytes),
				    SLU_SELFTEST_NS, "pinning 1 GiB of host memory");
	return r;
}

void slu_selftest_link(struct slu_selftest *t)
{
	struct link l = { .test = t };
	CUresult r;

	if (!slu_selftest_open(t, "link"))
		return;
	r = link_make(&l);
	if (r != CUDA_SUCCESS) {
		slu_selftest_fail(t, "link", r, "buffers to copy", NO_COPY);
		return;
	}
	link_rate(&l, IN, "link.in.pageable", "pageable memory to the device");
	link_rate(&l, OUT, "link.out.pageable", "the device to pageable memory");
	r = link_pin(&l);
	if (r != CUDA_SUCCESS) {
		slu_selftest_fail(t, "pin", r, "pinned host memory",
				  "Sluice copies from pageable memory, which is slower.");
		return;
	}
	link_rate(&l, IN, "link.in", "pinned memory to the device");
	link_rate(&l, OUT, "link.out", "the device to pinned memory");
	if (link_rate(&l, IN | OUT, "link.both", "both directions at once, in sum"))
		slu_selftest_judge(
			t, "link.overlap", link_overlapped(&l),
			"copies in and out run at the same time",
			"A switch takes as long as both directions one after the other.");
}
