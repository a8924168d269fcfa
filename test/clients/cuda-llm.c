/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program shaped like the inference of a language model: each step reads all of its weights,
 * appends to a cache and takes a fixed time by the device's clock; weights are never written after
 * they were loaded. At the end it checks the weights, by their sums in every step, and the cache.
 *
 * For comparison it can keep its memory as managed memory, plain or with all that a program can
 * tell the driver, or swap itself: it takes turns by the lock of a file, and all its memory comes
 * in at the beginning of a turn and leaves at its end.
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "cuda-util.h"

static const char usage[] =
	"usage: cuda-llm [OPTION]...\n"
	"Reads weights and appends to a cache, step by step.\n"
	"\n"
	"  -w, --weights N  KiB of weights (default 16384)\n"
	"  -l, --layers N   in so many allocations (default 16)\n"
	"  -c, --cache N    KiB of cache (default 1024)\n"
	"  -n, --steps N    (default 20)\n"
	"  -u, --us N       what a step takes by the device's clock (default 12700)\n"
	"  -x, --loops N    a step takes so many thousand turns of a loop instead, which two\n"
	"                   programs at once cannot take in the same time\n"
	"  -i, --idle N     us in which nothing is done after a step (default 0)\n"
	"  -m, --managed    keeps its memory as managed memory\n"
	"  -a, --advise     … and fetches it before each step, as read-mostly data\n"
	"  -s, --swap FILE  takes turns by the lock of FILE, and swaps all its memory\n"
	"  -t, --turn N     ms of such a turn (default 250)\n"
	"  -k, --count FILE writes the number of steps there\n"
	"  -q, --answers    waits for a line, does N steps, or as many as the line says, and\n"
	"                   prints 'answered', until the end of standard input\n"
	"  -e, --endless    steps until the end of standard input; N steps at least\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT;

/*
 * load: every word of a layer gets its number; sum: adds one word of each 4 KiB of a layer to a
 * word; append: writes the step's number into the cache; pause: as cuda-fill's; loop: counts down.
 */
static const char ptx[] = ".version 6.3\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry load(.param .u64 p, .param .u32 n)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b32 %r<6>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	mov.u32 %r2, %ctaid.x;\n"
			  "	mov.u32 %r3, %ntid.x;\n"
			  "	mov.u32 %r4, %tid.x;\n"
			  "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
			  "	setp.ge.u32 %q1, %r5, %r1;\n"
			  "	@%q1 bra DONE;\n"
			  "	mul.wide.u32 %d2, %r5, 4;\n"
			  "	cvta.to.global.u64 %d3, %d1;\n"
			  "	add.s64 %d4, %d3, %d2;\n"
			  "	st.global.u32 [%d4], %r5;\n"
			  "DONE:\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry sum(.param .u64 p, .param .u32 n, .param .u64 s)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b32 %r<8>;\n"
			  "	.reg .b64 %d<7>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	ld.param.u64 %d5, [s];\n"
			  "	mov.u32 %r2, %ctaid.x;\n"
			  "	mov.u32 %r3, %ntid.x;\n"
			  "	mov.u32 %r4, %tid.x;\n"
			  "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
			  "	setp.ge.u32 %q1, %r5, %r1;\n"
			  "	@%q1 bra DONE;\n"
			  "	mul.wide.u32 %d2, %r5, 4096;\n"
			  "	cvta.to.global.u64 %d3, %d1;\n"
			  "	add.s64 %d4, %d3, %d2;\n"
			  "	ld.global.u32 %r6, [%d4];\n"
			  "	cvta.to.global.u64 %d6, %d5;\n"
			  "	atom.global.add.u32 %r7, [%d6], %r6;\n"
			  "DONE:\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry append(.param .u64 p, .param .u32 x)\n"
			  "{\n"
			  "	.reg .b32 %r<4>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [x];\n"
			  "	mov.u32 %r2, %tid.x;\n"
			  "	mul.wide.u32 %d2, %r2, 4;\n"
			  "	cvta.to.global.u64 %d3, %d1;\n"
			  "	add.s64 %d4, %d3, %d2;\n"
			  "	st.global.u32 [%d4], %r1;\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry pause(.param .u64 ns)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b64 %d<4>;\n"
			  "	ld.param.u64 %d1, [ns];\n"
			  "	mov.u64 %d2, %globaltimer;\n"
			  "	add.s64 %d1, %d1, %d2;\n"
			  "WAIT:\n"
			  "	mov.u64 %d3, %globaltimer;\n"
			  "	setp.lt.u64 %q1, %d3, %d1;\n"
			  "	@%q1 bra WAIT;\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry loop(.param .u64 n)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b64 %d<3>;\n"
			  "	ld.param.u64 %d1, [n];\n"
			  "AGAIN:\n"
			  "	add.s64 %d1, %d1, -1;\n"
			  "	setp.gt.s64 %q1, %d1, 0;\n"
			  "	@%q1 bra AGAIN;\n"
			  "	ret;\n"
			  "}\n";

