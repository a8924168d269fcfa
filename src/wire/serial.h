/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Mapping calls of two processes on one device, one after the other: hangs inside drivers have been
 * reported when they come together. A file a device beside the daemon's socket is locked (flock)
 * around them. The daemon makes the file; the setting vmm_serial, told in WELCOME, says who uses
 * it:
 *
 *   off    nobody
 *   auto   everybody, once somebody has met a failure that nothing explains: its first byte is then
 *          '1', for as long as the file is there
 *   on     everybody, always
 */

#include <stddef.h>
#include <stdint.h>

enum slu_serial { SLU_SERIAL_OFF, SLU_SERIAL_AUTO, SLU_SERIAL_ON };

/* Longest path of a socket, with the name of the file in place of the socket's. */
#define SLU_SERIAL_PATH_MAX 192

/*
 * The file for the device @uuid beside the socket at @socket_path.
 *
 * Return: 0, or -ENAMETOOLONG.
 */
int slu_serial_path(const char *socket_path, const uint8_t uuid[16],
		    char ret_path[SLU_SERIAL_PATH_MAX]);
