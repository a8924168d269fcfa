/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The findings of `sluice selftest`, in the user's state folder (wire/path.h): for each GPU and
 * version of the driver a file selftest-VERSION-UUID.json with {"driver", "driver_bytes",
 * "driver_mtime", "driver_version", "gpu", "findings"}. Another driver file, such as an update,
 * makes them stale.
 */

#include <jansson.h>
#include <stddef.h>

/*
 * @driver: its file. @version: of the driver, as it says. @gpu: the UUID. Return: 0, or -errno;
 * @ret_path has the file either way, for the message.
 */
int slu_selftest_store_write(const char *driver, int version, const char *gpu, json_t *findings,
			     char *ret_path, size_t size);

/* Calls @call for each GPU with findings of this driver as it is now. Return: for how many. */
unsigned slu_selftest_store_each(const char *driver,
				 void (*call)(void *data, const char *gpu, const json_t *findings),
				 void *data);
