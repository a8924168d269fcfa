/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files about streams share of timelines and points (stream.h). Everything here is called
 * with the queues' lock held.
 */

#include "softgpu/driver/stream.h"

void slu_timeline_unref_locked(struct slu_timeline *timeline);

/* Sleeps until something was done anywhere; @wake: until that is signalled instead. */
void slu_timeline_wait_locked(pthread_cond_t *wake);

/* Something was done. */
void slu_timeline_progress_locked(void);

bool slu_point_is_done_locked(const struct slu_point *point);
void slu_point_wait_locked(const struct slu_point *point);
struct slu_point slu_stream_point_locked(struct slu_stream *stream);
