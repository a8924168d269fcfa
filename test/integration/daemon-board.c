/* SPDX-License-Identifier: Apache-2.0 */
/*
 * daemon-board PATH BYTES [HELD|lock]: makes a board of BYTES at PATH and prints its UUID. With
 * HELD it takes so many bytes of it, or its lock, says "held" and keeps them until its stdin ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/board.h"

int main(int argc, char **argv)
{
	struct dev_board_identity identity = { .name = "test board", .granule_bytes = 4096 };
	struct dev_board *board;
	char byte;
	int r;

	if (argc < 3)
		return 2;
	identity.capacity_bytes = strtoull(argv[2], NULL, 10);
	for (unsigned i = 0; i < sizeof(identity.uuid); i++)
		identity.uuid[i] = (unsigned char)(argv[1][strlen(argv[1]) - 1] + i);
	r = dev_board_open(argv[1], &identity, &board);
	if (r) {
		fprintf(stderr, "%s: %s\n", argv[1], r < 0 ? strerror(-r) : "refused");
		return 1;
	}
	for (unsigned i = 0; i < sizeof(identity.uuid); i++)
		printf("%02x", dev_board_identity(board)->uuid[i]);
	putchar('\n');
	if (argc > 3) {
		if (!strcmp(argv[3], "lock"))
			dev_board_user_lock(board);
		else if (dev_board_attach(board, "outsider") ||
			 dev_board_take(board, strtoull(argv[3], NULL, 10), 0))
			return 1;
		puts("held");
		fflush(stdout);
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
		if (!strcmp(argv[3], "lock"))
			dev_board_user_unlock(board);
	}
	dev_board_close(board);
	return 0;
}
