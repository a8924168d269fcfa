/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unpacks what compilers packed into fat binaries: an LZ4 block, or a Zstandard frame (RFC 8878)
 * without a dictionary. Pure, and of our own, because the library that is injected into programs
 * links libc only.
 *
 * The output has a known size. Any input is answered, without a read or write outside of the two
 * buffers: with the bytes that the packer was given, or with false. A checksum at the end of a
 * frame is not looked at.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Return: whether @packed gives exactly @n bytes, and nothing is left of it. */
bool slu_unpack_lz4(const uint8_t *packed, size_t packed_bytes, uint8_t *bytes, size_t n);
/* The same; -ENOMEM is false, too. */
bool slu_unpack_zstd(const uint8_t *packed, size_t packed_bytes, uint8_t *bytes, size_t n);
