/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "limiter/limiter.h"

/* The process's slot is taken with its first charge, and again in a forked child. */
static int attach(struct slu_board *board)
{
	int r = 0;

	if (slu_board_slot(board) < 0)
		r = slu_board_attach(board, program_invocation_short_name);
	return r == -EALREADY ? 0 : r == SLU_BOARD_E_NO_SLOT ? slu_error(-EUSERS) : slu_fold(r);
}

int slu_limiter_charge_take(struct slu_limiter_charge *charge, struct slu_limiter_device *device,
			    uint64_t bytes, uint64_t hidden_bytes)
{
	int r = attach(device->board);

	if (!r)
		r = slu_board_take(device->board, bytes, hidden_bytes);
	if (r)
		return slu_fold(r);
	*charge = (struct slu_limiter_charge){
		.device = device, .bytes = bytes, .hidden_bytes = hidden_bytes, .pid = getpid()
	};
	return 0;
}

int slu_limiter_charge_object(struct slu_limiter_charge *charge, struct slu_limiter_device *device,
			      uint64_t bytes)
{
	uint64_t round = slu_limiter_settings.round_bytes, over = bytes % round;

	return slu_limiter_charge_take(charge, device, bytes, over ? round - over : 0);
}

void slu_limiter_charge_give(struct slu_limiter_charge *charge)
{
	uint64_t late_ns = slu_limiter_settings.late_free_ns;

	if (charge->device && charge->pid == getpid())
		slu_board_give(charge->device->board, charge->bytes, charge->hidden_bytes,
			       late_ns ? slu_clock_now_ns() + late_ns : 0);
	*charge = (struct slu_limiter_charge){ 0 };
}
