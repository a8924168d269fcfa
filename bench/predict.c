/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictions of the test kernels that clang made: how long an evaluation takes, how long an
 * analysis, and how far the sets are from the truth of the software GPU's interpreter, beside whole
 * allocations. Prints one `name value` a line.
 */
#include <inttypes.h>
#include <time.h>

#include "predict/test-truth.h"

#define N_ROUNDS 20000u
#define N_BEST	 5u

static struct truth truth;

/* Kernels of (a, b, c, n): elements of 4 bytes, or n by n of them. */
static const struct {
	const char *name;
	unsigned n_buffers, n, elements, grid, block;
} suite[] = {
	{ "vadd", 3, 1000, 1000, 4, 256 },     { "stream_fma", 3, 5000, 5000, 4, 64 },
	{ "sgemm", 3, 64, 64 * 64, 16, 256 },  { "reduce", 2, 3000, 3000, 3, 256 },
	{ "vadd", 3, 100, 1000, 4, 256 },      { "histogram", 2, 5000, 1250, 2, 128 },
	{ "stream_fma", 3, 500, 5000, 4, 64 },
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SLU_NS_PER_S + (uint64_t)ts.tv_nsec;
}

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file || getdelim(&text, &size, '\0', file) < 0)
		exit(1);
	fclose(file);
	return text;
}

/* How a launch differs from the one before it. */
enum change {
	CHANGE_ALL, /* every argument and size */
	CHANGE_POINTERS,
	CHANGE_NONE,
	N_CHANGES,
};

/* The nanoseconds of one evaluation, the best of several rounds; launches take turns. */
static double time_launches(const struct slu_predict_kernel *kernel,
			    const struct slu_predict_launch launches[2])
{
	struct slu_predict_sheet *sheet;
	double best = 1e9;

	if (slu_predict_sheet_new(kernel, &sheet))
		exit(1);
	for (unsigned i = 0; i < N_BEST; i++) {
		uint64_t begin = now_ns();

		for (unsigned k = 0; k < N_ROUNDS; k++)
			slu_predict_sheet_evaluate(sheet, &launches[k % 2]);
		best = SLU_MIN(best, (double)(now_ns() - begin) / N_ROUNDS);
	}
	slu_predict_sheet_free(sheet);
	return best;
}

static void time_kernel(const char *name, const struct slu_predict_launch *launch,
			double ret_ns[N_CHANGES])
{
	const struct slu_ptx_function *f = slu_ptx_module_kernel(truth.ptx, name);
	struct slu_predict_kernel *kernel;

	if (slu_predict_kernel_new(truth.ptx, f, &kernel) < 0)
		exit(1);
	for (unsigned change = 0; change < N_CHANGES; change++) {
		struct slu_predict_launch launches[2] = { *launch, *launch };
		uint8_t params[4096];
		uint64_t value;

		memcpy(params, launch->params, launch->param_bytes);
		launches[1].params = params;
		for (size_t at = 0; change != CHANGE_NONE && at + 8 <= launch->param_bytes;
		     at += 8) {
			memcpy(&value, params + at, 8);
			value += 4096;
			memcpy(params + at, &value, 8);
		}
		if (change == CHANGE_ALL) {
			params[launch->param_bytes - 4] ^= 16;
			launches[1].grid[0]++;
			launches[1].block[0] /= 2;
		}
		ret_ns[change] = time_launches(kernel, launches);
	}
	slu_predict_kernel_free(kernel);
}

/* Milliseconds that all kernels of the module take per MB of its text, without its parsing. */
static double time_load(size_t text_bytes)
{
	double best = 1e9;

	for (unsigned i = 0; i < N_BEST; i++) {
		uint64_t begin = now_ns();

		for (unsigned k = 0; k < truth.ptx->n_functions; k++) {
			struct slu_predict_kernel *kernel;

			if (!truth.ptx->functions[k]->is_kernel)
				continue;
			if (slu_predict_kernel_new(truth.ptx, truth.ptx->functions[k], &kernel) < 0)
				exit(1);
			slu_predict_kernel_free(kernel);
		}
		best = SLU_MIN(best, (double)(now_ns() - begin) / 1e6);
	}
	return best / ((double)text_bytes / 1e6);
}

int main(int argc, char **argv)
{
	uint64_t touched = 0, missed = 0, extra = 0, whole = 0, n_proven = 0;
	char *text = argc == 2 ? read_text(argv[1]) : NULL;
	double worst[N_CHANGES] = { 0 }, load;

	if (!text)
		return 1;
	truth_init(&truth, SLU_MIB);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(suite); i++) {
		struct slu_predict_launch launch = { .grid = { suite[i].grid, 1, 1 },
						     .block = { suite[i].block, 1, 1 } };
		double ns[N_CHANGES];

		truth_unload(&truth);
		if (truth_load(&truth, text))
			return 1;
		for (unsigned k = 0; k < suite[i].n_buffers; k++)
			truth_param_u64(&truth, truth_alloc(&truth, suite[i].elements * 4));
		truth_param_u32(&truth, suite[i].n);
		launch.params = truth.params;
		launch.param_bytes = truth.param_bytes;
		time_kernel(suite[i].name, &launch, ns);
		if (truth_run(&truth, suite[i].name, launch.grid, launch.block))
			return 1;
		printf("# %s: %.0f ns; other pointers: %.0f ns; the same: %.0f ns\n", suite[i].name,
		       ns[CHANGE_ALL], ns[CHANGE_POINTERS], ns[CHANGE_NONE]);
		for (unsigned change = 0; change < N_CHANGES; change++)
			worst[change] = SLU_MAX(worst[change], ns[change]);
		touched += truth.n_touched;
		missed += truth.n_missed;
		extra += truth.n_extra;
		whole += (uint64_t)suite[i].n_buffers * suite[i].elements * 4;
		n_proven += !truth.set.why_reads.reason && !truth.set.why_writes.reason;
	}
	load = time_load(strlen(text));
	printf("launch_ns %.1f\npointers_ns %.1f\nrepeat_ns %.1f\nload_ms %.3f\nmissed_bytes "
	       "%" PRIu64 "\nextra_share %.6f\n"
	       "whole_share %.6f\nproven_share %.4f\n",
	       worst[CHANGE_ALL], worst[CHANGE_POINTERS], worst[CHANGE_NONE], load, missed,
	       (double)extra / (double)(touched + extra), (double)(whole - touched) / (double)whole,
	       (double)n_proven / (double)SLU_ARRAY_SIZE(suite));
	truth_deinit(&truth);
	free(text);
	return 0;
}
