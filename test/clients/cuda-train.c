/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program shaped like training: layers of weights that stay, and in each step temporary memory
 * from an allocator as frameworks have one (cuda-cache.h). A step takes each layer through two
 * temporary allocations and back. What is done to a word is always x -> a x + c with a c of the
 * kernel, so a layer after any number of steps is known from two numbers, and a word that was lost,
 * stale or exchanged is seen.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "client.h"
#include "cuda-cache.h"
#include "cuda-util.h"
#include "sluice/sluice.h"

static const char usage[] =
	"usage: cuda-train [OPTION]...\n"
	"Changes layers through temporary memory, step by step.\n"
	"\n"
	"  -a, --allocator NAME  caching, expandable, stack or async (default caching)\n"
	"  -w, --weights N       KiB of weights (default 512)\n"
	"  -l, --layers N        in so many allocations (default 8)\n"
	"  -g, --segment N       KiB that the allocator takes at once (default 64)\n"
	"  -t, --together        keep the temporary memory of all layers to the end of a step,\n"
	"                        and wait for the device after each layer\n"
	"  -x, --scratch N       KiB of temporary memory more, from the begin of a step to its "
	"end\n"
	"                        (default 0; only with --together)\n"
	"  -i, --irregular       a random number of launches more after each layer\n"
	"  -u, --unused N        KiB that the program frees before the first step (default 0)\n"
	"  -H, --hints           tell Sluice where steps end and what is not used then\n"
	"  -n, --steps N         (default 20)\n"
	"  -s, --seed N          of sizes and contents (default 1)\n"
	"  -e, --endless         steps until the end of standard input; N steps at least\n"
	"  -h, --help\n"
	"\n" CUDA_EXIT_TEXT;

/* mix: to[i] = from[i] * 1664525 + c; where both are the same address, in place. */
static const char ptx[] =
	".version 6.3\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry mix(.param .u64 to, .param .u64 from, .param .u32 n, .param .u32 c)\n"
	"{\n"
	"	.reg .pred %q<2>;\n"
	"	.reg .b32 %r<9>;\n"
	"	.reg .b64 %d<8>;\n"
	"	ld.param.u64 %d1, [to];\n"
	"	ld.param.u64 %d2, [from];\n"
	"	ld.param.u32 %r1, [n];\n"
	"	ld.param.u32 %r2, [c];\n"
	"	mov.u32 %r3, %ctaid.x;\n"
	"	mov.u32 %r4, %ntid.x;\n"
	"	mov.u32 %r5, %tid.x;\n"
	"	mad.lo.s32 %r6, %r3, %r4, %r5;\n"
	"	setp.ge.u32 %q1, %r6, %r1;\n"
	"	@%q1 bra DONE;\n"
	"	mul.wide.u32 %d3, %r6, 4;\n"
	"	cvta.to.global.u64 %d4, %d1;\n"
	"	cvta.to.global.u64 %d5, %d2;\n"
	"	add.s64 %d6, %d4, %d3;\n"
	"	add.s64 %d7, %d5, %d3;\n"
	"	ld.global.u32 %r7, [%d7];\n"
	"	mad.lo.s32 %r8, %r7, 1664525, %r2;\n"
	"	st.global.u32 [%d6], %r8;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n";

enum { BLOCK = 256, TIMES = 1664525, LAYERS_MAX = 256 };

struct layer {
	CUdeviceptr p;
	uint32_t times, plus; /* word i is times * i + plus by now */
};

static uint64_t weights_kib = 512, n_layers = 8, segment_kib = 64, n_steps = 20, seed = 1;
static const char *allocator = "caching";
static uint64_t unused_kib, scratch_kib;
static bool is_endless, is_together, is_irregular, has_hints;
static struct layer layers[LAYERS_MAX];
static CUdeviceptr temporaries[2 * LAYERS_MAX + 1];
static size_t n_temporaries;
static CUfunction mix;
static CUstream stream;
static uint64_t dice;

static uint32_t layer_words(void)
{
	return (uint32_t)(weights_kib * 256 / n_layers);
}

static void launch_mix(struct layer *l, CUdeviceptr to, CUdeviceptr from)
{
	uint32_t n = layer_words(), c = (uint32_t)cuda_random(&dice);
	void *params[] = { &to, &from, &n, &c };

	CHECK(cuLaunchKernel(mix, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, params,
			     NULL));
	l->times *= TIMES;
	l->plus = l->plus * TIMES + c;
}

/* As large as a layer, or larger, as activations are. */
static CUdeviceptr temporary(void)
{
	CUdeviceptr p = cache_alloc(layer_words() * 4 + cuda_random(&dice) % (layer_words() * 4));

	temporaries[n_temporaries++] = p;
	return p;
}

/* What was allocated last goes first. */
static void temporaries_free(void)
{
	while (n_temporaries)
		cache_free(temporaries[--n_temporaries]);
}

