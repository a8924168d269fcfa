/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pointers in device memory: a table whose entries are the addresses of nodes in other allocations,
 * which name further nodes. A kernel follows them for many steps and adds up what it passes. Nobody
 * outside can know from the launch's arguments what it will touch, and every address must still be
 * the same when memory has been away meanwhile.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "client.h"
#include "cuda-util.h"

static const char usage[] =
	"usage: cuda-chase [OPTION]...\n"
	"Follows pointers through memory of the first CUDA device and checks where they lead.\n"
	"\n"
	"  -m, --mib N      MiB in all (default 16)\n"
	"  -b, --buffers N  in so many allocations (default 4)\n"
	"  -r, --rounds N   launches (default 10)\n"
	"  -n, --steps N    steps each of 64 walkers takes in a launch (default 1000)\n"
	"  -s, --seed N     of the way (default 1)\n"
	"  -e, --endless    rounds until the end of standard input; N rounds at least\n"
	"  -w, --wait       when the table is there: print 'ready' and wait for the end of "
	"standard\n"
	"                   input before the first round\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT;

/*
 * A node is 16 bytes: the next node's address, and a value. chase(starts, out, steps): walker i
 * begins at the node that starts[i] names; starts[i] becomes the node where it ends, and out[i]
 * grows by the values that it passed.
 */
static const char ptx[] = ".version 6.3\n"
			  ".target sm_75\n"
			  ".address_size 64\n"
			  ".visible .entry chase(.param .u64 starts, .param .u64 out,\n"
			  "	.param .u32 steps)\n"
			  "{\n"
			  "	.reg .pred %q<3>;\n"
			  "	.reg .b32 %r<8>;\n"
			  "	.reg .b64 %d<16>;\n"
			  "	ld.param.u64 %d1, [starts];\n"
			  "	ld.param.u64 %d2, [out];\n"
			  "	ld.param.u32 %r1, [steps];\n"
			  "	mov.u32 %r2, %tid.x;\n"
			  "	mul.wide.u32 %d3, %r2, 8;\n"
			  "	add.s64 %d4, %d1, %d3;\n"
			  "	add.s64 %d5, %d2, %d3;\n"
			  "	ld.global.u64 %d6, [%d4];\n"
			  "	ld.global.u64 %d7, [%d5];\n"
			  "	mov.u32 %r3, 0;\n"
			  "LOOP:\n"
			  "	setp.ge.u32 %q1, %r3, %r1;\n"
			  "	@%q1 bra DONE;\n"
			  "	ld.global.u64 %d8, [%d6+8];\n"
			  "	add.s64 %d7, %d7, %d8;\n"
			  "	ld.global.u64 %d6, [%d6];\n"
			  "	add.s32 %r3, %r3, 1;\n"
			  "	bra.uni LOOP;\n"
			  "DONE:\n"
			  "	st.global.u64 [%d4], %d6;\n"
			  "	st.global.u64 [%d5], %d7;\n"
			  "	ret;\n"
			  "}\n";

#define N_WALKERS 64

struct node {
	uint64_t next;
	uint64_t value;
};

struct options {
	uint64_t mib, n_buffers, n_rounds, n_steps, seed;
	bool is_endless, waits;
};

static struct options o;

static void read_command_line(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_NUMBER('m', "mib", o.mib, 1, 1 << 20),
		CLIENT_NUMBER('b', "buffers", o.n_buffers, 1, 1 << 16),
		CLIENT_NUMBER('r', "rounds", o.n_rounds, 0, 1 << 30),
		CLIENT_NUMBER('n', "steps", o.n_steps, 1, 1 << 30),
		CLIENT_NUMBER('s', "seed", o.seed, 0, UINT32_MAX),
		CLIENT_FLAG('e', "endless", o.is_endless),
		CLIENT_FLAG('w', "wait", o.waits),
		{ 0 },
	};

	o = (struct options){
		.mib = 16, .n_buffers = 4, .n_rounds = 10, .n_steps = 1000, .seed = 1
	};
	if (client_options(argc, argv, options, usage))
		client_misused(usage);
}

/* Whether standard input is still open. */
static bool goes_on(void)
{
	return o.is_endless && client_input_is_quiet();
}

