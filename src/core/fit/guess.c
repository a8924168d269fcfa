/* SPDX-License-Identifier: Apache-2.0 */
#include "core/fit/guess.h"

#include <assert.h>

#include "base/util.h"
#include "core/group.h"

#define TURN_PARTS   8 /* each turn adds this part of the device */
#define MEMORY_PARTS 8 /* the weight of the last guess in how sure the next one is */

void slu_core_guess_init(struct slu_core_device *device)
{
	device->guess_group = 0;
	device->guess_bytes = 0;
	device->guess_credit_bytes = device->capacity.usable_bytes;
	device->guess_sure_percent = 100;
}

static void judge(struct slu_core_device *device, bool is_right)
{
	unsigned sure = device->guess_sure_percent * (MEMORY_PARTS - 1);

	/* rounded towards the result, so that it gets there */
	device->guess_sure_percent =
		is_right ? (sure + 100 + MEMORY_PARTS - 1) / MEMORY_PARTS : sure / MEMORY_PARTS;
	if (is_right)
		device->guess_credit_bytes += device->guess_bytes;
	device->guess_bytes = 0;
	device->guess_group = 0;
}

void slu_core_guess_next(struct slu_core_device *device, uint64_t group)
{
	if (device->guess_group && device->guess_group != group)
		judge(device, false);
	device->guess_group = group;
}

void slu_core_guess_turn(struct slu_core *core, const struct slu_core_group *group)
{
	for (unsigned d = 0; d < core->n_devices; d++) {
		struct slu_core_device *device = core->devices[d];
		uint64_t most = device->capacity.usable_bytes;

		if (!slu_core_group_uses(group, d))
			continue;
		if (device->guess_group)
			judge(device, device->guess_group == group->id);
		device->guess_credit_bytes =
			SLU_MIN(device->guess_credit_bytes + most / TURN_PARTS, most);
	}
}

void slu_core_guess_spend(struct slu_core_device *device, uint64_t bytes)
{
	assert(bytes <= device->guess_credit_bytes);
	device->guess_credit_bytes -= bytes;
	device->guess_bytes += bytes;
}
