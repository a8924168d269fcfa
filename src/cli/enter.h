/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `sluice run` tells the daemon of a program before it starts it, and the wait for that. */

#include <stdint.h>

struct slu_enter {
	const char *socket;
	const char *name;
	const char *group;     /* SLUICE_GROUP */
	uint64_t expect_ns;    /* 0: nothing is said */
	uint64_t memory_bytes; /* likewise */
	uint64_t wait_ns;      /* how long to wait for the memory; 0: do not wait */
};

/*
 * Tells the daemon, and waits. On a terminal it prints after a second for what. Return: 0, or the
 * exit code after an error message, SLU_CLI_WAITED when the time is over.
 */
int slu_enter_wait(const struct slu_enter *enter);
