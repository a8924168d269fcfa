/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of policies: programs that compute, rest and end by themselves, in virtual time, on one
 * device of SCENE_DEVICE_MIB. A program needs SCENE_EACH_MIB, unless the test says otherwise: more
 * than half, so that one runs at a time.
 */

#include "core/test-script.h"

#define SCENE_DEVICE_MIB 100
#define SCENE_EACH_MIB	 60
#define SCENE_TICK_MS	 5

/* Computes for @burst_ms, rests for @rest_ms, until it has run for @work_ms. */
struct actor {
	uint64_t burst_ms, rest_ms; /* no rest: it always computes */
	uint64_t work_ms;	    /* 0: it never ends */
	uint64_t mib;
	uint64_t remaining_ms; /* of the burst, or of the rest */
	bool is_resting;
	bool has_ended;
	uint64_t silent_ms;  /* it rests, and will say so then */
	uint64_t wanted_ms;  /* since when it waits */
	uint64_t longest_ms; /* from wanting to running */
	uint64_t ran_ms;
	uint64_t ended_ms;
};

struct scene {
	struct script s;
	struct actor actors[SCRIPT_CLIENTS];
	unsigned n;
	uint64_t now_ms;
	uint64_t idle_ms; /* IDLE is reported this long after a burst */
};

void scene_begin(struct scene *scene, const struct slu_core_config *config);

/* Return: the program's id, which counts from 1. */
unsigned scene_add(struct scene *scene, uint64_t burst_ms, uint64_t rest_ms);
unsigned scene_add_sized(struct scene *scene, uint64_t burst_ms, uint64_t rest_ms, uint64_t mib);

void scene_play(struct scene *scene, uint64_t ms);
