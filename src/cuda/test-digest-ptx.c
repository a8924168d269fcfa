/* SPDX-License-Identifier: Apache-2.0 */

/* The kernel on the software GPU and the processor compute the same digest. */

#include "lib/softgpu.h"

#include "client/digest.h"
#include "cuda/digest-ptx.h"

enum { BYTES = 256 << 10, GROUPS_MAX = 24 };

static unsigned char data[BYTES];
static CUdeviceptr there, sums_there;
static CUfunction function;

static struct slu_digest digest_on_device(size_t offset, size_t bytes, unsigned n_groups)
{
	uint64_t sums[GROUPS_MAX][2], sum[2] = { 0 }, n_blocks = bytes / SLU_DIGEST_BLOCK;
	CUdeviceptr from = there + offset;
	void *params[] = { &from, &n_blocks, &sums_there };

	memset(sums, 0xff, sizeof(sums));
	assert_cu(cuMemcpyHtoD_v2(sums_there, sums, sizeof(sums)));
	assert_cu(cuLaunchKernel(function, n_groups, 1, 1, SLU_CUDA_DIGEST_THREADS, 1, 1, 0, NULL,
				 params, NULL));
	assert_cu(cuMemcpyDtoH_v2(sums, sums_there, sizeof(sums)));
	for (unsigned i = 0; i < n_groups; i++) {
		sum[0] += sums[i][0];
		sum[1] += sums[i][1];
	}
	return slu_digest_end(sum, bytes);
}

static void assert_same(size_t offset, size_t bytes, unsigned n_groups)
{
	if (!slu_digest_is_equal(digest_on_device(offset, bytes, n_groups),
				 slu_digest_of(data + offset, bytes)))
		fail_msg("%zu bytes at %zu, %u groups", bytes, offset, n_groups);
}

static void every_length_up_to_two_rounds(void **state)
{
	(void)state;
	for (size_t n = 0; n <= 2 * SLU_CUDA_DIGEST_THREADS + 1; n++)
		assert_same(0, n * SLU_DIGEST_BLOCK, 1);
}

static void lengths_offsets_and_groups_by_chance(void **state)
{
	uint64_t random = slu_test_seed(14);

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		size_t offset = slu_test_random(&random) % (BYTES / SLU_DIGEST_BLOCK);
		size_t n = slu_test_random(&random) % (BYTES / SLU_DIGEST_BLOCK - offset + 1);

		assert_same(offset * SLU_DIGEST_BLOCK, n * SLU_DIGEST_BLOCK,
			    (unsigned)(1 + slu_test_random(&random) % GROUPS_MAX));
	}
	assert_same(0, BYTES, GROUPS_MAX);
}

static void a_changed_bit_is_seen(void **state)
{
	struct slu_digest before = digest_on_device(0, BYTES, 4);
	unsigned char changed = data[BYTES - 1] ^ 1;

	(void)state;
	assert_cu(cuMemcpyHtoD_v2(there + BYTES - 1, &changed, 1));
	assert_false(slu_digest_is_equal(before, digest_on_device(0, BYTES, 4)));
	assert_cu(cuMemcpyHtoD_v2(there + BYTES - 1, &data[BYTES - 1], 1));
	assert_true(slu_digest_is_equal(before, digest_on_device(0, BYTES, 4)));
}

static int setup(void **state)
{
	uint64_t random = slu_test_seed(15);

	(void)state;
	test_primary_make("32M");
	for (size_t i = 0; i < BYTES; i++)
		data[i] = (unsigned char)(slu_test_random(&random) >> 32);
	function = test_function(slu_cuda_digest_ptx, "slu_digest");
	assert_cu(cuMemAlloc_v2(&there, BYTES));
	assert_cu(cuMemAlloc_v2(&sums_there, GROUPS_MAX * 2 * sizeof(uint64_t)));
	assert_cu(cuMemcpyHtoD_v2(there, data, BYTES));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_up_to_two_rounds),
		cmocka_unit_test(lengths_offsets_and_groups_by_chance),
		cmocka_unit_test(a_changed_bit_is_seen),
	};

	return cmocka_run_group_tests_name("digest-ptx", tests, setup, test_device_tear_down);
}
