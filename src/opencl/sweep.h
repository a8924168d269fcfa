/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sweeping a queue finds the commands that have ended. The driver answers under its own lock, so
 * the layer asks about few commands of an in-order queue: the end of one is the end of all before
 * it.
 */

#include "opencl/queue.h"

/*
 * Asks about commands of @queue and forgets the ended ones. @flush: asks the driver to start those
 * that it keeps back.
 */
void slu_sweep_queue(struct slu_queue *queue, bool flush);

/*
 * In @queue, which is in order, everything with a stamp up to @covers is known to have ended, and
 * so is the command behind it whose event is @last, if there is one.
 */
void slu_sweep_covered(struct slu_queue *queue, uint64_t covers, cl_event last);
