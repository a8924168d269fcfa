/* SPDX-License-Identifier: Apache-2.0 */

#include "nvml/usage.h"

static uint64_t part_in_window(const struct dev_board_job *job, uint64_t now_ns)
{
	uint64_t from = now_ns > DEV_NVML_WINDOW_NS ? now_ns - DEV_NVML_WINDOW_NS : 0;
	uint64_t begin = job->begin_ns > from ? job->begin_ns : from;
	uint64_t end = job->end_ns < now_ns ? job->end_ns : now_ns;

	return end > begin ? end - begin : 0;
}

static unsigned usage_percent(uint64_t busy_ns)
{
	uint64_t p = busy_ns * 100 / DEV_NVML_WINDOW_NS;

	return p > 100 ? 100 : (unsigned)p;
}

struct dev_nvml_usage dev_nvml_usage(const struct dev_board_job *jobs, size_t n, uint64_t now_ns,
				     uint32_t who)
{
	uint64_t busy_ns[_DEV_BOARD_ENGINE_MAX] = { 0 };
	uint64_t in, out;

	for (size_t i = 0; i < n; i++)
		if ((!who || jobs[i].who == who) && jobs[i].engine < _DEV_BOARD_ENGINE_MAX)
			busy_ns[jobs[i].engine] += part_in_window(&jobs[i], now_ns);
	in = busy_ns[DEV_BOARD_ENGINE_IN];
	out = busy_ns[DEV_BOARD_ENGINE_OUT];
	return (struct dev_nvml_usage){
		.compute_percent = usage_percent(busy_ns[DEV_BOARD_ENGINE_COMPUTE]),
		.bus_percent = usage_percent(in > out ? in : out),
	};
}
