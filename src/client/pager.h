/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The thread that has the driver bring managed memory to a device and send it back, in bulk. One a
 * process, started when it is first needed. An order takes the place of one that has not begun.
 */

#include <stdbool.h>
#include <stdint.h>

struct slu_client;

/*
 * Orders that @bytes of the paged memory of the device @index be there: brings in what is missing
 * (@is_in), or sends out the rest. Needs the lock. The peer hears of the end of the last order.
 *
 * Return: false if that is at once, since nobody can carry it out.
 */
bool slu_pager_order(struct slu_client *client, unsigned index, uint64_t bytes, bool is_in);
