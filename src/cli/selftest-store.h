/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The findings of the last `sluice selftest`, in a file of the user's state folder (wire/path.h):
 * {"driver", "driver_bytes", "driver_mtime", "findings"}. Another driver file, such as an update,
 * makes them stale.
 */

#include <jansson.h>
#include <stddef.h>

/* Return: 0, or -errno; @ret_path has the file either way, for the message. */
int slu_selftest_store_write(const char *driver, json_t *findings, char *ret_path, size_t size);

/* Return: the findings, or NULL if there are none of this driver as it is now. */
json_t *slu_selftest_store_read(const char *driver);
