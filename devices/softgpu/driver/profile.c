/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/profile.h"

#include <string.h>

#include "base/util.h"

#define MB UINT64_C(1000000)

static const struct dev_profile profiles[] = {
#define DEV_SETTING_PROFILE(name_, card_, memory, context, in, in_b, out, out_b, slow, fault, \
			    scale)                                                            \
	{ .name = name_,                                                                      \
	  .card = card_,                                                                      \
	  .memory_bytes = memory,                                                             \
	  .context_bytes = context,                                                           \
	  .in_alone = in * MB,                                                                \
	  .in_both = in_b * MB,                                                               \
	  .out_alone = out * MB,                                                              \
	  .out_both = out_b * MB,                                                             \
	  .pageable = slow * MB,                                                              \
	  .fault_ns = fault,                                                                  \
	  .default_scale = scale },
#include "softgpu/settings.def"
};

const struct dev_profile *dev_profile_find(const char *name)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(profiles); i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}
