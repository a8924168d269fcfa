/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/interp/memory.h"

/* What goes over the bus is counted. */
static bool memory_count(const struct dev_interp_memory *m, uint64_t bytes, uint8_t want)
{
	if (m->range_bytes)
		__atomic_fetch_add(&m->range_bytes[want == DEV_INTERP_WRITE], bytes,
				   __ATOMIC_RELAXED);
	return true;
}

static bool ranges_allow(const struct dev_interp_memory *m, uint64_t address, uint64_t bytes,
			 uint8_t want)
{
	size_t low = 0, high = m->n_ranges;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct dev_interp_range *r = &m->ranges[mid];

		if (address < r->base)
			high = mid;
		else if (address - r->base >= r->bytes)
			low = mid + 1;
		else
			return r->bytes - (address - r->base) >= bytes && r->access & want &&
			       memory_count(m, bytes, want);
	}
	return false;
}

/* May a kernel reach these bytes, which are outside of the window, by a generic address? */
static bool memory_allows(const struct dev_interp_block *b, uint64_t address, uint64_t bytes,
			  uint8_t want)
{
	const struct dev_interp_memory *m = b->memory;
	uint64_t all_local = b->local_bytes * b->n_threads;
	uint64_t offset;

	offset = address - (uint64_t)(uintptr_t)b->shared;
	if (offset < b->shared_bytes)
		return b->shared_bytes - offset >= bytes;
	offset = address - (uint64_t)(uintptr_t)b->local;
	if (offset < all_local)
		return all_local - offset >= bytes;
	/* a kernel's parameters can be read by a generic address */
	offset = address - (uint64_t)(uintptr_t)b->launch->params;
	if (offset < b->launch->kernel->param_bytes)
		return want == DEV_INTERP_READ && b->launch->kernel->param_bytes - offset >= bytes;
	offset = address - (uint64_t)(uintptr_t)b->workspace;
	if (b->workspace && offset < 2 * sizeof(*b->workspace))
		return 2 * sizeof(*b->workspace) - offset >= bytes;
	return ranges_allow(m, address, bytes, want);
}

void *DEV_ISA(memory_find)(const struct dev_interp_block *b, uint64_t address, uint64_t bytes,
			   uint8_t want)
{
	const struct dev_interp_memory *m = b->memory;
	uint64_t offset = address - m->base;

	if (offset >= m->bytes)
		return memory_allows(b, address, bytes, want) ? (void *)(uintptr_t)address : NULL;
	return m->bytes - offset >= bytes && dev_interp_window_allows(m, offset, bytes, want)
		       ? m->view + offset
		       : NULL;
}

const void *DEV_ISA(memory_readable)(const struct dev_interp_block *b, uint64_t address,
				     uint64_t bytes)
{
	return DEV_ISA(memory_find)(b, address, bytes, DEV_INTERP_READ);
}

/* The sum of a register and its offset has the register's width. */
static inline void read_addresses(const struct dev_interp_warp *w, const struct dev_interp_insn *in,
				  uint64_t *addresses)
{
	uint64_t more = (uint64_t)in->imm;

	if (in->is_wide_address) {
		const uint64_t *row = ROW(w, in->a);

		EVERY_LANE addresses[i] = row[i] + more;
	} else {
		const uint32_t *row = ROW(w, in->a);

		EVERY_LANE addresses[i] = (uint32_t)(row[i] + more);
	}
}

/* What is known of 32 addresses together. */
struct survey {
	bool is_inside; /* a window, all of them, and aligned */
	bool is_piece;
	bool is_same;
	bool is_one_page; /* of 1 << shift bytes */
};

/*
 * @origin is where the window begins and becomes 0; offsets stay behind in @offsets. Inside means
 * 0 <= offset <= limit for all: where it does not hold, one of the two terms is negative.
 */
