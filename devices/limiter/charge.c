/* SPDX-License-Identifier: Apache-2.0 */
/* Part of limiter.h: the bytes of a process, as its slot on the board counts them. */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "limiter/limiter.h"

/* The process's slot is taken with its first charge, and again in a forked child. */
static int charge_attach(struct dev_board *board)
{
	int r = 0;

	if (dev_board_slot(board) < 0)
		r = dev_board_attach(board, program_invocation_short_name);
	return r == -EALREADY ? 0 : r == DEV_BOARD_E_NO_SLOT ? slu_error(-EUSERS) : slu_fold(r);
}

int dev_limiter_charge_take(struct dev_limiter_charge *charge, struct dev_limiter_device *device,
			    uint64_t bytes, uint64_t hidden_bytes)
{
	int r = charge_attach(device->board);

	if (!r)
		r = dev_board_take(device->board, bytes, hidden_bytes);
	if (r)
		return slu_fold(r);
	*charge = (struct dev_limiter_charge){
		.device = device, .bytes = bytes, .hidden_bytes = hidden_bytes, .pid = getpid()
	};
	return 0;
}

int dev_limiter_charge_object(struct dev_limiter_charge *charge, struct dev_limiter_device *device,
			      uint64_t bytes)
{
	uint64_t round = dev_limiter_settings.round_bytes, over = bytes % round;

	return dev_limiter_charge_take(charge, device, bytes, over ? round - over : 0);
}

void dev_limiter_charge_give(struct dev_limiter_charge *charge)
{
	uint64_t late_ns = dev_limiter_settings.late_free_ns;

	if (charge->device && charge->pid == getpid())
		dev_board_give(charge->device->board, charge->bytes, charge->hidden_bytes,
			       late_ns ? slu_clock_now_ns() + late_ns : 0);
	*charge = (struct dev_limiter_charge){ 0 };
}
