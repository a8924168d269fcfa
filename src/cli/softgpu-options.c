/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be asked of the software GPU, by option or by variable. The driver refuses a value with
 * a number that is the same for all of them; here each is looked at first, so that the message can
 * name it and say what it may be.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/cli.h"
#include "cli/softgpu.h"

#define GRANULES_MAX 32000

static bool is_number(const char *text, unsigned long min, unsigned long max)
{
	unsigned long value;
	char *end;

	value = strtoul(text, &end, 10);
	return strspn(text, "0123456789") == strlen(text) && !*end && value >= min && value <= max;
}

static bool is_size(const char *text)
{
	uint64_t bytes;

	return !slu_size_parse(text, &bytes);
}

static bool is_memory(const char *text)
{
	uint64_t bytes;

	return !slu_size_parse(text, &bytes) && bytes > 0;
}

static bool is_profile(const char *text)
{
	static const char *const names[] = { "none", "rtx5080", "rtx5090-x8", "rtx3080" };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(names); i++)
		if (!strcmp(text, names[i]))
			return true;
	return false;
}

static bool is_scale(const char *text)
{
	return is_number(text, 1, 512) &&
	       !(strtoul(text, NULL, 10) & (strtoul(text, NULL, 10) - 1));
}

static bool is_count_of_devices(const char *text)
{
	return is_number(text, 1, SLU_SOFTGPU_DEVICES_MAX);
}

static bool is_capability(const char *text)
{
	unsigned major, minor;
	char rest;

	return sscanf(text, "%2u.%1u%c", &major, &minor, &rest) == 2 && major >= 5;
}

static bool is_count_of_multiprocessors(const char *text)
{
	return is_number(text, 1, 256);
}

static bool is_percentage(const char *text)
{
	return is_number(text, 1, 100);
}

static const struct {
	const char *variable;
	const char *option;		/* or NULL */
	bool (*is_right)(const char *); /* NULL: only the driver can tell */
	const char *what;
} options[] = {
	{ "SLUICE_SOFTGPU_MEMORY", "--memory", is_memory,
	  "It is a size above 0 with a unit, such as 64M or 2G." },
	{ "SLUICE_SOFTGPU_PROFILE", "--profile", is_profile,
	  "It is one of none, rtx5080, rtx5090-x8 and rtx3080." },
	{ "SLUICE_SOFTGPU_SCALE", "--scale", is_scale,
	  "It is a power of two from 1 to 512, such as 256." },
	{ "SLUICE_SOFTGPU_DEVICES", "--devices", is_count_of_devices,
	  "It is a number from 1 to 8." },
	{ "SLUICE_SOFTGPU_CAPABILITY", NULL, is_capability,
	  "It is a compute capability from 5.0 on, such as 7.5." },
	{ "SLUICE_SOFTGPU_MULTIPROCESSORS", NULL, is_count_of_multiprocessors,
	  "It is a number from 1 to 256." },
	{ "SLUICE_SOFTGPU_CONTEXT_OVERHEAD", NULL, is_size, "It is a size, such as 2M or 0." },
	{ "SLUICE_SOFTGPU_PREFETCH", NULL, is_percentage,
	  "It is a percentage from 1 to 100, without a sign." },
	{ "SLUICE_SOFTGPU_FAULT", NULL, NULL,
	  "It is a list such as copy:3,slow:launch:1:250ms,memory:16M; sluice-softgpu(1) has the "
	  "kinds." },
};

static const char *value_of(size_t i)
{
	const char *value = getenv(options[i].variable);

	return value && *value ? value : NULL;
}

static int complain(size_t i)
{
	char name[96];

	if (options[i].option)
		snprintf(name, sizeof(name), "%s (or %s)", options[i].option, options[i].variable);
	else
		snprintf(name, sizeof(name), "%s", options[i].variable);
	slu_cli_complain(options[i].what, "'%.64s' is not a value for %s.", value_of(i), name);
	return SLU_CLI_USAGE;
}

/* Each granule, 2 MiB at scale 1, has its place in a table of this size. */
static int check_capacity(void)
{
	const char *memory = getenv("SLUICE_SOFTGPU_MEMORY");
	const char *profile = getenv("SLUICE_SOFTGPU_PROFILE");
	const char *given = getenv("SLUICE_SOFTGPU_SCALE");
	unsigned long scale = profile && *profile && strcmp(profile, "none") ? 256 : 1;
	char most[SLU_SIZE_STRING_MAX], hint[96];
	uint64_t bytes, max_bytes;

	if (given && *given)
		scale = strtoul(given, NULL, 10);
	max_bytes = GRANULES_MAX * (2 * SLU_MIB / scale);
	if (!memory || !*memory || slu_size_parse(memory, &bytes) || bytes <= max_bytes)
		return 0;
	snprintf(hint, sizeof(hint),
		 "With scale %lu it is at most %s; a smaller scale allows more.", scale,
		 slu_size_format(most, max_bytes));
	slu_cli_complain(hint, "'%.64s' is too large a --memory (or SLUICE_SOFTGPU_MEMORY).",
			 memory);
	return SLU_CLI_USAGE;
}

int slu_softgpu_check_options(void)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(options); i++)
		if (options[i].is_right && value_of(i) && !options[i].is_right(value_of(i)))
			return complain(i);
	return check_capacity();
}

int slu_softgpu_complain_of_options(void)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(options); i++)
		if (!options[i].is_right && value_of(i))
			return complain(i);
	slu_cli_complain("sluice-softgpu(1) has what each option and variable may be.",
			 "the software GPU refuses what is asked of it.");
	return SLU_CLI_USAGE;
}