enum { BLOCK = 256, PAGE_BYTES = 4096, APPENDED_WORDS = 256 };

static uint64_t weights_kib = 16384, n_layers = 16, cache_kib = 1024, n_steps = 20, step_us = 12700;
static uint64_t turn_ms = 250, idle_us, n_loops;
static bool is_endless, answers, is_managed, is_advised;
static const char *swap_path, *count_path;
static int swap_fd = -1, count_fd = -1;
static CUdeviceptr *layers, cache, sum_word;
static CUfunction load, sum, append, pause_for;

static uint32_t layer_words(void)
{
	return (uint32_t)(weights_kib * 256 / n_layers / 1024 * 1024);
}

/* What the sums of all layers add up to in one step. */
static uint32_t expected_sum(void)
{
	uint32_t one = 0, n = layer_words() / (PAGE_BYTES / 4);

	for (uint32_t i = 0; i < n; i++)
		one += i * (PAGE_BYTES / 4);
	return one * (uint32_t)n_layers;
}

static void launch(CUfunction function, uint32_t n_threads, void **params)
{
	CHECK(cuLaunchKernel(function, (n_threads + BLOCK - 1) / BLOCK, 1, 1,
			     n_threads < BLOCK ? n_threads : BLOCK, 1, 1, 0, NULL, params, NULL));
}

/* The allocations in one order: the layers, the cache, the word. */
static CUdeviceptr *allocation(uint64_t i, size_t *ret_bytes)
{
	*ret_bytes = i < n_layers    ? (size_t)layer_words() * 4
		     : i == n_layers ? cache_kib * 1024
				     : 4;
	return i < n_layers ? &layers[i] : i == n_layers ? &cache : &sum_word;
}

static void allocate(CUdeviceptr *address, size_t bytes)
{
	if (!is_managed)
		CHECK(cuMemAlloc_v2(address, bytes));
	else
		CHECK(cuMemAllocManaged(address, bytes, CU_MEM_ATTACH_GLOBAL));
}

/* All that a program can tell the driver: weights are read, and all of it is needed now. */
static void advise(void)
{
	for (uint64_t i = 0; is_advised && i < n_layers + 2; i++) {
		size_t bytes;
		CUdeviceptr at = *allocation(i, &bytes);

		CHECK(cuMemPrefetchAsync(at, bytes, 0, NULL));
	}
}

static void **host_copies;

static void swap_begin(void)
{
	while (swap_fd >= 0 && flock(swap_fd, LOCK_EX))
		;
	for (uint64_t i = 0; host_copies && i < n_layers + 2; i++) {
		size_t bytes;
		CUdeviceptr *at = allocation(i, &bytes);

		CHECK(cuMemAlloc_v2(at, bytes));
		CHECK(cuMemcpyHtoD_v2(*at, host_copies[i], bytes));
	}
}

static void swap_end(void)
{
	if (swap_fd < 0)
		return;
	if (!host_copies) {
		host_copies = calloc(n_layers + 2, sizeof(*host_copies));
		for (uint64_t i = 0; host_copies && i < n_layers + 2; i++) {
			size_t bytes;

			allocation(i, &bytes);
			CHECK(cuMemAllocHost_v2(&host_copies[i], bytes));
		}
	}
	for (uint64_t i = 0; host_copies && i < n_layers + 2; i++) {
		size_t bytes;
		CUdeviceptr *at = allocation(i, &bytes);

		CHECK(cuMemcpyDtoH_v2(host_copies[i], *at, bytes));
		CHECK(cuMemFree_v2(*at));
	}
	flock(swap_fd, LOCK_UN);
}

static void load_weights(void)
{
	uint32_t n = layer_words();

	for (uint64_t i = 0; i < n_layers; i++) {
		void *params[] = { &layers[i], &n };

		allocate(&layers[i], (size_t)n * 4);
		launch(load, n, params);
		if (is_advised)
			CHECK(cuMemAdvise(layers[i], (size_t)n * 4, CU_MEM_ADVISE_SET_READ_MOSTLY,
					  0));
	}
	allocate(&cache, cache_kib * 1024);
	allocate(&sum_word, 4);
}

/* Where step @number writes; the cache is a ring. */
static CUdeviceptr cache_address(uint64_t number)
{
	return cache + number * APPENDED_WORDS * 4 % (cache_kib * 1024);
}

