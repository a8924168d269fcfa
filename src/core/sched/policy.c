/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "core/sched/policy.h"

/* One row a policy, in the order of lists: slu_core_policy_NAME is in policy-NAME.c. */
#define POLICIES(ROW) \
	ROW(mlfq)     \
	ROW(rr)       \
	ROW(fifo)     \
	ROW(fair)     \
	ROW(srtf)     \
	ROW(priority) \
	ROW(pack)     \
	ROW(desktop)

#define DECLARE(name) extern const struct slu_core_policy slu_core_policy_##name;
POLICIES(DECLARE)

#define ADDRESS(name) &slu_core_policy_##name,
static const struct slu_core_policy *const policies[] = { POLICIES(ADDRESS) };

const struct slu_core_policy *slu_core_policy_find(const char *name)
{
	for (size_t i = 0; name && i < SLU_ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}

const struct slu_core_policy *slu_core_policy_at(unsigned i)
{
	return i < SLU_ARRAY_SIZE(policies) ? policies[i] : NULL;
}

size_t slu_core_policy_state_max(void)
{
	size_t most = 0;

	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies); i++)
		most = SLU_MAX(most, policies[i]->state_size);
	return most;
}

size_t slu_core_policy_common_max(void)
{
	size_t most = 0;

	for (size_t i = 0; i < SLU_ARRAY_SIZE(policies); i++)
		most = SLU_MAX(most, policies[i]->common_size);
	return most;
}
