/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util.h"
#include "softgpu/interp/memory.h"

/* Pages of the window from the one of @offset to the one of its last byte. */
static bool window_allows(const struct slu_interp_memory *m, uint64_t offset, uint64_t bytes,
			  uint8_t want)
{
	uint64_t first = offset >> m->shift, last = (offset + bytes - 1) >> m->shift;

	for (uint64_t page = first; page <= last; page++) {
		if (!(__atomic_load_n(&m->access[page], __ATOMIC_RELAXED) & want))
			return false;
		if (m->touched && !(m->touched[page] & want))
			__atomic_fetch_or(&m->touched[page], want, __ATOMIC_RELAXED);
	}
	return true;
}

static bool ranges_allow(const struct slu_interp_memory *m, uint64_t address, uint64_t bytes,
			 uint8_t want)
{
	size_t low = 0, high = m->n_ranges;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct slu_interp_range *r = &m->ranges[mid];

		if (address < r->base)
			high = mid;
		else if (address - r->base >= r->bytes)
			low = mid + 1;
		else
			return r->bytes - (address - r->base) >= bytes && r->access & want;
	}
	return false;
}

/* May a kernel reach these bytes by a generic address? */
static bool allows(const struct slu_interp_block *b, uint64_t address, uint64_t bytes, uint8_t want)
{
	const struct slu_interp_memory *m = b->memory;
	uint64_t offset = address - m->base;
	uint64_t all_local = b->local_bytes * b->n_threads;

	if (offset < m->bytes)
		return m->bytes - offset >= bytes && window_allows(m, offset, bytes, want);
	offset = address - (uint64_t)(uintptr_t)b->shared;
	if (offset < b->shared_bytes)
		return b->shared_bytes - offset >= bytes;
	offset = address - (uint64_t)(uintptr_t)b->local;
	if (offset < all_local)
		return all_local - offset >= bytes;
	return ranges_allow(m, address, bytes, want);
}

static uint64_t address_of(const struct slu_interp_warp *w, const struct slu_interp_insn *in,
			   unsigned lane)
{
	const void *row = w->rows + in->a;
	uint64_t base =
		in->is_wide_address ? ((const uint64_t *)row)[lane] : ((const uint32_t *)row)[lane];

	return base + (uint64_t)in->imm;
}

static enum slu_interp_shape fail(struct slu_interp_warp *w, const struct slu_interp_insn *in,
				  enum slu_interp_fault_kind kind, unsigned lane, uint64_t address,
				  unsigned size, bool is_write)
{
	slu_interp_fault(w, in, kind, lane, address, size, is_write);
	return SLU_INTERP_SHAPE_FAULT;
}

static inline uint8_t *pointer(uint64_t address)
{
	return (uint8_t *)(uintptr_t)address;
}

static enum slu_interp_shape reach_global(struct slu_interp_warp *w,
					  const struct slu_interp_insn *in, unsigned size,
					  bool is_write, struct slu_interp_places *ret)
{
	const struct slu_interp_block *b = w->block;
	uint8_t want = is_write ? SLU_INTERP_WRITE : SLU_INTERP_READ;
	uint64_t first;

	if (in->is_wide_address && w->mask == SLU_INTERP_ALL) {
		const uint64_t *a = __builtin_assume_aligned(w->rows + in->a, 64);
		uint64_t apart = 0, different = 0;

		for (unsigned i = 0; i < SLU_INTERP_LANES; i++) {
			apart |= a[i] - (a[0] + (uint64_t)i * size);
			different |= a[i] ^ a[0];
		}
		first = a[0] + (uint64_t)in->imm;
		if (!(first & (size - 1))) {
			ret->base = pointer(first);
			if (!apart && allows(b, first, (uint64_t)size * SLU_INTERP_LANES, want))
				return SLU_INTERP_SHAPE_PIECE;
			if (!different && allows(b, first, size, want))
				return SLU_INTERP_SHAPE_SAME;
		}
	}
	for (uint32_t m = w->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint64_t address = address_of(w, in, i);

		if (address & (size - 1))
			return fail(w, in, SLU_INTERP_FAULT_MISALIGNED, i, address, size, is_write);
		if (!allows(b, address, size, want))
			return fail(w, in, SLU_INTERP_FAULT_ADDRESS, i, address, size, is_write);
		ret->lanes[i] = pointer(address);
	}
	return SLU_INTERP_SHAPE_APART;
}

