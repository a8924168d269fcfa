/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the environment says about the software GPU:
 *
 *   SLUICE_SOFTGPU_PROFILE           none | rtx5080 | rtx5090-x8 | rtx3080
 *   SLUICE_SOFTGPU_SCALE             a power of two up to 512; divides the profile's figures
 *   SLUICE_SOFTGPU_MEMORY            the device's size as it shall be, not scaled ("64M")
 *   SLUICE_SOFTGPU_CONTEXT_OVERHEAD  what a context takes, not scaled ("2M")
 *   SLUICE_SOFTGPU_DEVICES           how many devices there are
 *   SLUICE_SOFTGPU_CAPABILITY        the compute capability that programs are told ("8.0")
 *   SLUICE_SOFTGPU_MULTIPROCESSORS   how many of them programs are told
 *   SLUICE_SOFTGPU_PREFETCH          see managed.h
 *   SLUICE_SOFTGPU_FAULT             see fault.h
 *
 * The first process makes the device; it lives on in its files. Who comes later gets the device
 * that is there, and is refused where it asks in so many words for another one.
 */

#include <stdbool.h>
#include <stdint.h>

#include "softgpu/driver/limits.h"
#include "softgpu/driver/profile.h"

/* DEV_SETTINGS_DEVICES_MAX and so on */
enum {
#define DEV_SETTING_RANGE(name, min, max) \
	DEV_SETTINGS_##name##_MIN = (min), DEV_SETTINGS_##name##_MAX = (max),
#define DEV_SETTING_LIMIT(name, value) DEV_SETTINGS_##name = (value),
#include "softgpu/settings.def"
};

struct dev_settings {
	const struct dev_profile *profile;
	unsigned scale;
	unsigned n_devices;
	uint64_t memory_bytes;
	uint64_t context_bytes;
	uint64_t granule_bytes;
	unsigned capability;		 /* 75 for 7.5 */
	const struct dev_limits *limits; /* of that capability */
	unsigned n_multiprocessors;
	unsigned prefetch_percent; /* of a region of managed memory, that brings all of it */
	bool asks;		   /* the size, the profile or the scale was given */
};

/* Return: 0, or -EINVAL where the environment holds something that is not understood. */
int dev_settings_read(struct dev_settings *ret_settings);
