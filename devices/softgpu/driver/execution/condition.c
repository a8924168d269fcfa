/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/condition.h"

static struct dev_objects conditions = DEV_OBJECTS_INIT(struct dev_condition);

struct dev_condition *dev_condition_new(struct dev_context *context, unsigned initial,
					bool is_assigned)
{
	struct dev_condition *condition = dev_object_new(&conditions);

	if (condition) {
		condition->n_refs = 1;
		condition->context = context;
		condition->value = condition->initial = initial;
		condition->is_assigned = is_assigned;
	}
	return condition;
}

struct dev_condition *dev_condition_ref(struct dev_condition *condition)
{
	__atomic_add_fetch(&condition->n_refs, 1, __ATOMIC_RELAXED);
	return condition;
}

void dev_condition_unref(struct dev_condition *condition)
{
	if (condition && !__atomic_sub_fetch(&condition->n_refs, 1, __ATOMIC_ACQ_REL))
		dev_object_free(&conditions, condition);
}

CUgraphConditionalHandle dev_condition_handle(const struct dev_condition *condition)
{
	return (uintptr_t)condition;
}

struct dev_condition *dev_condition_get(CUgraphConditionalHandle handle)
{
	return dev_object_get(&conditions, (const void *)(uintptr_t)handle);
}

void dev_condition_set(struct dev_condition *condition, unsigned value)
{
	__atomic_store_n(&condition->value, value, __ATOMIC_RELEASE);
}

unsigned dev_condition_value(const struct dev_condition *condition)
{
	return __atomic_load_n(&condition->value, __ATOMIC_ACQUIRE);
}
