/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What programs do on a live daemon, as a scenario of `sluice sim`. It is made from samples of
 * `status`: each has, for the programs of a run together, the time for which they have used the
 * device until then. A program of the scenario is a run:
 *
 *   arrives   when it was seen first
 *   memory    the most that its processes owned
 *   bursts    spans in which it used the device, with the rests before them. Time in which it
 *             waited for its turn or for its bytes is neither: another policy may let it wait for
 *             longer, or not at all.
 *
 * Where several runs used the device in the same sample, each is taken to have had an equal part of
 * it: the daemon does not know how the device divided its time.
 */

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

struct slu_trace;

/* Return: NULL for lack of memory. */
struct slu_trace *slu_trace_new(void);
void slu_trace_free(struct slu_trace *trace);

/* @status: an answer of the daemon, at @now_ms. Return: 0, or -ENOMEM. */
int slu_trace_sample(struct slu_trace *trace, uint64_t now_ms, const json_t *status);

/* How many runs were seen. */
size_t slu_trace_count(const struct slu_trace *trace);

/* @settings: the daemon's answer of that name; the scheduler's come from it. */
void slu_trace_write(const struct slu_trace *trace, const json_t *settings, FILE *out);
