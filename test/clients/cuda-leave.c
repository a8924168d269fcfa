/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Leaves in ways that a program may leave: with work queued, by a child that ends or becomes
 * another program, or by giving up a context whose memory is in use. What it says at the end was
 * checked word by word.
 */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda-util.h"

static const char usage[] =
	"usage: cuda-leave [OPTION]... HOW\n"
	"Uses memory of the first CUDA device and leaves it.\n"
	"\n"
	"HOW: exit     return from main with kernels queued\n"
	"     quit     the same by _exit\n"
	"     fork     a child ends, another one becomes a program, meanwhile and afterwards it "
	"works\n"
	"     destroy  contexts are made, filled and destroyed with kernels queued\n"
	"\n"
	"  -m, --mib N     MiB on the device (default 1)\n"
	"  -r, --rounds N  how often (default 3)\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT;

#define BLOCK	  256
#define N_BUFFERS 4
#define N_QUEUED  20 /* kernels a buffer and round */

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

static uint64_t mib = 1, n_rounds = 3;

struct memory {
	CUfunction add;
	CUdeviceptr buffers[N_BUFFERS];
	uint32_t n_words; /* a buffer */
	uint32_t n_added;
	uint32_t *host;
};

static void set_up(struct memory *m)
{
	m->n_words = (uint32_t)((mib << 20) / 4 / N_BUFFERS);
	m->n_added = 0;
	m->host = calloc(m->n_words, 4);
	if (!m->host)
		exit(CUDA_EXIT_NO_MEMORY);
	m->add = cuda_function(ptx, "add");
	for (unsigned i = 0; i < N_BUFFERS; i++) {
		CHECK(cuMemAlloc_v2(&m->buffers[i], (size_t)m->n_words * 4));
		CHECK(cuMemcpyHtoD_v2(m->buffers[i], m->host, (size_t)m->n_words * 4));
	}
}

static void queue(struct memory *m)
{
	for (unsigned k = 0; k < N_QUEUED; k++)
		for (unsigned i = 0; i < N_BUFFERS; i++) {
			void *params[] = { &m->buffers[i], &m->n_words };

			CHECK(cuLaunchKernel(m->add, (m->n_words + BLOCK - 1) / BLOCK, 1, 1, BLOCK,
					     1, 1, 0, NULL, params, NULL));
		}
	m->n_added += N_QUEUED;
}

static void check(struct memory *m)
{
	for (unsigned i = 0; i < N_BUFFERS; i++) {
		CHECK(cuMemcpyDtoH_v2(m->host, m->buffers[i], (size_t)m->n_words * 4));
		for (uint32_t w = 0; w < m->n_words; w++)
			if (m->host[w] != w * m->n_added) {
				fprintf(stderr, "buffer %u, word %u: %08x instead of %08x\n", i, w,
					m->host[w], w * m->n_added);
				exit(CUDA_EXIT_WRONG);
			}
	}
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status)) {
		fprintf(stderr, "a child did not end as it should\n");
		exit(CUDA_EXIT_WRONG);
	}
}

/* The driver is not the child's: it only ends, in both of the ways in which children do. */
static void fork_children(struct memory *m)
{
	for (uint64_t r = 0; r < n_rounds; r++) {
		pid_t ends, becomes;

		queue(m);
		ends = fork();
		if (!ends)
			exit(0);
		becomes = fork();
		if (!becomes) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		queue(m);
		wait_for(ends);
		wait_for(becomes);
		check(m);
	}
}

static void destroy_contexts(void)
{
	for (uint64_t r = 0; r < n_rounds; r++) {
		struct memory m;
		CUcontext context;

		CHECK(cuCtxCreate_v2(&context, 0, 0));
		set_up(&m);
		queue(&m);
		if (r % 2)
			check(&m);
		queue(&m);
		CHECK(cuCtxDestroy_v2(context));
		free(m.host);
	}
}

int main(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "mib", required_argument, NULL, 'm' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct memory m;
	const char *how;
	int c;

	while ((c = getopt_long(argc, argv, "m:r:h", long_options, NULL)) != -1) {
		switch (c) {
		case 'm':
			mib = cuda_number(optarg, 1, 1 << 12, usage);
			break;
		case 'r':
			n_rounds = cuda_number(optarg, 1, 1 << 20, usage);
			break;
		case 'h':
			fputs(usage, stdout);
			return CUDA_EXIT_RIGHT;
		default:
			fputs(usage, stderr);
			return CUDA_EXIT_USAGE;
		}
	}
	how = optind == argc - 1 ? argv[optind] : "";
	cuda_open();
	if (!strcmp(how, "destroy")) {
		destroy_contexts();
		return CUDA_EXIT_RIGHT;
	}
	set_up(&m);
	if (!strcmp(how, "fork")) {
		fork_children(&m);
		return CUDA_EXIT_RIGHT;
	}
	for (uint64_t r = 0; r < n_rounds; r++)
		queue(&m);
	if (!strcmp(how, "quit"))
		_exit(CUDA_EXIT_RIGHT);
	if (!strcmp(how, "exit"))
		return CUDA_EXIT_RIGHT;
	fputs(usage, stderr);
	return CUDA_EXIT_USAGE;
}
