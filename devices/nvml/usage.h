/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How busy a device was in the last second, from the jobs on its board: compute is the time in
 * which a kernel ran, the bus the time in which bytes moved in either direction.
 */

#include <stddef.h>
#include <stdint.h>

#include "board/board.h"

#define DEV_NVML_WINDOW_NS UINT64_C(1000000000)

struct dev_nvml_usage {
	unsigned compute_percent;
	unsigned bus_percent;
};

/*
 * Of @jobs, the part within the window that ends at @now_ns; of one process, or of all (@who 0).
 * Jobs of one engine do not overlap, so their lengths add up.
 */
struct dev_nvml_usage dev_nvml_usage(const struct dev_board_job *jobs, size_t n, uint64_t now_ns,
				     uint32_t who);
