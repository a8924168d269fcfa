/* SPDX-License-Identifier: Apache-2.0 */
#include "core/seat.h"

#include "base/util.h"
#include "core/credit/capacity.h"

uint64_t slu_core_seat_need_bytes(const struct slu_core_seat *seat)
{
	if (seat->mode != SLU_MODE_LAUNCH)
		return seat->want.min_bytes;
	return seat->want.is_runnable ? seat->want.min_bytes : 0;
}

uint64_t slu_core_seat_beside_bytes(const struct slu_core_seat *seat)
{
	uint64_t need = slu_core_seat_need_bytes(seat);

	return SLU_MAX(need, seat->mode == SLU_MODE_LAUNCH ? seat->want.working_bytes
							   : seat->want.all_bytes);
}

uint64_t slu_core_seat_unmovable_bytes(const struct slu_core_seat *seat)
{
	static const bool is_counted[_SLU_FROZEN_MAX] = {
		[SLU_FROZEN_IMAGE] = true, [SLU_FROZEN_SVM] = true,    [SLU_FROZEN_EXPORTED] = true,
		[SLU_FROZEN_GRAPH] = true, [SLU_FROZEN_MODULE] = true, [SLU_FROZEN_POOL] = true,
		[SLU_FROZEN_OTHER] = true,
	};
	uint64_t bytes = 0;

	for (unsigned why = 0; why < _SLU_FROZEN_MAX; why++)
		if (is_counted[why])
			bytes += SLU_MIN(seat->facts.frozen_bytes[why], SLU_CORE_BYTES_MAX);
	return SLU_MIN(bytes, seat->account.held_bytes);
}

void slu_core_seat_holds(struct slu_core_seat *seat, uint64_t now_ns)
{
	struct slu_msg_want want = seat->want;
	uint64_t held_bytes = seat->account.held_bytes;

	want.all_bytes = SLU_MAX(want.all_bytes, held_bytes);
	if (seat->mode != SLU_MODE_LAUNCH)
		want.min_bytes = SLU_MAX(want.min_bytes, held_bytes);
	if (want.all_bytes != seat->want.all_bytes || want.min_bytes != seat->want.min_bytes)
		slu_core_seat_want(seat, now_ns, &want);
}

void slu_core_seat_want(struct slu_core_seat *seat, uint64_t now_ns,
			const struct slu_msg_want *want)
{
	uint64_t before = slu_core_seat_beside_bytes(seat), need;
	uint64_t before_bytes = seat->want.all_bytes;

	seat->want = *want;
	seat->is_denied = false;
	seat->want.min_bytes = SLU_MIN(want->min_bytes, SLU_CORE_BYTES_MAX);
	seat->want.all_bytes = SLU_MIN(want->all_bytes, SLU_CORE_BYTES_MAX);
	seat->account.capacity->wanted_bytes += seat->want.all_bytes - before_bytes;
	seat->want.working_bytes = SLU_MIN(want->working_bytes, seat->want.all_bytes);
	seat->want.largest_bytes = SLU_MIN(want->largest_bytes, SLU_CORE_BYTES_MAX);
	need = slu_core_seat_beside_bytes(seat);
	if (need >= seat->peak_bytes)
		seat->peak_bytes = need;
	if (need < before && before == seat->peak_bytes)
		seat->peak_ns = now_ns;
}
