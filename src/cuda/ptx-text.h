/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The PTX of an image, if it is what the driver runs: then it proves what its kernels touch. The
 * text is kept as it was loaded, packed or not, because a program may free its image after the
 * load. It is unpacked when somebody wants to read it.
 *
 * A text by itself is compiled by the driver. Of a fat binary, which is made from one source, the
 * driver takes
 *
 *   - machine code for its device, that of the highest architecture. Such code has a note of the
 *     architecture whose PTX it was made from: the PTX of that architecture in the same fat binary
 *     is its source. From compute_100 on the note leaves open which of several it was;
 *   - where no machine code fits, the PTX of the highest architecture that the device has.
 *
 * Everything else counts as an image without PTX: programs that were linked from several objects,
 * two texts of the same architecture, code that is packed, parts of a kind that we do not know.
 *
 * Pure. An image is read only after the driver has accepted it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum slu_cuda_packing { SLU_CUDA_UNPACKED, SLU_CUDA_PACKED_LZ4, SLU_CUDA_PACKED_ZSTD };

struct slu_cuda_text {
	unsigned n_refs; /* the owner's business */
	enum slu_cuda_packing packing;
	/* PTX for one architecture alone (sm_90a) may be what runs: the image has no other, or it
	 * is the device's architecture */
	bool may_have_suffix;
	size_t bytes;	   /* as kept */
	size_t text_bytes; /* unpacked */
	char data[];
};

/*
 * The PTX in @image for a device of compute capability @capability (75 for 7.5). @size: how much of
 * @image may be read, where that is known, else UINT64_MAX. Return: NULL if there is none, or no
 * memory. With one reference.
 */
struct slu_cuda_text *slu_cuda_text_new(const void *image, uint64_t size, unsigned capability);

/* The text itself, with a zero behind it; to be freed. NULL: it cannot be unpacked. */
char *slu_cuda_text_unpack(const struct slu_cuda_text *text);
