/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The layout of fat binaries: what nvcc puts into programs for the driver to choose from. */

#include <stddef.h>
#include <stdint.h>

#define SLU_FATBIN_WRAPPER_MAGIC 0x466243b1u
#define SLU_FATBIN_MAGIC	 0xba55ed50u

enum { SLU_FATBIN_PTX = 1, SLU_FATBIN_ELF = 2 };
enum { SLU_FATBIN_LZ4 = 0x2000, SLU_FATBIN_ZSTD = 0x8000 };

struct slu_fatbin_wrapper {
	uint32_t magic;
	uint32_t version; /* 2: @extra is a list of fat binaries that ends with NULL */
	const void *fatbin;
	const void *const *extra;
};

struct slu_fatbin {
	uint32_t magic;
	uint16_t version;
	uint16_t header_bytes;
	uint64_t bytes;
};

struct slu_fatbin_entry {
	uint16_t kind;
	uint16_t flags16;
	uint32_t header_bytes;
	uint64_t payload_bytes;
	uint32_t packed_bytes; /* 0: not packed */
	/* the rest, as far as header_bytes reaches */
	uint32_t options;
	uint16_t minor, major;
	uint32_t arch; /* 75 for sm_75 and compute_75 */
	uint32_t name, name_bytes;
	uint64_t flags;
	uint64_t reserved;
	uint64_t text_bytes; /* of what is packed */
};

/* The part that every entry has. */
#define SLU_FATBIN_ENTRY_BYTES_MIN offsetof(struct slu_fatbin_entry, options)
