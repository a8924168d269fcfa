/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/profile.h"

#include <string.h>

#include "base/util.h"

#define MB UINT64_C(1000000)

/* An isolated fault takes 31.79 us, 1.35 of them for its bytes. Time does not scale: what is
 * scaled are the bytes and how many of them there are a second. */
#define FAULT_NS 30440

/* Copies measured by others with pinned memory; where the sum of both directions was measured, it
 * is shared out as the single directions are. */
const struct dev_profile dev_profiles[] = {
	{ .name = "none",
	  .card = "Sluice software GPU",
	  .memory_bytes = 256 * SLU_MIB,
	  .default_scale = 1 },
	{ .name = "rtx5080",
	  .card = "RTX 5080",
	  .memory_bytes = 16 * SLU_GIB,
	  .context_bytes = 400 * SLU_MIB,
	  .in_alone = 45600 * MB,
	  .in_both = 34700 * MB,
	  .out_alone = 37800 * MB,
	  .out_both = 28800 * MB,
	  .fault_ns = FAULT_NS,
	  .default_scale = 256 },
	{ .name = "rtx5090-x8",
	  .card = "RTX 5090 on 8 lanes",
	  .memory_bytes = 32 * SLU_GIB,
	  .context_bytes = 500 * SLU_MIB,
	  .in_alone = 28000 * MB,
	  .in_both = 21490 * MB,
	  .out_alone = 28500 * MB,
	  .out_both = 21490 * MB,
	  .fault_ns = FAULT_NS,
	  .default_scale = 256 },
	{ .name = "rtx3080",
	  .card = "RTX 3080",
	  .memory_bytes = 10 * SLU_GIB,
	  .context_bytes = 300 * SLU_MIB,
	  .in_alone = 21100 * MB,
	  .in_both = 18900 * MB,
	  .out_alone = 23400 * MB,
	  .out_both = 20900 * MB,
	  .fault_ns = FAULT_NS,
	  .default_scale = 256 },
	{ .name = NULL },
};

const struct dev_profile *dev_profile_find(const char *name)
{
	for (const struct dev_profile *p = dev_profiles; p->name; p++)
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}
