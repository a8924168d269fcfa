/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/size.h"
#include "base/util.h"

/* A number within the range that settings.def has for it. Return: whether it was given, or < 0. */
#define READ_NUMBER(name, number)                                                                  \
	read_number("SLUICE_SOFTGPU_" #name, DEV_SETTINGS_##name##_MIN, DEV_SETTINGS_##name##_MAX, \
		    number)

static int read_number(const char *name, unsigned min, unsigned max, unsigned *number)
{
	const char *s = secure_getenv(name);
	unsigned long value;
	char *end;

	if (!s || !*s)
		return 0;
	value = strtoul(s, &end, 10);
	if (*end || value < min || value > max)
		return slu_error(-EINVAL);
	*number = (unsigned)value;
	return 1;
}

static int read_bytes(const char *name, uint64_t *bytes)
{
	const char *s = secure_getenv(name);
	int r;

	if (!s || !*s)
		return 0;
	r = slu_size_parse(s, bytes);
	return r ? slu_fold(r) : 1;
}

/* "7.5" becomes 75 */
static int read_capability(unsigned *capability)
{
	const char *s = secure_getenv("SLUICE_SOFTGPU_CAPABILITY");
	unsigned major, minor;
	char rest;

	if (!s || !*s)
		return 0;
	if (sscanf(s, "%2u.%1u%c", &major, &minor, &rest) != 2 ||
	    major < DEV_SETTINGS_CAPABILITY_MAJOR_MIN)
		return slu_error(-EINVAL);
	*capability = major * 10 + minor;
	return 0;
}

int dev_settings_read(struct dev_settings *ret_settings)
{
	const char *name = secure_getenv("SLUICE_SOFTGPU_PROFILE");
	/* few multiprocessors: programs size their grids by them */
	struct dev_settings s = {
		.n_devices = 1, .capability = 75, .n_multiprocessors = 4, .prefetch_percent = 51
	};
	int r;

	s.profile = dev_profile_find(name && *name ? name : "none");
	if (!s.profile)
		return slu_error(-EINVAL);
	s.asks = name && *name;

	s.scale = s.profile->default_scale;
	r = READ_NUMBER(SCALE, &s.scale);
	if (r < 0 || (s.scale & (s.scale - 1)))
		return slu_error(-EINVAL);
	s.asks = s.asks || r;
	s.granule_bytes = DEV_SETTINGS_GRANULE_BYTES / s.scale;

	s.memory_bytes = s.profile->memory_bytes / s.scale;
	r = read_bytes("SLUICE_SOFTGPU_MEMORY", &s.memory_bytes);
	if (r < 0 || s.memory_bytes > (UINT64_C(1) << 42))
		return slu_error(-EINVAL);
	s.asks = s.asks || r;
	s.memory_bytes = slu_round_up(s.memory_bytes, s.granule_bytes);
	if (!s.memory_bytes)
		return slu_error(-EINVAL);

	s.context_bytes = s.profile->context_bytes / s.scale;
	r = read_bytes("SLUICE_SOFTGPU_CONTEXT_OVERHEAD", &s.context_bytes);
	if (r < 0)
		return slu_fold(r);
	r = READ_NUMBER(DEVICES, &s.n_devices);
	if (r < 0)
		return slu_fold(r);
	r = READ_NUMBER(MULTIPROCESSORS, &s.n_multiprocessors);
	if (r < 0)
		return slu_fold(r);
	r = READ_NUMBER(PREFETCH, &s.prefetch_percent);
	if (r < 0)
		return slu_fold(r);
	r = read_capability(&s.capability);
	if (r)
		return slu_fold(r);
	s.limits = dev_limits_of(s.capability);

	*ret_settings = s;
	return 0;
}
