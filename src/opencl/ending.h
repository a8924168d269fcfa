/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The end of the process. A driver takes itself down in exit handlers; our threads must not be
 * inside it then. Our own handler was registered after the driver's and so runs before it: from
 * then on our threads are kept out, and it waits a moment for those that are inside. The
 * program's threads are let through to the last: global objects give up their buffers late.
 */

#include <stdbool.h>

/* Registers the handler. Called when the driver is loaded. */
void slu_ending_watch(void);

/* The handler; also for loaders that say when they leave, in a process that may go on. */
void slu_ending_begin(void);

/* This thread is ours, not the program's. */
void slu_ending_mark_thread(void);

/* Return: false if this thread must not call the driver any more; else leave is due. */
bool slu_ending_enter(void);
void slu_ending_leave(void);
