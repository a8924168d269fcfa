/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/size.h"
#include "base/util.h"

struct suffix {
	const char *name;
	double factor;
};

static const struct suffix size_suffixes[] = {
	{ "", 1 },	   { "b", 1 },	      { "k", 0x1p10 },	 { "kb", 0x1p10 },
	{ "kib", 0x1p10 }, { "m", 0x1p20 },   { "mb", 0x1p20 },	 { "mib", 0x1p20 },
	{ "g", 0x1p30 },   { "gb", 0x1p30 },  { "gib", 0x1p30 }, { "t", 0x1p40 },
	{ "tb", 0x1p40 },  { "tib", 0x1p40 },
};

static const struct suffix time_suffixes[] = {
	{ "ns", 1 },   { "us", 1e3 },	{ "ms", 1e6 },	 { "s", 1e9 },
	{ "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 },
};

static int parse(const char *s, const struct suffix *suffixes, size_t n, uint64_t *ret)
{
	char *end;
	double value;

	/* strtod also takes "inf", "nan", hex and leading blanks: none of them is a size */
	if (!isdigit((unsigned char)*s) || (s[0] == '0' && (s[1] | 32) == 'x'))
		return -EINVAL;
	value = strtod(s, &end);
	while (*end == ' ')
		end++;
	for (size_t i = 0; i < n; i++) {
		double scaled = value * suffixes[i].factor;

		if (strcasecmp(end, suffixes[i].name))
			continue;
		if (!(scaled < 0x1p63))
			return -ERANGE;
		*ret = (uint64_t)scaled;
		return 0;
	}
	return -EINVAL;
}

int slu_size_parse(const char *s, uint64_t *ret_bytes)
{
	return parse(s, size_suffixes, SLU_ARRAY_SIZE(size_suffixes), ret_bytes);
}

int slu_size_parse_time(const char *s, uint64_t *ret_ns)
{
	return parse(s, time_suffixes, SLU_ARRAY_SIZE(time_suffixes), ret_ns);
}

static const char *format(char *buf, double value, double step, const char *const *units, size_t n)
{
	size_t i = 0;
	int digits;

	/* 999.5 would print as "1e+03" or "1000": it belongs to the next unit */
	while (i + 1 < n && value >= (step == 1024 ? 1023.5 : 999.5)) {
		value /= step;
		i++;
	}
	digits = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	snprintf(buf, SLU_SIZE_STRING_MAX, "%.*f %s", digits, value, units[i]);
	return buf;
}

const char *slu_size_format(char buf[static SLU_SIZE_STRING_MAX], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	return format(buf, (double)bytes, 1024, units, SLU_ARRAY_SIZE(units));
}

const char *slu_size_format_time(char buf[static SLU_SIZE_STRING_MAX], uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	static const struct {
		uint64_t from_s, unit_s;
		const char *name;
	} long_units[] = { { 4 * 86400, 86400, "days" },
			   { 4 * 3600, 3600, "h" },
			   { 600, 60, "min" } };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(long_units); i++) {
		if (ns < long_units[i].from_s * SLU_NS_PER_S)
			continue;
		snprintf(buf, SLU_SIZE_STRING_MAX, "%llu %s",
			 (unsigned long long)(ns / SLU_NS_PER_S / long_units[i].unit_s),
			 long_units[i].name);
		return buf;
	}
	return format(buf, (double)ns, 1000, units, SLU_ARRAY_SIZE(units));
}
