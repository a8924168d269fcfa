/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of the software GPU, by option or by variable. The driver refuses any wrong value
 * with the same number; here each value is checked first, so that the message can name it and say
 * what is allowed.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/cli.h"
#include "cli/softgpu.h"

enum {
#define DEV_SETTING_LIMIT(name, value) name = (value),
#include "softgpu/settings.def"
};

static const struct range {
	const char *variable;
	unsigned min, max;
} ranges[] = {
#define DEV_SETTING_RANGE(name, min, max) { "SLUICE_SOFTGPU_" #name, min, max },
#include "softgpu/settings.def"
};

static const struct profile {
	const char *name;
	unsigned scale;
} profiles[] = {
#define DEV_SETTING_PROFILE(name, card, memory, context, in, in_b, out, out_b, pageable, fault, \
			    scale)                                                              \
	{ name, scale },
#include "softgpu/settings.def"
};

static const struct range *range_of(const char *variable)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(ranges); i++)
		if (!strcmp(ranges[i].variable, variable))
			return &ranges[i];
	return NULL;
}

static const struct profile *profile_of(const char *name)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(profiles); i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}

static bool is_in_range(const char *variable, const char *text)
{
	const struct range *range = range_of(variable);
	unsigned long value;
	char *end;

	value = strtoul(text, &end, 10);
	return strspn(text, "0123456789") == strlen(text) && !*end && value >= range->min &&
	       value <= range->max;
}

static bool is_size(const char *variable, const char *text)
{
	uint64_t bytes;

	return !slu_size_parse(text, &bytes);
}

static bool is_memory(const char *variable, const char *text)
{
	uint64_t bytes;

	return !slu_size_parse(text, &bytes) && bytes > 0;
}

static bool is_profile(const char *variable, const char *text)
{
	return profile_of(text) != NULL;
}

static bool is_scale(const char *variable, const char *text)
{
	return is_in_range(variable, text) &&
	       !(strtoul(text, NULL, 10) & (strtoul(text, NULL, 10) - 1));
}

static bool is_capability(const char *variable, const char *text)
{
	unsigned major, minor;
	char rest;

	return sscanf(text, "%2u.%1u%c", &major, &minor, &rest) == 2 &&
	       major >= CAPABILITY_MAJOR_MIN;
}

static const struct wish {
	const char *variable;
	const char *option; /* or NULL */
	bool (*is_right)(const char *variable,
			 const char *text); /* NULL: only the driver can tell */
	const char *what;
	const char *such; /* what follows the range or the list, if there is one */
} options[] = {
	{ "SLUICE_SOFTGPU_MEMORY", "--memory", is_memory,
	  "It is a size above 0 with a unit, such as 64M or 2G." },
	{ "SLUICE_SOFTGPU_PROFILE", "--profile", is_profile, "It is one of", "." },
	{ "SLUICE_SOFTGPU_SCALE", "--scale", is_scale, "It is a power of two", ", such as 256." },
	{ "SLUICE_SOFTGPU_DEVICES", "--devices", is_in_range, "It is a number", "." },
	{ "SLUICE_SOFTGPU_CAPABILITY", NULL, is_capability,
	  "It is a compute capability from 5.0 on, such as 7.5." },
	{ "SLUICE_SOFTGPU_MULTIPROCESSORS", NULL, is_in_range, "It is a number", "." },
	{ "SLUICE_SOFTGPU_CONTEXT_OVERHEAD", NULL, is_size, "It is a size, such as 2M or 0." },
	{ "SLUICE_SOFTGPU_PREFETCH", NULL, is_in_range, "It is a percentage", ", without a sign." },
	{ "SLUICE_SOFTGPU_FAULT", NULL, NULL,
	  "It is a list such as copy:3,slow:launch:1:250ms,memory:16M; sluice-softgpu(1) has the "
	  "kinds." },
};

/* The allowed values, as a sentence. */
static void advice_make(const struct wish *wish, char ret_text[256])
{
	const struct range *range = range_of(wish->variable);
	size_t n = (size_t)snprintf(ret_text, 256, "%s", wish->what);

	if (range)
		n += (size_t)snprintf(ret_text + n, 256 - n, " from %u to %u", range->min,
				      range->max);
	for (size_t i = 0; wish->is_right == is_profile && i < SLU_ARRAY_SIZE(profiles); i++)
		n += (size_t)snprintf(ret_text + n, 256 - n, "%s%s",
				      i == 0				 ? " "
				      : i + 1 < SLU_ARRAY_SIZE(profiles) ? ", "
									 : " and ",
				      profiles[i].name);
	if (wish->such)
		snprintf(ret_text + n, 256 - n, "%s", wish->such);
}

static const char *value_of(size_t i)
{
	const char *value = getenv(options[i].variable);

	return value && *value ? value : NULL;
}

static int complain(size_t i)
{
	char name[96], advice[256];

	advice_make(&options[i], advice);
	if (options[i].option)
		snprintf(name, sizeof(name), "%s (or %s)", options[i].option, options[i].variable);
	else
		snprintf(name, sizeof(name), "%s", options[i].variable);
	slu_cli_complain(advice, "'%.64s' is not a value for %s.", value_of(i), name);
	return SLU_CLI_USAGE;
}

/* Each granule has an entry in a table of GRANULES_MAX. */
static int check_capacity(void)
{
	const char *memory = getenv("SLUICE_SOFTGPU_MEMORY");
	const char *profile = getenv("SLUICE_SOFTGPU_PROFILE");
	const char *given = getenv("SLUICE_SOFTGPU_SCALE");
	unsigned long scale = profile_of(profile && *profile ? profile : "none")->scale;
	char most[SLU_SIZE_STRING_MAX], hint[96];
	uint64_t bytes, max_bytes;

	if (given && *given)
		scale = strtoul(given, NULL, 10);
	max_bytes = GRANULES_MAX * (GRANULE_BYTES / scale);
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
		if (options[i].is_right && value_of(i) &&
		    !options[i].is_right(options[i].variable, value_of(i)))
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
