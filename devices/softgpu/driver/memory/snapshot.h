/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All that this process has on cards, in memory of the host.
 *
 *   none ─dev_snapshot_take─▶ TAKEN ─dev_snapshot_restore─▶ none
 *
 *  TAKEN:  no granule and no byte of a card is ours; mappings and handles stand as they were, with
 *          nothing behind them.
 *
 * The copy is given up when the card's memory is whole again, and the card's memory when the copy
 * is. Managed memory goes to the host, and comes back with its next use. Called with every lock of
 * the driver held (suspend.h) and nothing queued.
 */

#include <stdint.h>

enum {
	_DEV_SNAPSHOT_E_SUCCESS,
	DEV_SNAPSHOT_E_SHARED, /* other processes have part of it: nothing was done */
	DEV_SNAPSHOT_E_FULL,   /* a card has too little free: nothing was done */
	DEV_SNAPSHOT_E_LOST,   /* neither here nor there: the process cannot go on */
};

/* Return: 0, SHARED, LOST, or -errno with nothing done. */
int dev_snapshot_take(void);

/* Return: 0, FULL, LOST, or -errno with nothing done. */
int dev_snapshot_restore(void);
