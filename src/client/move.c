/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/util.h"
#include "client/checksum.h"
#include "client/move.h"
#include "client/tiers.h"

#define PAUSE_MAX_NS  (20 * SLU_NS_PER_MS)
#define SETTLE_MIN_NS (20 * SLU_NS_PER_US)
#define SETTLE_MAX_NS SLU_NS_PER_MS

static bool is_cancelled(const struct slu_move *m)
{
	return m->is_cancelled && m->is_cancelled(m->cancel_data);
}

static void pause_ns(uint64_t ns)
{
	struct timespec ts = slu_clock_timespec(ns);

	if (ns)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* What a back end's operation on a copy answered, in our words. */
static int copy_result(int r)
{
	if (r == SLU_BACKEND_E_LOST)
		return SLU_MOVE_E_LOST;
	return r > 0 ? slu_error(-EIO) : slu_fold(r);
}

/* -- the pipeline ----------------------------------------------------------------------------- */

/* The copy of one unit's bytes, at most two chunks under way. */
struct pipeline {
	struct slu_move *m;
	enum slu_direction direction;
	uint64_t chunk_bytes;
	uint64_t n_chunks;
	struct slu_checksum sum;
	struct slu_ticket tickets[SLU_STAGING_CHUNKS];
	bool is_busy[SLU_STAGING_CHUNKS];
};

static uint64_t chunk_size(const struct pipeline *p, uint64_t k)
{
	return SLU_MIN(p->chunk_bytes, p->m->unit->bytes - k * p->chunk_bytes);
}

/* Where the device copies chunk @k from or to. */
static void *chunk_buffer(const struct pipeline *p, uint64_t k)
{
	if (p->m->staging)
		return p->m->staging->chunks[k % SLU_STAGING_CHUNKS];
	return (char *)p->m->host + k * p->chunk_bytes;
}

static int start(struct pipeline *p, uint64_t k)
{
	unsigned i = k % SLU_STAGING_CHUNKS;
	int r;

	assert(!p->is_busy[i]);
	r = p->m->backend->copy(p->m->data, p->m->unit, p->direction, k * p->chunk_bytes,
				chunk_buffer(p, k), chunk_size(p, k), &p->tickets[i]);
	if (r)
		return copy_result(r);
	p->is_busy[i] = true;
	return 0;
}

static int finish(struct pipeline *p, uint64_t k)
{
	unsigned i = k % SLU_STAGING_CHUNKS;
	int r;

	if (!p->is_busy[i])
		return 0;
	do
		r = p->m->backend->poll(p->m->data, &p->tickets[i], true);
	while (r == SLU_BACKEND_E_BUSY);
	p->is_busy[i] = false;
	return r ? copy_result(r) : 0;
}

/* The processor's part of chunk @k: after the device's on the way out, before it on the way in. */
static void handle(struct pipeline *p, uint64_t k)
{
	char *host = (char *)p->m->host + k * p->chunk_bytes;
	void *buffer = chunk_buffer(p, k);
	uint64_t size = chunk_size(p, k);

	if (p->direction == SLU_DIRECTION_IN && buffer != host)
		memcpy(buffer, host, size);
	if (p->m->wants_sum)
		slu_checksum_add(&p->sum, buffer, size);
	if (p->direction == SLU_DIRECTION_OUT && buffer != host)
		memcpy(host, buffer, size);
}

static int run_out(struct pipeline *p)
{
	int r;

	for (uint64_t k = 0; k <= p->n_chunks; k++) {
		if (is_cancelled(p->m))
			return SLU_MOVE_E_CANCELLED;
		if (k < p->n_chunks) {
			r = start(p, k);
			if (r)
				return r;
		}
		if (k > 0) {
			r = finish(p, k - 1);
			if (r)
				return r;
			handle(p, k - 1);
		}
	}
	return 0;
}

static int run_in(struct pipeline *p)
{
	int r;

	for (uint64_t k = 0; k < p->n_chunks; k++) {
		if (is_cancelled(p->m))
			return SLU_MOVE_E_CANCELLED;
		r = finish(p, k); /* the chunk before the last one used this buffer */
		if (r)
			return r;
		handle(p, k);
		r = start(p, k);
		if (r)
			return r;
	}
	for (unsigned i = 0; i < SLU_STAGING_CHUNKS; i++) {
		r = finish(p, p->n_chunks + i);
		if (r)
			return r;
	}
	return 0;
}

static int copy_all(struct slu_move *m, enum slu_direction direction, uint64_t *ret_sum)
{
	struct pipeline p = {
		.m = m,
		.direction = direction,
		.chunk_bytes = m->staging ? m->staging->chunk_bytes : m->chunk_bytes,
	};
	int r;

	assert(p.chunk_bytes && p.chunk_bytes % SLU_CHECKSUM_BLOCK == 0);
	p.n_chunks = (m->unit->bytes + p.chunk_bytes - 1) / p.chunk_bytes;
	slu_checksum_init(&p.sum);
	r = direction == SLU_DIRECTION_OUT ? run_out(&p) : run_in(&p);
	/* Nobody may write a chunk, or destroy the unit, while the device copies. */
	for (unsigned i = 0; i < SLU_STAGING_CHUNKS; i++)
		finish(&p, i);
	if (!r)
		*ret_sum = slu_checksum_end(&p.sum);
	return r;
}

/* As copy_all() between two places that the processor sees. */
static int copy_plainly(struct slu_move *m, void *to, const void *from, uint64_t *ret_sum)
{
	struct slu_checksum sum;

	slu_checksum_init(&sum);
	for (uint64_t at = 0; at < m->unit->bytes; at += m->chunk_bytes) {
		uint64_t size = SLU_MIN(m->chunk_bytes, m->unit->bytes - at);

		if (is_cancelled(m))
			return SLU_MOVE_E_CANCELLED;
		memcpy((char *)to + at, (const char *)from + at, size);
		if (m->wants_sum)
			slu_checksum_add(&sum, (const char *)from + at, size);
	}
	*ret_sum = slu_checksum_end(&sum);
	return 0;
}

/*
 * The bytes that went in are not those that came out. If the host copy itself is still right, they
 * were spoilt on the way: the move failed and can be tried again. Else the contents are gone.
 */
static int judge(const struct slu_move *m)
{
	struct slu_checksum sum;

	slu_checksum_init(&sum);
	slu_checksum_add(&sum, m->host, m->unit->bytes);
	return slu_checksum_end(&sum) == m->sum ? slu_error(-EIO) : SLU_MOVE_E_CORRUPT;
}

/* -- the moves -------------------------------------------------------------------------------- */

static int settle(struct slu_move *m)
{
	uint64_t ns = SETTLE_MIN_NS;
	int r;

	while (m->wants_settle && m->backend->settle) {
		r = m->backend->settle(m->data, m->unit);
		if (r == 0)
			break;
		if (r == SLU_BACKEND_E_BLOCKED)
			return SLU_MOVE_E_BLOCKED;
		if (r != SLU_BACKEND_E_BUSY)
			return copy_result(r);
		if (is_cancelled(m))
			return SLU_MOVE_E_CANCELLED;
		pause_ns(ns);
		ns = SLU_MIN(ns * 2, SETTLE_MAX_NS);
	}
	return 0;
}

/* Creates or maps; a refusal may only mean that what others freed is not usable yet. */
static int obtain(struct slu_move *m, bool wants_map)
{
	uint64_t ns = m->pause_ns;
	int r;

	for (unsigned n = 0;; n++) {
		if (is_cancelled(m))
			return SLU_MOVE_E_CANCELLED;
		r = wants_map ? m->backend->map(m->data, m->unit, &m->mapped)
			      : m->backend->create(m->data, m->unit);
		if (r != SLU_BACKEND_E_REFUSED)
			return r ? copy_result(r) : 0;
		m->n_refusals++;
		if (n >= m->n_retries)
			return SLU_MOVE_E_REFUSED;
		pause_ns(ns);
		ns = SLU_MIN(ns * 2, PAUSE_MAX_NS);
	}
}

int slu_move_out(struct slu_move *m)
{
	uint64_t sum;
	int r;

	slu_lock_assert_none();
	r = settle(m);
	if (r)
		return r;
	if (m->has_contents) {
		if (!m->host) {
			m->host = slu_tiers_get(m->unit->bytes);
			if (!m->host)
				return slu_error(-ENOMEM);
		}
		m->has_sum = false;
		r = m->mapped ? copy_plainly(m, m->host, m->mapped, &sum)
			      : copy_all(m, SLU_DIRECTION_OUT, &sum);
		if (r)
			return r;
		m->has_sum = m->wants_sum;
		m->sum = sum;
	} else if (is_cancelled(m)) {
		return SLU_MOVE_E_CANCELLED;
	}
	if (m->mapped)
		m->backend->unmap(m->data, m->unit);
	else
		m->backend->destroy(m->data, m->unit);
	m->mapped = NULL;
	return 0;
}

int slu_move_in(struct slu_move *m)
{
	uint64_t sum;
	int r;

	slu_lock_assert_none();
	r = obtain(m, false);
	if (r || !m->has_contents)
		return r;
	r = copy_all(m, SLU_DIRECTION_IN, &sum);
	if (!r && m->wants_sum && m->has_sum && sum != m->sum)
		r = judge(m);
	if (r)
		m->backend->destroy(m->data, m->unit);
	return r;
}

int slu_move_map(struct slu_move *m)
{
	uint64_t sum;
	int r;

	slu_lock_assert_none();
	r = obtain(m, true);
	if (r || !m->has_contents)
		return r;
	r = copy_plainly(m, m->mapped, m->host, &sum);
	if (!r && m->wants_sum && m->has_sum && sum != m->sum)
		r = judge(m);
	if (r) {
		m->backend->unmap(m->data, m->unit);
		m->mapped = NULL;
	}
	return r;
}
