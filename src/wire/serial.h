/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A lock for the mapping calls of the processes on one device, because drivers were reported to
 * hang when two processes make them at the same time. For each device there is a file next to the
 * daemon's socket, locked (flock) around these calls. The daemon creates the file; the setting
 * vmm_serial, which WELCOME carries, says which programs use it:
 *
 *   off    none
 *   auto   all, once a program has met a failure without an explanation: the first byte of the file
 *          is then '1', for as long as the file exists
 *   on     all
 */

#include <stddef.h>
#include <stdint.h>

enum slu_serial { SLU_SERIAL_OFF, SLU_SERIAL_AUTO, SLU_SERIAL_ON };

/* Longest path of a socket, with the name of the file in place of the socket's. */
#define SLU_SERIAL_PATH_MAX 192

/*
 * The file for the device @uuid next to the socket at @socket_path.
 *
 * Return: 0, or -ENAMETOOLONG.
 */
int slu_serial_path(const char *socket_path, const uint8_t uuid[16],
		    char ret_path[SLU_SERIAL_PATH_MAX]);
