/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without a fuzzer: gives every file of a folder and every seed of its own (seed.h) to the fuzz
 * target, then each of them cut short and with single bits turned, so that the corpus is an
 * ordinary test. TAP on stdout.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Most targets have files only. */
__attribute__((__weak__)) size_t slu_fuzz_seed(unsigned number, uint8_t *ret_data, size_t size)
{
	(void)number;
	(void)ret_data;
	(void)size;
	return 0;
}

static void vary(uint8_t *data, size_t size)
{
	uint8_t *exact;

	/* in a block of its own size, so that a sanitizer sees what reads beyond */
	for (size_t n = 0; n <= size; n += 1 + size / 64) {
		exact = malloc(n ? n : 1);
		if (!exact)
			exit(1);
		memcpy(exact, data, n);
		LLVMFuzzerTestOneInput(exact, n);
		free(exact);
	}
	for (size_t bit = 0; bit < size * 8; bit += 1 + size / 256) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		LLVMFuzzerTestOneInput(data, size);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
	static uint8_t data[1 << 16];
	struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	dir = argc > 1 ? opendir(argv[1]) : NULL;
	if (!dir) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	while ((entry = readdir(dir))) {
		char path[4096];
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		f = fopen(path, "rb");
		if (!f)
			return 1;
		vary(data, fread(data, 1, sizeof(data), f));
		fclose(f);
		printf("ok %u - %s\n", ++n, entry->d_name);
		fflush(stdout);
	}
	closedir(dir);
	for (unsigned i = 0;; i++) {
		size_t size = slu_fuzz_seed(i, data, sizeof(data));

		if (!size)
			break;
		vary(data, size);
		printf("ok %u - seed %u\n", ++n, i);
		fflush(stdout);
	}
	printf("1..%u\n", n);
	return n ? 0 : 1;
}
