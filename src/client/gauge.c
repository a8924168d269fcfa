/* SPDX-License-Identifier: Apache-2.0 */
#include "client/gauge.h"

#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "client/bulk.h"
#include "client/instance.h"
#include "client/log.h"
#include "client/tiers.h"

#define SAMPLE_BYTES (8 * SLU_MIB) /* copied by each thread in its part of a region of this size */
#define N_ROUNDS     2
#define PERCENT	     90 /* a rate is near the best from here on */
#define N_WORKERS    (2 * SLU_GAUGE_THREADS_MAX)

struct worker {
	pthread_t thread;
	char *to;
	const char *from;
	uint64_t bytes; /* of its part */
	unsigned n_times;
	uint64_t bytes_per_s;
};

static void *worker_run(void *data)
{
	struct worker *w = data;
	uint64_t begin_ns = slu_clock_now_ns(), ns;

	for (unsigned i = 0; i < w->n_times; i++)
		slu_bulk_copy(w->to, w->from, w->bytes);
	ns = SLU_MAX(slu_clock_now_ns() - begin_ns, UINT64_C(1));
	w->bytes_per_s = w->bytes * w->n_times * 1000 / SLU_MAX(ns / 1000, UINT64_C(1)) * 1000;
	return NULL;
}

/* The rate of @n threads together; the caller is one of them. */
static uint64_t round_measure(char *to, const char *from, unsigned n)
{
	struct worker workers[N_WORKERS] = { 0 };
	uint64_t bytes = SAMPLE_BYTES / n & ~(uint64_t)4095, rate = 0;
	unsigned n_started = 1;

	for (unsigned i = 0; i < n; i++)
		workers[i] = (struct worker){
			.to = to + i * bytes,
			.from = from + i * bytes,
			.bytes = bytes,
			.n_times = n,
		};
	while (n_started < n && !slu_client_thread(&workers[n_started].thread, worker_run,
						   &workers[n_started], "sluice-gauge"))
		n_started++;
	worker_run(&workers[0]);
	for (unsigned i = 1; i < n_started; i++)
		pthread_join(workers[i].thread, NULL);
	for (unsigned i = 0; i < n_started; i++)
		rate += workers[i].bytes_per_s;
	return rate;
}

static unsigned processors_count(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

unsigned slu_gauge_measure(void)
{
	unsigned most = SLU_MIN(processors_count(), (unsigned)SLU_GAUGE_THREADS_MAX), n = 1;
	uint64_t rates[SLU_GAUGE_THREADS_MAX + 1] = { 0 }, best = 0;
	char *to = slu_tiers_get(SAMPLE_BYTES), *from = slu_tiers_get(SAMPLE_BYTES);

	if (to && from) {
		memset(to, 1, SAMPLE_BYTES);
		memset(from, 1, SAMPLE_BYTES);
		for (unsigned i = 1; i <= most; i++) {
			for (unsigned k = 0; k < N_ROUNDS; k++)
				rates[i] = SLU_MAX(rates[i], round_measure(to, from, 2 * i));
			best = SLU_MAX(best, rates[i]);
		}
		while (n < most && rates[n] < best / 100 * PERCENT)
			n++;
	}
	slu_tiers_put(to, SAMPLE_BYTES);
	slu_tiers_put(from, SAMPLE_BYTES);
	slu_client_log("%u copy threads a direction: %llu MB/s both ways, %llu with one", n,
		       (unsigned long long)(rates[n] / 1000000),
		       (unsigned long long)(rates[1] / 1000000));
	return n;
}

static void *gauge_run(void *data)
{
	struct slu_client *c = data;
	unsigned n = slu_gauge_measure();

	slu_lock_take(&c->lock);
	c->n_copy_threads = n;
	slu_lock_give(&c->lock);
	return NULL;
}

void slu_gauge_begin(struct slu_client *c)
{
	pthread_t thread;

	if (c->gauge_has_begun)
		return;
	c->gauge_has_begun = true;
	if (!slu_client_thread(&thread, gauge_run, c, "sluice-gauge"))
		pthread_detach(thread);
}

unsigned slu_gauge_threads(const struct slu_client *c)
{
	return SLU_MAX(c->n_copy_threads, 1u);
}
