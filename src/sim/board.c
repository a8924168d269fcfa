/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The model of a device's memory: a capacity below the one that the driver reports, frees that
 * others see only later, and outsiders that come and go.
 */

#include <stdlib.h>

#include "base/util.h"
#include "sim/random.h"
#include "sim/world.h"

bool slu_sim_board_create(struct slu_sim_board *board, unsigned device, uint64_t bytes)
{
	if (board->used_bytes[device] + board->outsider_bytes[device] + bytes >
	    board->capacity_bytes[device])
		return false;
	board->used_bytes[device] += bytes;
	return true;
}

void slu_sim_board_free(struct slu_sim_world *world, unsigned device, uint64_t bytes)
{
	struct slu_sim_board *board = &world->board;
	uint64_t late = slu_sim_between(&world->random, 0, board->late_steps);

	if (late && board->n_frees < board->n_allocated)
		board->frees[board->n_frees++] =
			(struct slu_sim_free){ world->step + late, device, bytes };
	else
		board->used_bytes[device] -= bytes;
}

void slu_sim_board_tick(struct slu_sim_board *board, uint64_t step)
{
	size_t kept = 0;

	for (size_t i = 0; i < board->n_frees; i++) {
		if (board->frees[i].step <= step)
			board->used_bytes[board->frees[i].device] -= board->frees[i].bytes;
		else
			board->frees[kept++] = board->frees[i];
	}
	board->n_frees = kept;
}

void slu_sim_board_outsider(struct slu_sim_world *world)
{
	struct slu_sim_board *board = &world->board;
	unsigned d = slu_sim_between(&world->random, 0, world->config.n_devices - 1);
	uint64_t most = board->capacity_bytes[d] / 2 / SLU_SIM_UNIT;
	uint64_t free_bytes = slu_sub_floor(board->capacity_bytes[d], board->used_bytes[d]);
	uint64_t wish = slu_sim_between(&world->random, 0, (unsigned)most) * SLU_SIM_UNIT;

	board->outsider_bytes[d] =
		slu_sim_chance(&world->random, 500000) ? 0 : SLU_MIN(wish, free_bytes);
	world->counts.n_outsiders++;
}
