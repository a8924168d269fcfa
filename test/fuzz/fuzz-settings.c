/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A settings file of any bytes. Reading never crashes; what was read without complaint means the
 * same when it is printed and read again.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void count(void *data, const char *path, unsigned line, const char *text)
{
	assert(path && text[0]);
	(void)line;
	++*(unsigned *)data;
}

static char *print(const struct slu_config *config, size_t *ret_size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_size);

	assert(f);
	slu_config_print(config, SLU_CONFIG_INI, f);
	fclose(f);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned n_reports = 0;
	struct slu_config_reporter reporter = { count, &n_reports };
	struct slu_config first, second;
	size_t first_size, second_size;
	char *first_text, *second_text;
	int r;

	assert(slu_config_init(&first) == 0 && slu_config_init(&second) == 0);
	r = slu_config_read_text(&first, "fuzz", (const char *)data, size, &reporter);
	assert(r == 0 || r == SLU_CONFIG_E_WRONG);
	assert((r == SLU_CONFIG_E_WRONG) == (n_reports > 0));
	first_text = print(&first, &first_size);
	r = slu_config_read_text(&second, "again", first_text, first_size, &reporter);
	assert(r == 0);
	second_text = print(&second, &second_size);
	assert(first_size == second_size && !memcmp(first_text, second_text, first_size));
	free(first_text);
	free(second_text);
	slu_config_deinit(&first);
	slu_config_deinit(&second);
	return 0;
}
