/* SPDX-License-Identifier: Apache-2.0 */

/*
 * board-look FILE...: what is on a board, a JSON object a line, for tests, benchmarks and pictures
 * that are not written in C: who holds what, the engines, their last jobs. It tells the hidden
 * bytes too, with frees that come late; the daemon never learns those.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "board/board.h"

#define LOOKS_MAX 100

static const char *const names[_DEV_BOARD_ENGINE_MAX] = { "in", "out", "compute" };

/*
 * The number of a job's process as it is here: one in a pid namespace calls itself something else.
 * Of one that is gone only that is known; @who tells it from others of the same number.
 */
static int pid_of(const struct dev_board_job *job, const struct dev_board_view *view)
{
	for (unsigned i = 0; i < view->n_slots; i++)
		if (job->who && view->slots[i].who == job->who && view->slots[i].pid)
			return (int)view->slots[i].pid;
	return (int)job->pid;
}

static void print_jobs(struct dev_board *board, const struct dev_board_view *view)
{
	static struct dev_board_job jobs[DEV_BOARD_JOBS_MAX];
	size_t n = dev_board_look_jobs(board, jobs, DEV_BOARD_JOBS_MAX);

	printf(", \"jobs\": [");
	for (size_t i = 0; i < n; i++)
		printf("%s{\"engine\": \"%s\", \"pid\": %d, \"who\": %u, \"begin_ns\": %llu, "
		       "\"end_ns\": %llu, \"bytes\": %llu}",
		       i ? ", " : "", names[jobs[i].engine], pid_of(&jobs[i], view), jobs[i].who,
		       (unsigned long long)jobs[i].begin_ns, (unsigned long long)jobs[i].end_ns,
		       (unsigned long long)jobs[i].bytes);
	printf("]");
}

static int board_look(const char *path)
{
	static struct dev_board_view view;
	struct dev_board *board;
	int r;

	r = dev_board_open(path, NULL, &board);
	for (unsigned n = 0; !r && n < LOOKS_MAX; n++) {
		r = dev_board_look(board, &view);
		if (r != DEV_BOARD_E_BUSY)
			break;
	}
	if (r) {
		fprintf(stderr, "%s: %s\n", path,
			r == DEV_BOARD_E_BUSY || r == -EBUSY ? "somebody keeps it locked"
			: r > 0				     ? "no such board"
							     : strerror(-r));
		return 1;
	}
	printf("{\"board\": \"%s\", \"uuid\": \"", dev_board_identity(board)->name);
	for (unsigned i = 0; i < 16; i++)
		printf("%02x", dev_board_identity(board)->uuid[i]);
	printf("\", \"capacity_bytes\": %llu, \"used_bytes\": %llu, \"true_used_bytes\": %llu",
	       (unsigned long long)view.capacity_bytes, (unsigned long long)view.used_bytes,
	       (unsigned long long)dev_board_true_used(board));
	printf(", \"holders\": [");
	for (unsigned i = 0; i < view.n_slots; i++)
		printf("%s{\"pid\": %d, \"bytes\": %llu}", i ? ", " : "", (int)view.slots[i].pid,
		       (unsigned long long)view.slots[i].bytes);
	printf("], \"engines\": {");
	for (unsigned i = 0; i < _DEV_BOARD_ENGINE_MAX; i++) {
		struct dev_board_engine_view e;

		dev_board_look_engine(board, i, &e);
		printf("%s\"%s\": {\"busy_ns\": %llu, \"free_at_ns\": %llu, \"jobs\": %llu, "
		       "\"bytes\": %llu}",
		       i ? ", " : "", names[i], (unsigned long long)e.busy_ns,
		       (unsigned long long)e.free_at_ns, (unsigned long long)e.n_jobs,
		       (unsigned long long)e.bytes);
	}
	printf("}");
	print_jobs(board, &view);
	printf("}\n");
	dev_board_close(board);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: board-look FILE...\n"
				"Prints each board (a file in SLUICE_BOARDS) as a JSON object.\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		status |= board_look(argv[i]);
	return status;
}
