/* SPDX-License-Identifier: Apache-2.0 */

#include "opencl/speed.h"

#include "base/util.h"

#define REMEMBERED_BYTES (256 * SLU_MIB)

void slu_speed_begin(struct slu_speed *p, uint64_t now_ns)
{
	if (p->n_under_way++ == 0)
		p->since_ns = now_ns;
}

void slu_speed_end(struct slu_speed *p, uint64_t now_ns, uint64_t bytes)
{
	p->busy_ns += slu_sub_floor(now_ns, p->since_ns);
	p->since_ns = SLU_MAX(now_ns, p->since_ns);
	p->bytes += bytes;
	p->n_under_way--;
	while (p->bytes > REMEMBERED_BYTES) {
		p->bytes /= 2;
		p->busy_ns /= 2;
	}
}

uint64_t slu_speed_guess_ns(const struct slu_speed *p, uint64_t bytes)
{
	if (!p->bytes)
		return 0;
	return (uint64_t)((double)bytes * (double)p->busy_ns / (double)p->bytes) + 1;
}
