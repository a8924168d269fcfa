/* SPDX-License-Identifier: Apache-2.0 */
/* Part of selftest.h: which device is tested, and whether it has the memory for it. */
#include "base/util.h"
#include "selftest/selftest.h"

/* Contexts of two processes, and the buffers of the part that needs most. */
#define NEEDED_BUFFERS 8

bool slu_selftest_identify(const char *path, int ordinal,
			   struct slu_selftest_identity *ret_identity)
{
	struct slu_selftest t = { .path = path, .ordinal = ordinal };
	size_t free_bytes = 0, total = 0;
	int version = 0;
	CUuuid uuid;

	slu_selftest_hush(&t);
	if (!slu_selftest_open(&t, "identity") ||
	    t.driver.cuDriverGetVersion(&version) != CUDA_SUCCESS ||
	    t.driver.cuDeviceGetUuid_v2(&uuid, t.device) != CUDA_SUCCESS ||
	    t.driver.cuMemGetInfo_v2(&free_bytes, &total) != CUDA_SUCCESS)
		return false;
	*ret_identity = (struct slu_selftest_identity){
		.driver_version = version,
		.free_bytes = free_bytes,
		.needed_bytes = NEEDED_BUFFERS * t.buffer_bytes,
	};
	slu_uuid_format(ret_identity->gpu, (const uint8_t *)uuid.bytes);
	return true;
}
