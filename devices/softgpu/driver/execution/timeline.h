/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files about streams share of timelines and points (stream.h). Everything here is called
 * with the queues' lock held.
 */

#include "softgpu/driver/execution/stream.h"

void dev_timeline_unref_locked(struct dev_timeline *timeline);

/* Sleeps until something was done anywhere; @wake: until that is signalled instead. */
void dev_timeline_wait_locked(pthread_cond_t *wake);

/* The same for all streams. Return: whether @until_ns has come. */
bool dev_timeline_wait_until_locked(uint64_t until_ns);

/* Something was done. */
void dev_timeline_progress_locked(void);

/* One more command of @timeline is done: wakes those who wait for this point, and nobody else. */
void dev_timeline_done_locked(struct dev_timeline *timeline);

bool dev_timeline_point_is_done_locked(const struct dev_point *point);
void dev_timeline_point_wait_locked(const struct dev_point *point);
struct dev_point dev_timeline_stream_point_locked(struct dev_stream *stream);
