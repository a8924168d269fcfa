/* SPDX-License-Identifier: Apache-2.0 */
/* Part of unpack.h: blocks of LZ4. */
#include <string.h>

#include "unpack/unpack.h"

#define MATCH_MIN 4

/* A length of 15 goes on: each byte is added, and the first one below 255 is the last. */
static bool length_read(const uint8_t *packed, size_t packed_bytes, size_t *at, size_t *length)
{
	uint8_t more;

	if (*length != 15)
		return true;
	do {
		if (*at == packed_bytes)
			return false;
		more = packed[(*at)++];
		*length += more;
	} while (more == 255);
	return true;
}

bool slu_unpack_lz4(const uint8_t *packed, size_t packed_bytes, uint8_t *bytes, size_t n)
{
	size_t at = 0, done = 0;

	while (at < packed_bytes) {
		uint8_t token = packed[at++];
		size_t length = token >> 4, offset;

		if (!length_read(packed, packed_bytes, &at, &length) ||
		    length > packed_bytes - at || length > n - done)
			return false;
		memcpy(bytes + done, packed + at, length);
		at += length;
		done += length;
		if (at == packed_bytes)
			return done == n; /* the last sequence has literals alone */
		if (packed_bytes - at < 2)
			return false;
		offset = packed[at] | (size_t)packed[at + 1] << 8;
		at += 2;
		length = token & 15;
		if (!length_read(packed, packed_bytes, &at, &length))
			return false;
		length += MATCH_MIN;
		if (!offset || offset > done || length > n - done)
			return false;
		/* byte by byte: a match may overlap what it makes */
		for (; length; length--, done++)
			bytes[done] = bytes[done - offset];
	}
	return false;
}
