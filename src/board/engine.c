/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The engines' timelines. An engine does one thing after the other, whoever ordered it: a booking
 * begins where the last one ends. Nothing is put into a gap that was left behind, as a copy engine
 * does not start work that had not been submitted yet.
 */

#include "base/util.h"
#include "board/layout.h"

uint64_t slu_board_book(struct slu_board *board, enum slu_board_engine engine, uint64_t earliest_ns,
			uint64_t duration_ns)
{
	struct slu_board_engine_view *e = &board->file->engines[engine];
	uint64_t end_ns;

	slu_board_lock(board);
	end_ns = SLU_MAX(earliest_ns, e->free_at_ns) + duration_ns;
	e->free_at_ns = end_ns;
	e->busy_ns += duration_ns;
	e->n_jobs++;
	slu_board_unlock(board);
	return end_ns;
}

void slu_board_book_bytes(struct slu_board *board, enum slu_board_engine engine, uint64_t bytes)
{
	slu_board_lock(board);
	board->file->engines[engine].bytes += bytes;
	slu_board_unlock(board);
}

void slu_board_look_engine(struct slu_board *board, enum slu_board_engine engine,
			   struct slu_board_engine_view *ret_view)
{
	slu_board_lock(board);
	*ret_view = board->file->engines[engine];
	slu_board_unlock(board);
}