static inline struct survey look_at(uint64_t *offsets, uint64_t origin, uint64_t bytes,
				    unsigned size, unsigned shift)
{
	uint64_t first = offsets[0] - origin, limit = bytes - size;
	uint64_t outside = 0, low = 0, apart = 0, different = 0;

	for (unsigned i = 0; i < DEV_INTERP_LANES; i++) {
		uint64_t offset = offsets[i] - origin;

		low |= offsets[i];
		outside |= offset | (limit - offset);
		apart |= offset - (first + (uint64_t)i * size);
		different |= offset ^ first;
		offsets[i] = offset;
	}
	return (struct survey){
		.is_inside = bytes >= size && !(outside >> 63) && !(low & (size - 1)),
		.is_piece = !apart,
		.is_same = !different,
		.is_one_page = !(different >> shift),
	};
}

static enum dev_interp_shape memory_fail(struct dev_interp_warp *w,
					 const struct dev_interp_insn *in,
					 enum dev_interp_fault_kind kind, unsigned lane,
					 uint64_t address, unsigned size, bool is_write)
{
	dev_interp_fault(w, in, kind, lane, address, size, is_write);
	return DEV_INTERP_SHAPE_FAULT;
}

static enum dev_interp_shape memory_place(const struct survey *s, uint8_t *window,
					  struct dev_interp_places *ret)
{
	ret->base = window;
	if (!s->is_piece && !s->is_same)
		return DEV_INTERP_SHAPE_APART;
	ret->base += ret->offsets[0];
	return s->is_piece ? DEV_INTERP_SHAPE_PIECE : DEV_INTERP_SHAPE_SAME;
}

/* Rights of all pages that 32 lanes inside the window touch. */
static bool survey_allows(const struct dev_interp_memory *m, const struct survey *s,
			  const uint64_t *offsets, unsigned size, uint8_t want)
{
	/* an aligned access does not cross into the next page */
	if (s->is_one_page)
		return dev_interp_page_allows(m, offsets[0] >> m->shift, want);
	if (s->is_piece)
		return dev_interp_window_allows(m, offsets[0], (uint64_t)size * DEV_INTERP_LANES,
						want);
	for (unsigned i = 0; i < DEV_INTERP_LANES; i++)
		if (!dev_interp_page_allows(m, offsets[i] >> m->shift, want))
			return false;
	return true;
}

static enum dev_interp_shape reach_global(struct dev_interp_warp *w,
					  const struct dev_interp_insn *in, unsigned size,
					  bool is_write, struct dev_interp_places *ret)
{
	const struct dev_interp_block *b = w->block;
	const struct dev_interp_memory *m = b->memory;
	uint8_t want = is_write ? DEV_INTERP_WRITE : DEV_INTERP_READ;

	read_addresses(w, in, ret->offsets);
	if (w->mask == DEV_INTERP_ALL) {
		struct survey s = look_at(ret->offsets, m->base, m->bytes, size, m->shift);

		if (s.is_inside && survey_allows(m, &s, ret->offsets, size, want))
			return memory_place(&s, m->view, ret);
		read_addresses(w, in, ret->offsets);
	}
	/* anywhere: the offsets are whole pointers */
	ret->base = NULL;
	MASKED_LANES(w->mask)
	{
		uint64_t address = ret->offsets[i];
		const void *at;

		if (address & (size - 1))
			return memory_fail(w, in, DEV_INTERP_FAULT_MISALIGNED, i, address, size,
					   is_write);
		at = DEV_ISA(memory_find)(b, address, size, want);
		if (!at)
			return memory_fail(w, in, DEV_INTERP_FAULT_ADDRESS, i, address, size,
					   is_write);
		ret->offsets[i] = (uint64_t)(uintptr_t)at;
	}
	return DEV_INTERP_SHAPE_APART;
}

/*
 * Addresses that are offsets in a window, which every lane has its own of if @stride is not 0. They
 * have 32 bits; what a wider register holds above them does not count.
 */
