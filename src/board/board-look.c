/* SPDX-License-Identifier: Apache-2.0 */

/*
 * board-look FILE...: what is on a board, a JSON object a line, for tests and benchmarks that are
 * not written in C. It tells the hidden bytes too; the daemon never learns those.
 */

#include <stdio.h>
#include <string.h>

#include "board/board.h"

static int look(const char *path)
{
	static const char *const names[_SLU_BOARD_ENGINE_MAX] = { "in", "out", "compute" };
	static struct slu_board_view view;
	struct slu_board *board;
	int r;

	r = slu_board_open(path, NULL, &board);
	if (!r)
		r = slu_board_look(board, &view);
	if (r) {
		fprintf(stderr, "%s: %s\n", path, r > 0 ? "no such board" : strerror(-r));
		return 1;
	}
	printf("{\"board\": \"%s\", \"uuid\": \"", slu_board_identity(board)->name);
	for (unsigned i = 0; i < 16; i++)
		printf("%02x", slu_board_identity(board)->uuid[i]);
	printf("\", \"capacity_bytes\": %llu, \"used_bytes\": %llu, \"true_used_bytes\": %llu",
	       (unsigned long long)view.capacity_bytes, (unsigned long long)view.used_bytes,
	       (unsigned long long)slu_board_true_used(board));
	printf(", \"holders\": [");
	for (unsigned i = 0; i < view.n_slots; i++)
		printf("%s{\"pid\": %d, \"bytes\": %llu}", i ? ", " : "", (int)view.slots[i].pid,
		       (unsigned long long)view.slots[i].bytes);
	printf("], \"engines\": {");
	for (unsigned i = 0; i < _SLU_BOARD_ENGINE_MAX; i++) {
		struct slu_board_engine_view e;

		slu_board_look_engine(board, i, &e);
		printf("%s\"%s\": {\"busy_ns\": %llu, \"free_at_ns\": %llu, \"jobs\": %llu, "
		       "\"bytes\": %llu}",
		       i ? ", " : "", names[i], (unsigned long long)e.busy_ns,
		       (unsigned long long)e.free_at_ns, (unsigned long long)e.n_jobs,
		       (unsigned long long)e.bytes);
	}
	printf("}}\n");
	slu_board_close(board);
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
		status |= look(argv[i]);
	return status;
}
