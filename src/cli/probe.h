/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Something that may crash or hang, such as a driver, tried in a child. What the child finds out it
 * writes as lines; its stdout and stderr go nowhere, because drivers talk.
 */

#include <stdio.h>

enum {
	SLU_PROBE_E_HANGS = 1, /* it took longer than its patience, and was ended */
	SLU_PROBE_E_CRASHED,   /* a signal ended it, or it could not begin */
};

struct slu_probe {
	unsigned patience_s;
	/* In the child, with stdio to the parent. It may leave its process as it is. */
	void (*run)(void *data, FILE *parent);
	/* In the parent: a line without its end; it may be changed. */
	void (*take)(void *data, char *line);
	void *data;
};

/* Return: 0, one of the above, or -errno. @ret_signal: what ended it, 0 if it ended by itself. */
int slu_probe_run(const struct slu_probe *probe, int *ret_signal);
