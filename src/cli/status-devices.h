/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The lines about devices in `sluice status`: the name, a bar of the memory in use, and which
 * program has the turn.
 */

#include <jansson.h>
#include <stdio.h>

/* @reply: the daemon's answer to status. */
void slu_status_devices_print(FILE *out, const json_t *reply);
