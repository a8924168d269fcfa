/* SPDX-License-Identifier: Apache-2.0 */

#include "client/speed.h"

#include "base/util.h"

#define REMEMBERED_BYTES (256 * SLU_MIB)

void slu_speed_begin(struct slu_speed *p, uint64_t now_ns)
{
	if (p->n_under_way++ == 0)
		p->since_ns = now_ns;
}

static void speed_add(struct slu_speed *p, uint64_t busy_ns, uint64_t bytes)
{
	p->busy_ns += busy_ns;
	p->bytes += bytes;
	while (p->bytes > REMEMBERED_BYTES) {
		p->bytes /= 2;
		p->busy_ns /= 2;
	}
}

void slu_speed_end(struct slu_speed *p, uint64_t now_ns, uint64_t bytes)
{
	speed_add(p, slu_sub_floor(now_ns, p->since_ns), bytes);
	p->since_ns = SLU_MAX(now_ns, p->since_ns);
	p->n_under_way--;
}

void slu_speed_note(struct slu_speed *p, uint64_t took_ns, uint64_t bytes)
{
	uint64_t known_ns = slu_speed_guess_ns(p, bytes);

	if (took_ns < known_ns)
		p->bytes = p->busy_ns = 0;
	else if (known_ns)
		took_ns = SLU_MIN(took_ns, 2 * known_ns);
	speed_add(p, took_ns, bytes);
}

uint64_t slu_speed_guess_ns(const struct slu_speed *p, uint64_t bytes)
{
	if (!p->bytes)
		return 0;
	return (uint64_t)((double)bytes * (double)p->busy_ns / (double)p->bytes) + 1;
}
