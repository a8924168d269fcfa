/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scenario files of `sluice sim`: sections [device], [scheduler], [run] and one [program NAME] for
 * each kind of program; and job tables, whose first line names the columns by the keys of a
 * program. sluice(1) lists the keys.
 */

#include "simulate/simulate.h"

#define SLU_SIM_WHY_MAX 256

/* What a scenario file gave; the caller frees the programs. */
struct slu_sim_read {
	struct slu_simulate_scenario scenario;
	char policy[SLU_WIRE_NAME_MAX]; /* of the file; empty: it names none */
	size_t n_allocated;
};

void slu_sim_read_init(struct slu_sim_read *read);
void slu_sim_read_deinit(struct slu_sim_read *read);

/* Adds a file to what was read. Return: 0, or -1 with @ret_why, a line for people. */
int slu_sim_read_scenario(struct slu_sim_read *read, const char *path, char *ret_why, size_t size);
int slu_sim_read_jobs(struct slu_sim_read *read, const char *path, char *ret_why, size_t size);
