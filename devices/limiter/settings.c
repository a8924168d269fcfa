/* SPDX-License-Identifier: Apache-2.0 */

/* What the environment says of the device. One row a setting. */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "limiter/fault.h"
#include "limiter/limiter.h"

struct dev_limiter_settings dev_limiter_settings;

static int read_size(const char *text, void *to)
{
	return slu_size_parse(text, to);
}

static int read_round(const char *text, void *to)
{
	uint64_t bytes;
	int r = slu_size_parse(text, &bytes);

	if (r || bytes > SLU_GIB)
		return -EINVAL;
	*(uint64_t *)to = SLU_MAX(bytes, UINT64_C(1));
	return 0;
}

static int read_late(const char *text, void *to)
{
	char *end;
	double ms;

	if (!slu_size_parse_time(text, to))
		return 0;
	ms = strtod(text, &end);
	if (!isdigit((unsigned char)*text) || *end || !(ms < 1e9))
		return -EINVAL;
	*(uint64_t *)to = (uint64_t)(ms * (double)SLU_NS_PER_MS);
	return 0;
}

static int read_fail(const char *text, void *to)
{
	if (strcmp(text, "eager") && strcmp(text, "lazy"))
		return -EINVAL;
	*(bool *)to = !strcmp(text, "lazy");
	return 0;
}

static int read_board(const char *text, void *to)
{
	if (!*text || *text == '.' || strchr(text, '/') ||
	    strlen(text) >= sizeof(dev_limiter_settings.board) - 8)
		return -EINVAL;
	strcpy(to, text);
	return 0;
}

static int read_fault(const char *text, void *to)
{
	return dev_limiter_fault_parse(text, to);
}

static const struct {
	const char *name;
	int (*read)(const char *text, void *to);
	void *to;
	const char *expected;
} rows[] = {
	{ "SLUICE_LIMITER_MEMORY", read_size, &dev_limiter_settings.memory_bytes,
	  "a size such as 64M" },
	{ "SLUICE_LIMITER_BOARD", read_board, dev_limiter_settings.board, "a file name" },
	{ "SLUICE_LIMITER_IN", read_size, &dev_limiter_settings.bytes_per_s[DEV_BOARD_ENGINE_IN],
	  "bytes a second, such as 1G" },
	{ "SLUICE_LIMITER_OUT", read_size, &dev_limiter_settings.bytes_per_s[DEV_BOARD_ENGINE_OUT],
	  "bytes a second, such as 1G" },
	{ "SLUICE_LIMITER_OVERHEAD", read_size, &dev_limiter_settings.overhead_bytes,
	  "a size such as 8M" },
	{ "SLUICE_LIMITER_ROUND", read_round, &dev_limiter_settings.round_bytes,
	  "a size up to 1G" },
	{ "SLUICE_LIMITER_LATE_FREE", read_late, &dev_limiter_settings.late_free_ns,
	  "a time such as 20ms" },
	{ "SLUICE_LIMITER_FAIL", read_fail, &dev_limiter_settings.fails_lazily, "eager or lazy" },
	{ "SLUICE_LIMITER_FAULT", read_fault, dev_limiter_settings.fault_at,
	  "kind:number with create, write, read or enqueue, and commas between" },
};

int dev_limiter_settings_read(void)
{
	dev_limiter_settings = (struct dev_limiter_settings){ .round_bytes = 1 };
	strcpy(dev_limiter_settings.board, "opencl0");
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		const char *text = secure_getenv(rows[i].name);

		if (!text || !*text || !rows[i].read(text, rows[i].to))
			continue;
		fprintf(stderr, "sluice limiter: %s='%s': expected %s; no device\n", rows[i].name,
			text, rows[i].expected);
		dev_limiter_settings.memory_bytes = 0;
		return -EINVAL;
	}
	return 0;
}
