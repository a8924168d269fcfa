/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The software GPUs of this user, as a management library sees them: their boards, opened to look
 * at. It makes no device; one that is made later is found by the next call that counts.
 *
 *   (nothing) ──dev_nvml_start()──▶ started, n times ──dev_nvml_stop(), n times──▶ (nothing)
 *
 * Handles are places in one table and stay valid until the last stop.
 */

#include "board/board.h"
#include "nvml/nvml-min.h"

enum {
	DEV_NVML_DEVICES_MAX = 8,
};

struct nvmlDevice_st {
	unsigned index;
	struct dev_board *board; /* NULL: no such device */
};

nvmlReturn_t dev_nvml_start(void);
nvmlReturn_t dev_nvml_stop(void);

/* How many devices there are. */
nvmlReturn_t dev_nvml_count(unsigned *ret_count);

/* The device of that number. Return: NVML_ERROR_INVALID_ARGUMENT if there is none. */
nvmlReturn_t dev_nvml_find(unsigned index, nvmlDevice_t *ret_device);

/* Whether a caller's handle is one. */
nvmlReturn_t dev_nvml_check(nvmlDevice_t device);
