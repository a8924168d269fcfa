/* SPDX-License-Identifier: Apache-2.0 */

/* What programs say beforehand about managed memory, and are told again. */

#include "softgpu/driver/memory/managed.h"
#include "softgpu/driver/memory/managed-block.h"

static uint8_t bit_of(int where)
{
	return (uint8_t)(1u << (where < 0 ? 7 : where));
}

CUresult dev_managed_advise(uint64_t address, uint64_t bytes, CUmem_advise advice, int where)
{
	struct dev_managed *m;
	struct dev_managed_block *b;

	dev_managed_lock();
	DEV_MANAGED_EACH_BLOCK(m, b, address, bytes)
	{
		switch (advice) {
		case CU_MEM_ADVISE_SET_READ_MOSTLY:
		case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
			b->is_read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
			break;
		case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
			b->preferred = (int8_t)where;
			break;
		case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
			b->preferred = DEV_MANAGED_NONE;
			break;
		case CU_MEM_ADVISE_SET_ACCESSED_BY:
			b->accessed_by |= bit_of(where);
			break;
		default:
			b->accessed_by &= (uint8_t)~bit_of(where);
			break;
		}
	}
	dev_managed_unlock();
	return CUDA_SUCCESS;
}

static int value_of(const struct dev_managed_block *b, CUmem_range_attribute which)
{
	switch (which) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		return b->is_read_mostly;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		return b->prefetched;
	default:
		return b->preferred;
	}
}

int dev_managed_attribute(uint64_t address, uint64_t bytes, CUmem_range_attribute which)
{
	int value = DEV_MANAGED_NONE;
	struct dev_managed *m;
	struct dev_managed_block *b;
	bool is_first = true;

	dev_managed_lock();
	DEV_MANAGED_EACH_BLOCK(m, b, address, bytes)
	{
		if (is_first)
			value = value_of(b, which);
		else if (value != value_of(b, which))
			value = which == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? 0 : DEV_MANAGED_NONE;
		is_first = false;
	}
	dev_managed_unlock();
	return value;
}

bool dev_managed_accessed_by(uint64_t address, uint64_t bytes, int where)
{
	struct dev_managed *m;
	struct dev_managed_block *b;
	bool by = true;

	dev_managed_lock();
	DEV_MANAGED_EACH_BLOCK(m, b, address, bytes)
	by = by && b->accessed_by & bit_of(where);
	dev_managed_unlock();
	return by;
}