static void step(uint64_t number)
{
	uint32_t n = layer_words() / (PAGE_BYTES / 4), x = (uint32_t)number, zero = 0, got;
	CUdeviceptr at = cache_address(number);
	uint64_t length = (n_loops ? n_loops : step_us) * 1000;
	void *pauses[] = { &length }, *appends[] = { &at, &x };

	advise();
	CHECK(cuMemcpyHtoD_v2(sum_word, &zero, 4));
	for (uint64_t i = 0; i < n_layers; i++) {
		void *params[] = { &layers[i], &n, &sum_word };

		launch(sum, n, params);
	}
	launch(append, APPENDED_WORDS, appends);
	CHECK(cuLaunchKernel(pause_for, 1, 1, 1, 1, 1, 1, 0, NULL, pauses, NULL));
	CHECK(cuMemcpyDtoH_v2(&got, sum_word, 4));
	if (idle_us)
		usleep((useconds_t)idle_us);
	if (got == expected_sum())
		return;
	fprintf(stderr, "step %llu: the weights add up to %u instead of %u\n",
		(unsigned long long)number, got, expected_sum());
	exit(CUDA_EXIT_WRONG);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void count_write(uint64_t n_done)
{
	if (count_fd >= 0 && pwrite(count_fd, &n_done, sizeof(n_done), 0) != sizeof(n_done))
		perror("count");
}

static bool goes_on(uint64_t n_done)
{
	return n_done < n_steps || (is_endless && client_input_is_quiet());
}

/* Steps until the end; where it swaps, in turns. */
static uint64_t run(void)
{
	uint64_t n_done = 0;

	while (goes_on(n_done)) {
		uint64_t end_ms = now_ms() + turn_ms;

		do {
			step(n_done++);
			count_write(n_done);
		} while (goes_on(n_done) && (swap_fd < 0 || now_ms() < end_ms));
		if (!goes_on(n_done))
			break;
		swap_end();
		swap_begin();
	}
	return n_done;
}

/* Return: the steps of all answers. */
static uint64_t answer(void)
{
	uint64_t n_done = 0;
	char line[16];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t n = strtoull(line, NULL, 10);

		for (n += n_done + (n ? 0 : n_steps); n_done < n;)
			step(n_done++);
		printf("answered\n");
		fflush(stdout);
	}
	return n_done;
}

static void check_cache(uint64_t n_done)
{
	uint64_t n_slots = cache_kib * 1024 / (APPENDED_WORDS * 4);
	uint32_t words[APPENDED_WORDS];

	for (uint64_t i = n_done > n_slots ? n_done - n_slots : 0; i < n_done; i++) {
		CHECK(cuMemcpyDtoH_v2(words, cache_address(i), sizeof(words)));
		for (unsigned k = 0; k < APPENDED_WORDS; k++) {
			if (words[k] == (uint32_t)i)
				continue;
			fprintf(stderr, "the cache has %u instead of %u\n", words[k], (uint32_t)i);
			exit(CUDA_EXIT_WRONG);
		}
	}
}

int main(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('w', "weights", weights_kib, 64, 1 << 22),
		CLIENT_NUMBER('l', "layers", n_layers, 1, 4096),
		CLIENT_NUMBER('c', "cache", cache_kib, 1, 1 << 22),
		CLIENT_NUMBER('n', "steps", n_steps, 1, 1 << 30),
		CLIENT_NUMBER('u', "us", step_us, 1, 1 << 30),
		CLIENT_NUMBER('x', "loops", n_loops, 1, 1 << 30),
		CLIENT_NUMBER('i', "idle", idle_us, 1, 1 << 30),
		CLIENT_FLAG('m', "managed", is_managed),
		CLIENT_FLAG('a', "advise", is_advised),
		CLIENT_WORD('s', "swap", swap_path),
		CLIENT_NUMBER('t', "turn", turn_ms, 1, 1 << 30),
		CLIENT_WORD('k', "count", count_path),
		CLIENT_FLAG('q', "answers", answers),
		CLIENT_FLAG('e', "endless", is_endless),
		{ 0 },
	};
	uint64_t n_done;

	if (client_options(argc, argv, options, usage) || !layer_words())
		client_misused(usage);
	layers = calloc(n_layers, sizeof(*layers));
	if (!layers)
		return CUDA_EXIT_NO_MEMORY;
	is_managed = is_managed || is_advised;
	if (swap_path)
		swap_fd = open(swap_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (count_path)
		count_fd = open(count_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if ((swap_path && swap_fd < 0) || (count_path && count_fd < 0))
		return CUDA_EXIT_WRONG;
	cuda_open();
	load = cuda_function(ptx, "load");
	sum = cuda_function(ptx, "sum");
	append = cuda_function(ptx, "append");
	pause_for = cuda_function(ptx, n_loops ? "loop" : "pause");
	swap_begin();
	load_weights();
	n_done = answers ? answer() : run();
	check_cache(n_done);
	cuda_close();
	free(layers);
	printf("cuda-llm: %llu steps: right\n", (unsigned long long)n_done);
	return CUDA_EXIT_RIGHT;
}
