/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The end of the process. A driver shuts down in exit handlers, and no thread of the layer may be
 * inside it then. The layer registers its own handler after the driver's, so it runs before it: it
 * keeps the layer's threads out from then on, and waits a moment for those that are inside. The
 * program's threads may call the driver to the last: global objects release their buffers late.
 */

#include <stdbool.h>

/* Registers the handler. Called when the driver is loaded. */
void slu_ending_watch(void);

/* The handler; also for loaders that announce their end in a process that may go on. */
void slu_ending_begin(void);

/* This thread belongs to the layer, not to the program. */
void slu_ending_mark_thread(void);

/* Return: false if this thread must not call the driver any more; else leave is due. */
bool slu_ending_enter(void);
void slu_ending_leave(void);