/* A ring through all nodes in random order (Sattolo's shuffle). */
static uint64_t *make_ring(uint64_t n, uint64_t *random)
{
	uint64_t *next = malloc(n * sizeof(*next));

	if (!next)
		exit(CUDA_EXIT_NO_MEMORY);
	for (uint64_t i = 0; i < n; i++)
		next[i] = i;
	for (uint64_t i = n - 1; i > 0; i--) {
		uint64_t j = cuda_random(random) % i, t = next[i];

		next[i] = next[j];
		next[j] = t;
	}
	return next;
}

int main(int argc, char **argv)
{
	uint64_t random, n_nodes, n_each, *next, at[N_WALKERS], sum[N_WALKERS] = { 0 };
	uint64_t starts[N_WALKERS], out[N_WALKERS];
	CUdeviceptr *buffers, d_starts, d_out;
	uint32_t steps;
	unsigned n_wrong = 0;
	struct node *host;
	CUfunction chase;

	read_command_line(argc, argv);
	steps = (uint32_t)o.n_steps;
	random = o.seed * 7919 + 1;
	n_each = (o.mib << 20) / o.n_buffers / sizeof(struct node);
	n_nodes = n_each * o.n_buffers;
	cuda_open();
	chase = cuda_function(ptx, "chase");
	next = make_ring(n_nodes, &random);
	buffers = calloc(o.n_buffers, sizeof(*buffers));
	host = calloc(n_each, sizeof(*host));
	if (!buffers || !host)
		return CUDA_EXIT_NO_MEMORY;
	for (uint64_t b = 0; b < o.n_buffers; b++)
		CHECK(cuMemAlloc_v2(&buffers[b], n_each * sizeof(*host)));
#define ADDRESS(i) (buffers[(i) / n_each] + (i) % n_each * sizeof(struct node))
	for (uint64_t b = 0; b < o.n_buffers; b++) {
		for (uint64_t i = 0; i < n_each; i++) {
			uint64_t number = b * n_each + i;

			host[i].next = ADDRESS(next[number]);
			host[i].value = number * 2654435761u;
		}
		CHECK(cuMemcpyHtoD_v2(buffers[b], host, n_each * sizeof(*host)));
	}
	for (unsigned i = 0; i < N_WALKERS; i++) {
		at[i] = cuda_random(&random) % n_nodes;
		starts[i] = ADDRESS(at[i]);
	}
	CHECK(cuMemAlloc_v2(&d_starts, sizeof(starts)));
	CHECK(cuMemAlloc_v2(&d_out, sizeof(out)));
	CHECK(cuMemcpyHtoD_v2(d_starts, starts, sizeof(starts)));
	CHECK(cuMemcpyHtoD_v2(d_out, sum, sizeof(sum)));
	if (o.waits)
		client_wait();

	for (uint64_t r = 0; r < o.n_rounds || goes_on(); r++) {
		void *params[] = { &d_starts, &d_out, &steps };

		CHECK(cuLaunchKernel(chase, 1, 1, 1, N_WALKERS, 1, 1, 0, NULL, params, NULL));
		for (unsigned i = 0; i < N_WALKERS; i++)
			for (uint32_t s = 0; s < steps; s++) {
				sum[i] += at[i] * 2654435761u;
				at[i] = next[at[i]];
			}
	}
	CHECK(cuMemcpyDtoH_v2(starts, d_starts, sizeof(starts)));
	CHECK(cuMemcpyDtoH_v2(out, d_out, sizeof(out)));
	for (unsigned i = 0; i < N_WALKERS; i++)
		if (starts[i] != ADDRESS(at[i]) || out[i] != sum[i]) {
			fprintf(stderr, "walker %u is at %llx, not %llx\n", i,
				(unsigned long long)starts[i], (unsigned long long)ADDRESS(at[i]));
			n_wrong++;
		}
	for (uint64_t b = 0; b < o.n_buffers; b++)
		CHECK(cuMemFree_v2(buffers[b]));
	CHECK(cuMemFree_v2(d_starts));
	CHECK(cuMemFree_v2(d_out));
	cuda_close();
	free(buffers);
	free(host);
	free(next);
	printf("cuda-chase: %llu nodes in %llu allocations, %llu rounds of %u steps, seed %llu: "
	       "%s\n",
	       (unsigned long long)n_nodes, (unsigned long long)o.n_buffers,
	       (unsigned long long)o.n_rounds, steps, (unsigned long long)o.seed,
	       n_wrong ? "wrong" : "right");
	return n_wrong ? CUDA_EXIT_WRONG : CUDA_EXIT_RIGHT;
}
