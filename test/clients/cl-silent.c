/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Makes, uses and releases buffers, and counts what the client says to the daemon meanwhile. It
 * runs under Sluice only, and asks the client in its own process.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "cl-util.h"
#include "client.h"
#include "client/client.h"

static const char usage[] = "usage: cl-silent [OPTION]...\n"
			    "Makes, uses and releases buffers; wrong is what is said meanwhile.\n"
			    "\n"
			    "  -n, --number N  so many of 64 KiB to 1 MiB (default 500)\n"
			    "  -h, --help\n"
			    "\n" CL_EXIT_TEXT;

static const char source[] = "kernel void add(global uint *p) {\n"
			     "  p[get_global_id(0)] += 1;\n"
			     "}\n";

#define STEP_BYTES ((size_t)64 << 10)
#define N_STEPS	   16

/* How many messages were sent, but for answers, one to each, and for what is told now and then. */
static uint64_t n_sent(void)
{
	void *client = dlopen("libsluice-client.so", RTLD_NOW | RTLD_NOLOAD);
	void (*counts)(struct slu_client_counts *);
	struct slu_client_counts now;

	counts = client ? (__typeof__(counts))dlsym(client, "slu_client_counts") : NULL;
	if (!counts) {
		fprintf(stderr, "the client is not here\n");
		exit(CL_EXIT_ALONE);
	}
	counts(&now);
	dlclose(client);
	return now.n_messages_sent - now.n_reports_sent - now.n_messages_received;
}

static void use(struct cl_bench *bench, cl_kernel add, size_t bytes)
{
	cl_mem mem = cl_buffer(bench, bytes);

	cl_check(clSetKernelArg(add, 0, sizeof(mem), &mem), "clSetKernelArg");
	cl_launch(bench, add, bytes / 4);
	cl_check(clFinish(bench->queue), "clFinish");
	cl_check(clReleaseMemObject(mem), "clReleaseMemObject");
}

int main(int argc, char **argv)
{
	uint64_t n = 500, before, after;
	const struct client_option options[] = {
		CLIENT_NUMBER('n', "number", n, 1, 1 << 20),
		{ 0 },
	};
	struct cl_bench bench;
	cl_kernel add;
	cl_int r;

	if (client_options(argc, argv, options, usage))
		client_misused(usage);
	cl_open(&bench, source, 0);
	add = clCreateKernel(bench.program, "add", &r);
	cl_check(r, "clCreateKernel");
	/* the first ones wait for the turn, and for credit */
	use(&bench, add, STEP_BYTES);
	use(&bench, add, STEP_BYTES * N_STEPS);
	before = n_sent();
	for (uint64_t i = 0; i < n; i++)
		use(&bench, add, STEP_BYTES * (1 + i % N_STEPS));
	after = n_sent();
	cl_check(clReleaseKernel(add), "clReleaseKernel");
	cl_close(&bench);
	printf("%llu allocations, %llu messages\n", (unsigned long long)n,
	       (unsigned long long)(after - before));
	return after == before ? CL_EXIT_RIGHT : CL_EXIT_WRONG;
}
