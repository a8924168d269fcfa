/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One of two processes that wait for each other: each has memory of its own on a device, and a
 * number goes to and fro between them over pipes. Who has the number adds it to every word on the
 * device and sends it on, raised by one. Only one of the two has work at any time, and it has it
 * only because the other one had its turn.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client.h"
#include "cuda-util.h"

static const char usage[] =
	"usage: cuda-pingpong [OPTION]...\n"
	"Adds numbers from standard input to memory of a CUDA device and sends them on to "
	"standard\n"
	"output.\n"
	"\n"
	"  -m, --mib N     MiB on the device (default 1)\n"
	"  -n, --hops N    how often it gets the number (default 20)\n"
	"  -d, --device N  on this device (default 0)\n"
	"  -b, --begin     it has the first number; else it waits for one\n"
	"  -f, --function  the number is waited for in a host function in front of the kernel\n"
	"  -s, --spin      it asks for the number again and again, and so it does for the kernel's "
	"end\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT "7: the other process went away.\n";

#define EXIT_ALONE 7
#define BLOCK	   256

static const char ptx[] = ".version 6.3\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry add(.param .u64 p, .param .u32 n, .param .u32 number)\n"
			  "{\n"
			  "	.reg .pred %q<2>;\n"
			  "	.reg .b32 %r<10>;\n"
			  "	.reg .b64 %d<5>;\n"
			  "	ld.param.u64 %d1, [p];\n"
			  "	ld.param.u32 %r1, [n];\n"
			  "	ld.param.u32 %r2, [number];\n"
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
			  "	add.s32 %r8, %r7, %r2;\n"
			  "	add.s32 %r9, %r8, %r6;\n"
			  "	st.global.u32 [%d4], %r9;\n"
			  "DONE:\n"
			  "	ret;\n"
			  "}\n";

struct options {
	uint64_t mib, n_hops, device;
	bool begins, by_function, spins;
};

static struct options o;

static void alone(void)
{
	fprintf(stderr, "the other process went away\n");
	_exit(EXIT_ALONE);
}

/* Waits for the number that must come. It is a host function too. */
static void get(void *data)
{
	uint32_t expected = *(uint32_t *)data, number;
	ssize_t n;

	do
		n = read(STDIN_FILENO, &number, sizeof(number));
	while (n < 0 && (errno == EINTR || errno == EAGAIN));
	if (n != (ssize_t)sizeof(number) || number != expected)
		alone();
}

static void finish(CUstream stream)
{
	CUresult r;

	if (!o.spins) {
		CHECK(cuStreamSynchronize(stream));
		return;
	}
	do
		r = cu.cuStreamQuery(stream);
	while (r == CUDA_ERROR_NOT_READY);
	cuda_check(r, "cuStreamQuery");
}

static void read_command_line(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", o.mib, 1, 1 << 12),
		CLIENT_NUMBER('n', "hops", o.n_hops, 1, 1 << 20),
		CLIENT_NUMBER('d', "device", o.device, 0, 63),
		CLIENT_FLAG('b', "begin", o.begins),
		CLIENT_FLAG('f', "function", o.by_function),
		CLIENT_FLAG('s', "spin", o.spins),
		{ 0 },
	};

	o = (struct options){ .mib = 1, .n_hops = 20 };
	if (client_options(argc, argv, options, usage))
		client_misused(usage);
}

int main(int argc, char **argv)
{
	uint32_t n_words, number, sum = 0, *host;
	CUfunction add;
	CUdeviceptr p;
	CUstream stream;

	read_command_line(argc, argv);
	signal(SIGPIPE, SIG_IGN); /* the write tells it as well, in words */
	if (o.spins)
		fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
	n_words = (uint32_t)((o.mib << 20) / 4);
	host = calloc(n_words, 4);
	if (!host)
		return CUDA_EXIT_NO_MEMORY;
	cuda_device = (int)o.device;
	cuda_open();
	add = cuda_function(ptx, "add");
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAlloc_v2(&p, (size_t)n_words * 4));
	CHECK(cuMemcpyHtoD_v2(p, host, (size_t)n_words * 4));
	for (uint64_t hop = 0; hop < o.n_hops; hop++) {
		void *params[] = { &p, &n_words, &number };
		uint32_t expected;

		/* the one that begins has the odd numbers, the other one the even ones */
		number = (uint32_t)(2 * hop + (o.begins ? 1 : 2));
		expected = number - 1;
		if (hop || !o.begins) {
			if (o.by_function)
				CHECK(cuLaunchHostFunc(stream, get, &expected));
			else
				get(&expected);
		}
		CHECK(cuLaunchKernel(add, (n_words + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0,
				     stream, params, NULL));
		finish(stream);
		sum += number;
		/* nobody waits for the very last one */
		if (!o.begins && hop == o.n_hops - 1)
			break;
		if (write(STDOUT_FILENO, &number, sizeof(number)) != (ssize_t)sizeof(number))
			alone();
	}
	CHECK(cuMemcpyDtoH_v2(host, p, (size_t)n_words * 4));
	for (uint32_t i = 0; i < n_words; i++)
		if (host[i] != sum + i * (uint32_t)o.n_hops) {
			fprintf(stderr, "word %u: %08x\n", i, host[i]);
			return CUDA_EXIT_WRONG;
		}
	CHECK(cuMemFree_v2(p));
	CHECK(cuStreamDestroy_v2(stream));
	cuda_close();
	free(host);
	return CUDA_EXIT_RIGHT;
}
