/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An LZ4 block and a Zstandard frame of any bytes. Where ours and the library both unpack them, the
 * bytes are the same; nothing is read or written outside of the buffers. The first two bytes are
 * the size of the output.
 */
#include <assert.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "unpack/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size < 2 ? 0 : data[0] | (size_t)data[1] << 8;
	uint8_t *ours = malloc(n + 1), *theirs = malloc(n + 1);

	if (size >= 2 && ours && theirs) {
		data += 2;
		size -= 2;
		if (slu_unpack_lz4(data, size, ours, n) &&
		    LZ4_decompress_safe((const char *)data, (char *)theirs, (int)size, (int)n) ==
			    (int)n)
			assert(!memcmp(ours, theirs, n));
		if (slu_unpack_zstd(data, size, ours, n) &&
		    ZSTD_decompress(theirs, n, data, size) == n)
			assert(!memcmp(ours, theirs, n));
	}
	free(ours);
	free(theirs);
	return 0;
}
