/* SPDX-License-Identifier: Apache-2.0 */
#include "client/bulk.h"

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__

#include <immintrin.h>

/* Below this the caches are the better place, and the fence would be most of the work. */
#define STREAM_MIN_BYTES 4096

#define STEP_BYTES 128

/* @to is aligned to a step's vectors, @bytes a multiple of a step. */
typedef void (*stream_fn)(char *to, const char *from, size_t bytes);

__attribute__((__target__("avx"))) static void stream_by_32(char *to, const char *from,
							    size_t bytes)
{
	for (; bytes; bytes -= STEP_BYTES, to += STEP_BYTES, from += STEP_BYTES) {
		__m256i a = _mm256_loadu_si256((const __m256i *)(from + 0));
		__m256i b = _mm256_loadu_si256((const __m256i *)(from + 32));
		__m256i c = _mm256_loadu_si256((const __m256i *)(from + 64));
		__m256i d = _mm256_loadu_si256((const __m256i *)(from + 96));

		_mm256_stream_si256((__m256i *)(to + 0), a);
		_mm256_stream_si256((__m256i *)(to + 32), b);
		_mm256_stream_si256((__m256i *)(to + 64), c);
		_mm256_stream_si256((__m256i *)(to + 96), d);
	}
}

static void stream_by_16(char *to, const char *from, size_t bytes)
{
	for (; bytes; bytes -= STEP_BYTES, to += STEP_BYTES, from += STEP_BYTES)
		for (unsigned i = 0; i < STEP_BYTES; i += 16)
			_mm_stream_si128((__m128i *)(to + i),
					 _mm_loadu_si128((const __m128i *)(from + i)));
}

void slu_bulk_copy(void *to, const void *from, size_t bytes)
{
	size_t head = -(uintptr_t)to % STEP_BYTES, body;
	stream_fn stream = __builtin_cpu_supports("avx") ? stream_by_32 : stream_by_16;

	if (bytes < STREAM_MIN_BYTES) {
		memcpy(to, from, bytes);
		return;
	}
	body = (bytes - head) / STEP_BYTES * STEP_BYTES;
	memcpy(to, from, head);
	stream((char *)to + head, (const char *)from + head, body);
	memcpy((char *)to + head + body, (const char *)from + head + body, bytes - head - body);
	_mm_sfence();
}

#else

/* The C library knows the machine's own instructions. */
void slu_bulk_copy(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
}

#endif