/* The first layer is there meanwhile, and comes back from there. */
static CUdeviceptr scratch_begin(void)
{
	CUdeviceptr p = scratch_kib ? cache_alloc(scratch_kib << 10) : 0;

	if (p) {
		temporaries[n_temporaries++] = p;
		CHECK(cuMemsetD8Async(p, 1, scratch_kib << 10, stream));
		launch_mix(&layers[0], p, layers[0].p);
		CHECK(cuMemsetD8Async(layers[0].p, 2, layer_words() * 4, stream));
	}
	return p;
}

static void step(void)
{
	CUdeviceptr scratch = scratch_begin();

	for (uint64_t i = scratch ? 1 : 0; i < n_layers; i++) {
		CUdeviceptr first = temporary(), second = temporary();

		launch_mix(&layers[i], first, layers[i].p);
		launch_mix(&layers[i], second, first);
		launch_mix(&layers[i], layers[i].p, second);
		for (uint64_t n = is_irregular ? cuda_random(&dice) % 8 : 0; n > 0; n--)
			launch_mix(&layers[i], layers[i].p, layers[i].p);
		if (is_together)
			CHECK(cuStreamSynchronize(stream));
		else
			temporaries_free();
	}
	if (scratch)
		launch_mix(&layers[0], layers[0].p, scratch);
	temporaries_free();
	CHECK(cuStreamSynchronize(stream));
	if (has_hints) {
		cache_hint();
		sluice_iteration();
	}
}

/* In the hands of the allocator from now on, with contents. */
static void unused_make(void)
{
	CUdeviceptr p;

	if (!unused_kib)
		return;
	p = cache_alloc(unused_kib << 10);
	CHECK(cuMemsetD8Async(p, 1, unused_kib << 10, stream));
	cache_free(p);
	CHECK(cuStreamSynchronize(stream));
}

/* Return: whether all words of all layers are right. */
static bool verify(uint32_t *host)
{
	for (uint64_t k = 0; k < n_layers; k++) {
		CHECK(cuMemcpyDtoH_v2(host, layers[k].p, layer_words() * 4));
		for (uint32_t i = 0; i < layer_words(); i++) {
			uint32_t x = layers[k].times * i + layers[k].plus;

			if (host[i] == x)
				continue;
			fprintf(stderr, "layer %llu, word %u: %08x instead of %08x\n",
				(unsigned long long)k, i, host[i], x);
			return false;
		}
	}
	return true;
}

static void layers_make(uint32_t *host)
{
	for (uint32_t i = 0; i < layer_words(); i++)
		host[i] = i;
	for (uint64_t k = 0; k < n_layers; k++) {
		layers[k] = (struct layer){ .p = cache_alloc(layer_words() * 4), .times = 1 };
		CHECK(cuMemcpyHtoDAsync_v2(layers[k].p, host, layer_words() * 4, stream));
	}
	CHECK(cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
	const struct client_option options[] = {
		CLIENT_WORD('a', "allocator", allocator),
		CLIENT_NUMBER('w', "weights", weights_kib, 1, 1 << 20),
		CLIENT_NUMBER('l', "layers", n_layers, 1, LAYERS_MAX),
		CLIENT_NUMBER('g', "segment", segment_kib, 1, 1 << 20),
		CLIENT_FLAG('t', "together", is_together),
		CLIENT_FLAG('i', "irregular", is_irregular),
		CLIENT_FLAG('H', "hints", has_hints),
		CLIENT_NUMBER('u', "unused", unused_kib, 0, 1 << 20),
		CLIENT_NUMBER('x', "scratch", scratch_kib, 0, 1 << 20),
		CLIENT_NUMBER('n', "steps", n_steps, 0, 1 << 30),
		CLIENT_NUMBER('s', "seed", seed, 0, UINT32_MAX),
		CLIENT_FLAG('e', "endless", is_endless),
		{ 0 },
	};
	uint32_t *host;
	bool is_right;

	if (client_options(argc, argv, options, usage) ||
	    cache_kind_find(allocator) == _CACHE_MAX || weights_kib < n_layers ||
	    (scratch_kib && (scratch_kib < weights_kib / n_layers || !is_together)))
		client_misused(usage);
	dice = seed + 1;
	host = malloc(layer_words() * 4);
	if (!host)
		return CUDA_EXIT_NO_MEMORY;
	cuda_open();
	mix = cuda_function(ptx, "mix");
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	cache_open(cache_kind_find(allocator), segment_kib << 10, stream);
	layers_make(host);
	unused_make();
	for (uint64_t n = 0; n < n_steps || (is_endless && client_input_is_quiet()); n++)
		step();
	is_right = verify(host);
	for (uint64_t k = n_layers; k > 0; k--)
		cache_free(layers[k - 1].p);
	cache_close();
	CHECK(cuStreamDestroy_v2(stream));
	cuda_close();
	free(host);
	printf("cuda-train: %llu KiB of weights, %s: %s\n", (unsigned long long)weights_kib,
	       allocator, is_right ? "right" : "wrong");
	return is_right ? CUDA_EXIT_RIGHT : CUDA_EXIT_WRONG;
}