/* Addresses that are offsets in a window, which every lane has its own of if @stride is not 0. */
static enum slu_interp_shape reach_window(struct slu_interp_warp *w,
					  const struct slu_interp_insn *in, unsigned size,
					  bool is_write, uint8_t *window, uint64_t bytes,
					  uint64_t stride, struct slu_interp_places *ret)
{
	if (!stride && w->mask == SLU_INTERP_ALL) {
		uint64_t first = address_of(w, in, 0), apart = 0, different = 0;

		for (unsigned i = 0; i < SLU_INTERP_LANES; i++) {
			uint64_t a = address_of(w, in, i);

			apart |= a - (first + (uint64_t)i * size);
			different |= a ^ first;
		}
		if (!(first & (size - 1)) && first < bytes) {
			ret->base = window + first;
			if (!apart && bytes - first >= (uint64_t)size * SLU_INTERP_LANES)
				return SLU_INTERP_SHAPE_PIECE;
			if (!different && bytes - first >= size)
				return SLU_INTERP_SHAPE_SAME;
		}
	}
	for (uint32_t m = w->mask; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint64_t offset = address_of(w, in, i);

		if (offset & (size - 1))
			return fail(w, in, SLU_INTERP_FAULT_MISALIGNED, i, offset, size, is_write);
		if (offset >= bytes || bytes - offset < size)
			return fail(w, in, SLU_INTERP_FAULT_SPACE, i, offset, size, is_write);
		ret->lanes[i] = window + i * stride + offset;
	}
	return SLU_INTERP_SHAPE_APART;
}

/* [name + offset] of a .param variable: the offset is known, and alike for all lanes. */
static enum slu_interp_shape reach_named(struct slu_interp_warp *w,
					 const struct slu_interp_insn *in, unsigned size,
					 bool is_write, uint8_t *buffer, uint64_t bytes,
					 bool is_kernels, struct slu_interp_places *ret)
{
	uint64_t offset = (uint64_t)in->imm;

	if (offset & (size - 1))
		return fail(w, in, SLU_INTERP_FAULT_MISALIGNED, (unsigned)__builtin_ctz(w->mask),
			    offset, size, is_write);
	if (offset >= bytes || bytes - offset < size || (is_kernels && is_write))
		return fail(w, in, SLU_INTERP_FAULT_SPACE, (unsigned)__builtin_ctz(w->mask), offset,
			    size, is_write);
	if (is_kernels) {
		ret->base = buffer + offset;
		return SLU_INTERP_SHAPE_SAME;
	}
	for (unsigned i = 0; i < SLU_INTERP_LANES; i++)
		ret->lanes[i] = buffer + i * bytes + offset;
	return SLU_INTERP_SHAPE_APART;
}

static enum slu_interp_shape reach_param(struct slu_interp_warp *w,
					 const struct slu_interp_insn *in, unsigned size,
					 bool is_write, struct slu_interp_places *ret)
{
	const struct slu_interp_frame *f = w->frame;
	const struct slu_ptx_function *fn = f->code->function;
	bool is_kernels = fn->is_kernel && in->role == SLU_PTX_ROLE_PARAM;
	uint8_t *buffer;
	uint64_t bytes;

	switch (in->role) {
	case SLU_PTX_ROLE_PARAM:
		/* a kernel's parameters are only ever read */
		buffer = fn->is_kernel ? (uint8_t *)(uintptr_t)w->block->launch->params : f->params;
		bytes = fn->param_bytes;
		break;
	case SLU_PTX_ROLE_RESULT:
		buffer = f->results;
		bytes = fn->result_bytes;
		break;
	default:
		buffer = f->calls;
		bytes = fn->call_bytes;
		break;
	}
	if (in->is_named)
		return reach_named(w, in, size, is_write, buffer, bytes, is_kernels, ret);
	if (is_kernels && is_write)
		return fail(w, in, SLU_INTERP_FAULT_SPACE, (unsigned)__builtin_ctz(w->mask), 0,
			    size, true);
	return reach_window(w, in, size, is_write, buffer, bytes, is_kernels ? 0 : bytes, ret);
}

enum slu_interp_shape slu_interp_reach(struct slu_interp_warp *w, const struct slu_interp_insn *in,
				       unsigned size, bool is_write,
				       struct slu_interp_places *ret_places)
{
	struct slu_interp_block *b = w->block;
	uint8_t *local;

	switch ((enum slu_ptx_space)in->space) {
	case SLU_PTX_SPACE_SHARED:
		return reach_window(w, in, size, is_write, b->shared, b->shared_bytes, 0,
				    ret_places);
	case SLU_PTX_SPACE_LOCAL:
		local = b->local + (uint64_t)w->index * SLU_INTERP_LANES * b->local_bytes;
		return reach_window(w, in, size, is_write, local, b->local_bytes, b->local_bytes,
				    ret_places);
	case SLU_PTX_SPACE_PARAM:
		return reach_param(w, in, size, is_write, ret_places);
	default:
		return reach_global(w, in, size, is_write, ret_places);
	}
}
