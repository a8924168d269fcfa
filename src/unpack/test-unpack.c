/* SPDX-License-Identifier: Apache-2.0 */

/* What liblz4 and libzstd pack is unpacked to the same bytes; what they refuse is refused. */

#include "lib/test.h"

#include <lz4.h>
#include <lz4hc.h>
#include <stdbool.h>
#include <zstd.h>

#include "unpack/unpack.h"

enum { BYTES_MAX = 400000, ROUNDS = 120 };

static uint64_t seed;
static uint8_t bytes[BYTES_MAX], packed[2 * BYTES_MAX], out[BYTES_MAX + 1];

static uint32_t draw(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(seed >> 33) % n;
}

/* Runs, copies of what came before, a few letters and any bytes, in changing shares. */
static size_t make(void)
{
	static const char *const words[] = { "ld.global.u32 \t%r", "add.s64 %rd",
					     "mov.b32 ",	   ";\n",
					     "setp.ge.s32 ",	   "[%rd",
					     "bra $L__BB0_" };
	size_t n = draw(4) ? draw(3000) : draw(BYTES_MAX), at = 0;
	uint32_t kinds = draw(5) + 1, letters = draw(255) + 1;

	while (at < n) {
		size_t length = 1 + draw(draw(8) ? 40 : 3000), back;
		const char *word = words[draw(7)];

		length = length < n - at ? length : n - at;
		switch (draw(kinds)) {
		case 0:
			for (size_t i = 0; i < length; i++)
				bytes[at + i] = (uint8_t)word[i % strlen(word)];
			break;
		case 1:
			for (size_t i = 0; i < length; i++)
				bytes[at + i] = (uint8_t)('0' + draw(10));
			break;
		case 2:
			back = at ? 1 + draw((uint32_t)at) : 0;
			for (size_t i = 0; i < length; i++)
				bytes[at + i] = back ? bytes[at + i - back] : 'x';
			break;
		case 3:
			memset(bytes + at, (int)draw(256), length);
			break;
		default:
			for (size_t i = 0; i < length; i++)
				bytes[at + i] = (uint8_t)draw(letters);
		}
		at += length;
	}
	return n;
}

static bool unpack(bool is_zstd, size_t n_packed, size_t n)
{
	/* where it ends, so that a read behind the end is seen */
	uint8_t *copy = malloc(n_packed + 1);
	bool r;

	assert_non_null(copy);
	memcpy(copy, packed, n_packed);
	copy = realloc(copy, n_packed ? n_packed : 1);
	out[n] = 0xa5;
	r = is_zstd ? slu_unpack_zstd(copy, n_packed, out, n)
		    : slu_unpack_lz4(copy, n_packed, out, n);
	assert_int_equal(out[n], 0xa5);
	free(copy);
	return r;
}

static void lz4_blocks_are_unpacked(void **state)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t n = make();
		int level = (int)draw(13);
		int n_packed = LZ4_compress_HC((const char *)bytes, (char *)packed, (int)n,
					       sizeof(packed), level);

		if (!level)
			n_packed = LZ4_compress_default((const char *)bytes, (char *)packed, (int)n,
							sizeof(packed));
		assert_true(n_packed > 0);
		assert_true(unpack(false, (size_t)n_packed, n));
		assert_memory_equal(out, bytes, n);
		assert_false(n && unpack(false, (size_t)n_packed, n - 1));
		assert_false(unpack(false, (size_t)n_packed - 1, n));
	}
}

static size_t zstd_pack(ZSTD_CCtx *context, size_t n)
{
	size_t n_packed;

	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, (int)draw(19) + 1);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, (int)draw(2));
	ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, (int)draw(2));
	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, draw(3) ? 0 : (int)draw(8) + 10);
	n_packed = ZSTD_compress2(context, packed, sizeof(packed), bytes, n);
	assert_false(ZSTD_isError(n_packed));
	return n_packed;
}

static void zstd_frames_are_unpacked(void **state)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t n = make(), n_packed = zstd_pack(context, n);

		assert_true(unpack(true, n_packed, n));
		assert_memory_equal(out, bytes, n);
		assert_false(n && unpack(true, n_packed, n - 1));
		assert_false(unpack(true, n_packed - 1, n));
	}
	ZSTD_freeCCtx(context);
}

/* A flipped bit gives what libzstd gives, or a refusal, where libzstd may be more lenient. */
static void spoilt_frames_are_unpacked_like_libzstd_does(void **state)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	unsigned n_same = 0;

	for (unsigned i = 0; i < 20 * ROUNDS; i++) {
		size_t n, n_packed, theirs;

		do
			n = make();
		while (n > 3000);
		n_packed = zstd_pack(context, n);
		packed[4 + draw((uint32_t)n_packed - 4)] ^= (uint8_t)(1u << draw(8));
		if (!unpack(true, n_packed, n))
			continue;
		theirs = ZSTD_decompress(bytes, sizeof(bytes), packed, n_packed);
		if (ZSTD_isError(theirs))
			continue; /* a checksum, or a window that is too small */
		assert_int_equal(theirs, n);
		assert_memory_equal(out, bytes, n);
		n_same++;
	}
	assert_true(n_same > 0);
	ZSTD_freeCCtx(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lz4_blocks_are_unpacked),
		cmocka_unit_test(zstd_frames_are_unpacked),
		cmocka_unit_test(spoilt_frames_are_unpacked_like_libzstd_does),
	};

	seed = slu_test_seed(1);
	return cmocka_run_group_tests_name("unpack", tests, NULL, NULL);
}
