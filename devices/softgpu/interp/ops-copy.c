/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cp.async: from global to shared memory. It may be over at any time before it is waited for; here
 * it is at once, so that groups and waits have nothing to do.
 */
#include "softgpu/interp/extra.h"
#include "softgpu/interp/isa.h"
#include "softgpu/interp/memory.h"

/* Bytes that the source does not have are zero. */
static const struct dev_interp_insn *copy_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	unsigned size = in->element;
	const uint32_t *given = in->extra->has_size ? ROW(w, in->e) : NULL;
	uint32_t ignored = in->n_preds ? w->preds[in->s] ^ in->s_flip : 0;
	struct dev_interp_insn from = *in;
	struct dev_interp_places to_at, from_at;
	enum dev_interp_shape to_shape, from_shape;
	uint32_t mask = w->mask, reading = 0;

	to_shape = DEV_ISA(memory_reach)(w, in, size, true, &to_at);
	if (to_shape == DEV_INTERP_SHAPE_FAULT)
		return NULL;
	/* who reads nothing may have any address */
	MASKED_LANES(mask) reading |= (uint32_t)(!given || given[i]) << i;
	reading &= ~ignored;
	from.a = in->b;
	from.imm = in->extra->offset;
	from.is_wide_address = in->extra->is_wide_address;
	from.space = SLU_PTX_SPACE_GLOBAL;
	w->mask = reading;
	from_shape = reading ? DEV_ISA(memory_reach)(w, &from, size, false, &from_at)
			     : DEV_INTERP_SHAPE_SAME;
	w->mask = mask;
	if (from_shape == DEV_INTERP_SHAPE_FAULT)
		return NULL;
	MASKED_LANES(mask)
	{
		uint8_t *to = dev_interp_place_of(&to_at, to_shape, size, i);
		unsigned n = !(reading >> i & 1) ? 0 : given && given[i] < size ? given[i] : size;

		if (n)
			memcpy(to, dev_interp_place_of(&from_at, from_shape, size, i), n);
		memset(to + n, 0, size - n);
	}
	return in + 1;
}

const struct dev_interp_handler *DEV_ISA(copy_bind)(const struct slu_ptx_form *form)
{
	static const struct dev_interp_handler copy = { copy_run, copy_run };

	(void)form;
	return &copy;
}
