/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/condition.h"

static struct slu_objects conditions = SLU_OBJECTS_INIT(struct slu_condition);

struct slu_condition *slu_condition_new(struct slu_context *context, unsigned initial,
					bool is_assigned)
{
	struct slu_condition *condition = slu_objects_new(&conditions);

	if (condition) {
		condition->n_refs = 1;
		condition->context = context;
		condition->value = condition->initial = initial;
		condition->is_assigned = is_assigned;
	}
	return condition;
}

struct slu_condition *slu_condition_ref(struct slu_condition *condition)
{
	__atomic_add_fetch(&condition->n_refs, 1, __ATOMIC_RELAXED);
	return condition;
}

void slu_condition_unref(struct slu_condition *condition)
{
	if (condition && !__atomic_sub_fetch(&condition->n_refs, 1, __ATOMIC_ACQ_REL))
		slu_objects_free(&conditions, condition);
}

CUgraphConditionalHandle slu_condition_handle(const struct slu_condition *condition)
{
	return (uintptr_t)condition;
}

struct slu_condition *slu_condition_get(CUgraphConditionalHandle handle)
{
	return slu_objects_get(&conditions, (const void *)(uintptr_t)handle);
}

void slu_condition_set(struct slu_condition *condition, unsigned value)
{
	__atomic_store_n(&condition->value, value, __ATOMIC_RELEASE);
}

unsigned slu_condition_value(const struct slu_condition *condition)
{
	return __atomic_load_n(&condition->value, __ATOMIC_ACQUIRE);
}
