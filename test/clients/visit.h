/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A program that comes and goes by the clock: at every tick it takes its memory, or gives it back
 * if it has it, whatever others do. That the driver refuses it is its own affair: it tries again
 * at the next tick. It prints a line for each: "in", "out" or "refused". What an API has of its own
 * is in the table.
 */

#include <stdbool.h>
#include <stdint.h>

#define VISIT_BYTES 4096 /* at each end of the memory these are written and checked */

struct visit_calls {
	const char *usage;

	void (*open)(void);
	/* Takes @bytes, with @pattern at both ends. Return: whether there was memory. */
	bool (*take)(uint64_t bytes, const uint8_t pattern[static VISIT_BYTES]);
	/* Gives them back; what was at the ends, in this order. */
	void (*give)(uint8_t ret_first[static VISIT_BYTES], uint8_t ret_last[static VISIT_BYTES]);
	void (*close)(void);
};

/* Return: the exit status. */
int visit_main(int argc, char **argv, const struct visit_calls *calls);

#define VISIT_USAGE                                                         \
	"  -m, --mib N   so much (default 16)\n"                            \
	"  -p, --ms N    a tick (default 1000); ends with standard input\n" \
	"  -h, --help\n"                                                    \
	"\n"
