/* SPDX-License-Identifier: Apache-2.0 */
/* brx.idx: every lane goes where the table says; lanes with the same way go together. */
#include "base/util.h"
#include "softgpu/interp/extra.h"

static const struct dev_interp_insn *jump_run(struct dev_interp_warp *w,
					      const struct dev_interp_insn *in)
{
	const uint32_t *index = (const uint32_t *)(w->rows + in->a);
	const struct dev_interp_extra *e = in->extra;
	bool is_back = false;

	for (uint32_t left = w->mask; left; left &= left - 1) {
		unsigned lane = (unsigned)__builtin_ctz(left);

		if (index[lane] >= e->n_targets)
			return dev_interp_fault(w, in, DEV_INTERP_FAULT_PC, lane, index[lane], 0,
						false);
	}
	for (uint32_t left = w->mask; left;) {
		const struct dev_interp_insn *to = e->targets[index[__builtin_ctz(left)]];
		uint32_t together = 0;

		for (uint32_t m = left; m; m &= m - 1)
			if (e->targets[index[__builtin_ctz(m)]] == to)
				together |= m & -m;
		left &= ~together;
		is_back |= to <= in;
		w->mask = together;
		dev_interp_warp_park(w, to);
	}
	w->event = DEV_INTERP_EVENT_RESCHEDULE;
	if (is_back && !--w->budget)
		w->event = DEV_INTERP_EVENT_YIELD;
	return NULL;
}

const struct dev_interp_handler dev_interp_jump = { jump_run, jump_run };
