/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "core/sched/policy.h"

static const struct slu_core_policy *const policies[] = {
	&slu_core_policy_mlfq,
	&slu_core_policy_rr,
	&slu_core_policy_fifo,
};

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
