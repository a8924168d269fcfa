/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The engines' timelines. An engine does one thing after the other, whoever ordered it: a booking
 * begins where the last one ends. Nothing is put into a gap that was left behind, as a copy engine
 * does not start work that had not been submitted yet.
 */

#include <unistd.h>

#include "base/util.h"
#include "board/clock.h"
#include "board/layout.h"

uint64_t dev_board_book(struct dev_board *board, enum dev_board_engine engine, uint64_t earliest_ns,
			uint64_t duration_ns, uint64_t bytes)
{
	struct board_file *file = board->file;
	struct dev_board_engine_view *e = &file->engines[engine];
	uint64_t begin_ns;

	dev_board_lock(board);
	begin_ns = SLU_MAX(dev_board_clock_to_machine(board->ahead_ns, earliest_ns), e->free_at_ns);
	e->free_at_ns = begin_ns + duration_ns;
	e->busy_ns += duration_ns;
	e->bytes += bytes;
	e->n_jobs++;
	file->jobs[file->n_jobs++ % DEV_BOARD_JOBS_MAX] = (struct dev_board_job){
		.begin_ns = begin_ns,
		.end_ns = begin_ns + duration_ns,
		.bytes = bytes,
		.pid = getpid(),
		.engine = engine,
		.who = dev_board_who(board),
	};
	dev_board_unlock(board);
	return dev_board_clock_to_own(board->ahead_ns, begin_ns + duration_ns);
}

size_t dev_board_look_jobs(struct dev_board *board, struct dev_board_job *ret_jobs, size_t n)
{
	const struct board_file *file = board->file;
	uint64_t first;

	dev_board_lock(board);
	n = SLU_MIN(n, (size_t)DEV_BOARD_JOBS_MAX);
	n = SLU_MIN(n, (size_t)file->n_jobs);
	first = file->n_jobs - n;
	for (size_t i = 0; i < n; i++) {
		ret_jobs[i] = file->jobs[(first + i) % DEV_BOARD_JOBS_MAX];
		ret_jobs[i].begin_ns =
			dev_board_clock_to_own(board->ahead_ns, ret_jobs[i].begin_ns);
		ret_jobs[i].end_ns = dev_board_clock_to_own(board->ahead_ns, ret_jobs[i].end_ns);
	}
	dev_board_unlock(board);
	return n;
}

void dev_board_look_engine(struct dev_board *board, enum dev_board_engine engine,
			   struct dev_board_engine_view *ret_view)
{
	dev_board_lock(board);
	*ret_view = board->file->engines[engine];
	ret_view->free_at_ns = dev_board_clock_to_own(board->ahead_ns, ret_view->free_at_ns);
	dev_board_unlock(board);
}
