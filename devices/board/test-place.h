/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Each test has a board in a folder of its own. */

#include "lib/test.h"

#include <unistd.h>

#include "base/util.h"
#include "board/board.h"

#define CAPACITY (64 * SLU_MIB)

static const struct dev_board_identity identity = {
	.uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.name = "test",
	.capacity_bytes = CAPACITY,
	.granule_bytes = 4096,
};

struct place {
	char folder[64];
	char path[96];
};

static inline int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	strcpy(p->folder, "/tmp/test-board.XXXXXX");
	if (!mkdtemp(p->folder))
		return -1;
	snprintf(p->path, sizeof(p->path), "%s/b", p->folder);
	*state = p;
	return 0;
}

static inline int tear_down(void **state)
{
	struct place *p = *state;

	unlink(p->path);
	/* fails where a temporary file was left behind */
	if (rmdir(p->folder) < 0)
		return -1;
	free(p);
	return 0;
}
