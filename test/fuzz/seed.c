/* SPDX-License-Identifier: Apache-2.0 */
/* With a fuzzer: writes the target's own seeds to a folder before it begins. */
#include <stdio.h>
#include <stdlib.h>

#include "seed.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static uint8_t data[1 << 16];
	const char *folder = getenv("SLUICE_FUZZ_SEEDS");
	size_t size;

	(void)argc;
	(void)argv;
	for (unsigned i = 0; folder && (size = slu_fuzz_seed(i, data, sizeof(data))); i++) {
		char path[4096];
		FILE *f;

		snprintf(path, sizeof(path), "%s/seed-%u", folder, i);
		f = fopen(path, "wb");
		if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
			perror(path);
			exit(1);
		}
	}
	return 0;
}
