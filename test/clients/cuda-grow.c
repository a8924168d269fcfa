/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Takes memory step by step, as programs do that load a model or enlarge their caches: each step is
 * an allocation and a copy from the host. At the end every word of all of them is checked.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "cuda-util.h"

static const char usage[] =
	"usage: cuda-grow [OPTION]...\n"
	"Takes memory of a CUDA device step by step, and checks every word at the end.\n"
	"\n"
	"  -m, --mib N        MiB a step (default 1)\n"
	"  -n, --steps N      so many steps at most (default 8)\n"
	"  -p, --pool         from a memory pool that can be shared with other processes, so that "
	"it\n"
	"                     does not move\n"
	"  -v, --variables    as a variable of a module that is loaded\n"
	"  -x, --export       print a handle of each piece with its number, for another process\n"
	"  -o, --open HANDLE  check the first piece of the process that printed it, and end\n"
	"  -a, --ask          before each step wait for a line of standard input, and answer with\n"
	"                     one after it; the end of standard input is the end of growing\n"
	"  -i, --idle N       after each step do nothing for N ms (default 0)\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT;

#define STEPS_MAX			1024
#define IPC_MEM_LAZY_ENABLE_PEER_ACCESS 1

static uint64_t mib = 1, n_steps = 8, idle_ms;
static bool is_pool, is_variable, exports, asks;
static const char *opened;
static CUmemoryPool pool;
static CUdeviceptr pieces[STEPS_MAX];
static CUmodule modules[STEPS_MAX];
static uint32_t *host;

static size_t n_words(void)
{
	return (size_t)mib << 18;
}

static uint32_t word(uint64_t step, size_t i)
{
	return (uint32_t)(step * 40503u + i * 2654435761u);
}

/* Return: whether there is to be another step. */
static bool ask(void)
{
	char line[16];

	return !asks || fgets(line, sizeof(line), stdin);
}

static void print_handle(uint64_t step)
{
	CUipcMemHandle handle;

	CHECK(cuIpcGetMemHandle(&handle, pieces[step]));
	putchar(' ');
	for (size_t i = 0; i < sizeof(handle.reserved); i++)
		printf("%02x", (unsigned char)handle.reserved[i]);
}

static void answer(uint64_t step)
{
	if (!asks)
		return;
	printf("step %llu", (unsigned long long)step);
	if (exports)
		print_handle(step);
	putchar('\n');
	fflush(stdout);
}

static void take_variable(uint64_t step)
{
	char ptx[256];
	size_t bytes;

	snprintf(ptx, sizeof(ptx),
		 ".version 6.3\n.target sm_75\n.address_size 64\n"
		 ".visible .global .align 16 .b8 piece[%zu];\n",
		 n_words() * 4);
	CHECK(cuModuleLoadData(&modules[step], ptx));
	CHECK(cuModuleGetGlobal_v2(&pieces[step], &bytes, modules[step], "piece"));
}

static void take(uint64_t step)
{
	if (is_variable) {
		take_variable(step);
	} else if (is_pool) {
		CHECK(cuMemAllocFromPoolAsync(&pieces[step], n_words() * 4, pool, NULL));
		CHECK(cuCtxSynchronize());
	} else {
		CHECK(cuMemAlloc_v2(&pieces[step], n_words() * 4));
	}
	for (size_t i = 0; i < n_words(); i++)
		host[i] = word(step, i);
	CHECK(cuMemcpyHtoD_v2(pieces[step], host, n_words() * 4));
}

static bool give(uint64_t step)
{
	bool is_right = true;

	CHECK(cuMemcpyDtoH_v2(host, pieces[step], n_words() * 4));
	for (size_t i = 0; i < n_words() && is_right; i++)
		is_right = host[i] == word(step, i);
	if (is_variable)
		CHECK(cuModuleUnload(modules[step]));
	else if (is_pool)
		CHECK(cuMemFreeAsync(pieces[step], NULL));
	else
		CHECK(cuMemFree_v2(pieces[step]));
	return is_right;
}

/* Return: whether the first piece of another process is right. */
static bool open_piece(void)
{
	CUipcMemHandle handle;
	CUdeviceptr address;
	bool is_right = true;

	for (size_t i = 0; i < sizeof(handle.reserved); i++) {
		unsigned byte;

		if (sscanf(opened + 2 * i, "%2x", &byte) != 1)
			client_misused(usage);
		handle.reserved[i] = (char)byte;
	}
	CHECK(cuIpcOpenMemHandle_v2(&address, handle, IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	CHECK(cuMemcpyDtoH_v2(host, address, n_words() * 4));
	for (size_t i = 0; i < n_words() && is_right; i++)
		is_right = host[i] == word(0, i);
	CHECK(cuIpcCloseMemHandle(address));
	return is_right;
}

int main(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", mib, 1, 4096),
		CLIENT_NUMBER('n', "steps", n_steps, 1, STEPS_MAX),
		CLIENT_FLAG('p', "pool", is_pool),
		CLIENT_FLAG('v', "variables", is_variable),
		CLIENT_FLAG('x', "export", exports),
		CLIENT_WORD('o', "open", opened),
		CLIENT_FLAG('a', "ask", asks),
		CLIENT_NUMBER('i', "idle", idle_ms, 0, 60000),
		{ 0 },
	};
	const CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				       .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	uint64_t n_taken = 0;
	unsigned n_wrong = 0;

	if (client_options(argc, argv, options, usage))
		client_misused(usage);
	cuda_open();
	if (is_pool)
		CHECK(cuMemPoolCreate(&pool, &props));
	host = malloc(n_words() * 4);
	if (!host)
		abort();
	if (opened)
		return open_piece() ? CUDA_EXIT_RIGHT : CUDA_EXIT_WRONG;
	for (; n_taken < n_steps && ask(); n_taken++) {
		take(n_taken);
		answer(n_taken);
		usleep((useconds_t)idle_ms * 1000);
	}
	for (uint64_t step = 0; step < n_taken; step++)
		n_wrong += !give(step);
	CHECK(cuCtxSynchronize());
	if (is_pool)
		CHECK(cuMemPoolDestroy(pool));
	free(host);
	cuda_close();
	if (n_wrong)
		printf("%u of %llu pieces are wrong\n", n_wrong, (unsigned long long)n_taken);
	return n_wrong ? CUDA_EXIT_WRONG : CUDA_EXIT_RIGHT;
}