static enum dev_interp_shape reach_window(struct dev_interp_warp *w,
					  const struct dev_interp_insn *in, unsigned size,
					  bool is_write, uint8_t *window, uint64_t bytes,
					  uint64_t stride, struct dev_interp_places *ret)
{
	read_addresses(w, in, ret->offsets);
	EVERY_LANE ret->offsets[i] = (uint32_t)ret->offsets[i];
	if (w->mask == DEV_INTERP_ALL) {
		struct survey s = look_at(ret->offsets, 0, bytes, size, 63);

		if (s.is_inside && !stride)
			return memory_place(&s, window, ret);
		if (s.is_inside) {
			ret->base = window;
			EVERY_LANE ret->offsets[i] += i * stride;
			return DEV_INTERP_SHAPE_APART;
		}
	}
	MASKED_LANES(w->mask)
	{
		uint64_t offset = ret->offsets[i];

		if (offset & (size - 1))
			return memory_fail(w, in, DEV_INTERP_FAULT_MISALIGNED, i, offset, size,
					   is_write);
		if (offset >= bytes || bytes - offset < size)
			return memory_fail(w, in, DEV_INTERP_FAULT_SPACE, i, offset, size,
					   is_write);
		ret->offsets[i] = i * stride + offset;
	}
	ret->base = window;
	return DEV_INTERP_SHAPE_APART;
}

/* [name + offset] of a .param variable: the offset is known, and alike for all lanes. */
static enum dev_interp_shape reach_named(struct dev_interp_warp *w,
					 const struct dev_interp_insn *in, unsigned size,
					 bool is_write, uint8_t *buffer, uint64_t bytes,
					 bool is_kernels, struct dev_interp_places *ret)
{
	uint64_t offset = (uint64_t)in->imm;

	if (offset & (size - 1))
		return memory_fail(w, in, DEV_INTERP_FAULT_MISALIGNED,
				   (unsigned)__builtin_ctz(w->mask), offset, size, is_write);
	if (offset >= bytes || bytes - offset < size || (is_kernels && is_write))
		return memory_fail(w, in, DEV_INTERP_FAULT_SPACE, (unsigned)__builtin_ctz(w->mask),
				   offset, size, is_write);
	ret->base = buffer + offset;
	if (is_kernels)
		return DEV_INTERP_SHAPE_SAME;
	EVERY_LANE ret->offsets[i] = i * bytes;
	return DEV_INTERP_SHAPE_APART;
}

static enum dev_interp_shape reach_param(struct dev_interp_warp *w,
					 const struct dev_interp_insn *in, unsigned size,
					 bool is_write, struct dev_interp_places *ret)
{
	const struct dev_interp_frame *f = w->frame;
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
		return memory_fail(w, in, DEV_INTERP_FAULT_SPACE, (unsigned)__builtin_ctz(w->mask),
				   0, size, true);
	return reach_window(w, in, size, is_write, buffer, bytes, is_kernels ? 0 : bytes, ret);
}

enum dev_interp_shape DEV_ISA(memory_reach)(struct dev_interp_warp *w,
					    const struct dev_interp_insn *in, unsigned size,
					    bool is_write, struct dev_interp_places *ret_places)
{
	struct dev_interp_block *b = w->block;
	uint8_t *local;

	switch ((enum slu_ptx_space)in->space) {
	case SLU_PTX_SPACE_SHARED:
		return reach_window(w, in, size, is_write, b->shared, b->shared_bytes, 0,
				    ret_places);
	case SLU_PTX_SPACE_LOCAL:
		local = b->local + (uint64_t)w->index * DEV_INTERP_LANES * b->local_bytes;
		return reach_window(w, in, size, is_write, local, b->local_bytes, b->local_bytes,
				    ret_places);
	case SLU_PTX_SPACE_PARAM:
		return reach_param(w, in, size, is_write, ret_places);
	default:
		return reach_global(w, in, size, is_write, ret_places);
	}
}
