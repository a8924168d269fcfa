/* SPDX-License-Identifier: Apache-2.0 */
#include "client/move.h"

#include <assert.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/util.h"
#include "client/bulk.h"
#include "client/sizes.h"
#include "client/tiers.h"

#define PAUSE_MAX_NS (20 * SLU_NS_PER_MS)

static bool move_is_cancelled(const struct slu_move *m)
{
	return m->is_cancelled && m->is_cancelled(m->cancel_data);
}

static void retry_pause(uint64_t ns)
{
	struct timespec ts = slu_clock_timespec(ns);

	if (ns)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
}

/* The result of a back end's copy in our codes. */
static int copy_result(int r)
{
	if (r == SLU_BACKEND_E_LOST)
		return SLU_MOVE_E_LOST;
	return r > 0 ? slu_error(-EIO) : slu_fold(r);
}

/* -- the beginning ---------------------------------------------------------------------------- */

static int drain_unit(const struct slu_move *m)
{
	int r;

	if (!m->wants_drain || !m->backend->drain_unit)
		return 0;
	r = m->backend->drain_unit(m->data, m->unit);
	switch (r) {
	case 0:
		return 0;
	case SLU_BACKEND_E_BUSY:
		return SLU_MOVE_E_BUSY;
	case SLU_BACKEND_E_BLOCKED:
		return SLU_MOVE_E_BLOCKED;
	default:
		return copy_result(r);
	}
}

/* Creates or maps. After a refusal, memory that others freed may become usable a little later. */
static int device_obtain(struct slu_move *m)
{
	uint64_t ns = m->pause_ns;
	int r;

	for (unsigned n = 0;; n++) {
		if (move_is_cancelled(m))
			return SLU_MOVE_E_CANCELLED;
		r = m->moving == SLU_MOVING_MAP ? m->backend->map(m->data, m->unit, &m->mapped)
						: m->backend->create(m->data, m->unit);
		if (r != SLU_BACKEND_E_REFUSED)
			break;
		m->n_refusals++;
		if (n >= m->n_retries)
			return SLU_MOVE_E_REFUSED;
		retry_pause(ns);
		ns = SLU_MIN(ns * 2, PAUSE_MAX_NS);
	}
	m->is_obtained = !r;
	return r ? copy_result(r) : 0;
}

/* -- the host copy on disk --------------------------------------------------------------------- */

/* Keeps the error of the disk for the end of the move. */
static int disk_result(struct slu_move *m, int r)
{
	if (r && !m->disk_error)
		m->disk_error = -r;
	return r;
}

static int host_put(struct slu_move *m, uint64_t offset, const void *data, uint64_t bytes)
{
	if (!m->disk) {
		slu_bulk_copy((char *)m->host + offset, data, bytes);
		return 0;
	}
	return disk_result(m, slu_disk_write(m->disk, &m->extent, offset, data, bytes));
}

static int host_get(struct slu_move *m, uint64_t offset, void *data, uint64_t bytes)
{
	if (!m->disk) {
		slu_bulk_copy(data, (char *)m->host + offset, bytes);
		return 0;
	}
	return disk_result(m, slu_disk_read(m->disk, &m->extent, offset, data, bytes));
}

/* Between the host copy and mapped memory, which the processor sees as well. */
static int bytes_copy_by_cpu(struct slu_move *m, bool is_out)
{
	for (uint64_t at = 0; at < m->unit->bytes; at += SLU_SIZES_CANCEL_BYTES) {
		uint64_t bytes = SLU_MIN(SLU_SIZES_CANCEL_BYTES, m->unit->bytes - at);
		char *mapped = (char *)m->mapped + at;
		int r;

		if (move_is_cancelled(m))
			return SLU_MOVE_E_CANCELLED;
		r = is_out ? host_put(m, at, mapped, bytes) : host_get(m, at, mapped, bytes);
		if (r)
			return r;
		if (m->wants_sum)
			slu_checksum_add(&m->running, mapped, bytes);
	}
	m->cut_bytes = m->unit->bytes;
	return 0;
}

/* If the back end cannot answer for any reason, the device's bytes are the truth. */
static void copies_compare(struct slu_move *m)
{
	m->has_contents = !m->backend->compare ||
			  m->backend->compare(m->data, m->unit, m->host, m->always_compares);
	m->has_compared = true;
}

static void compare_prepare(const struct slu_move *m)
{
	if (m->may_compare && m->has_contents && m->backend->will_compare)
		m->backend->will_compare(m->data, m->unit);
}

/* Asked only where there is something to copy or to compare. */
static void contents_judge(struct slu_move *m)
{
	if ((!m->has_contents && !m->is_suspect) || !m->backend->is_dead ||
	    !m->backend->is_dead(m->data, m->unit))
		return;
	m->is_dead = true;
	m->has_contents = m->is_suspect = false;
}

static int move_begin_out(struct slu_move *m)
{
	int r = drain_unit(m);

	if (r)
		return r;
	if (move_is_cancelled(m))
		return SLU_MOVE_E_CANCELLED;
	contents_judge(m);
	if (m->is_suspect)
		copies_compare(m);
	if (!m->has_contents)
		return 0;
	compare_prepare(m);
	if (!m->host && !m->disk)
		m->host = slu_tiers_get(m->unit->bytes);
	if (!m->host && !m->disk)
		return slu_error(-ENOMEM);
	m->has_sum = false;
	return m->mapped ? bytes_copy_by_cpu(m, true) : 0;
}

int slu_move_begin(struct slu_move *m)
{
	int r;

	slu_lock_assert_none();
	slu_checksum_init(&m->running);
	m->cut_bytes = 0;
	m->is_obtained = false;
	m->disk_error = 0;
	assert(!m->disk || (m->wants_sum && !m->host));
	if (m->moving == SLU_MOVING_OUT)
		return move_begin_out(m);
	contents_judge(m);
	compare_prepare(m);
	r = device_obtain(m);
	if (!r && m->has_contents && m->moving == SLU_MOVING_MAP)
		r = bytes_copy_by_cpu(m, false);
	return r;
}

/* -- pieces ----------------------------------------------------------------------------------- */

static enum slu_direction move_direction(const struct slu_move *m)
{
	return m->moving == SLU_MOVING_OUT ? SLU_DIRECTION_OUT : SLU_DIRECTION_IN;
}

uint64_t slu_move_remaining_bytes(const struct slu_move *m)
{
	return m->has_contents ? m->unit->bytes - m->cut_bytes : 0;
}

void slu_move_cut(struct slu_move *m, uint64_t bytes, void *buffer, struct slu_piece *ret_piece)
{
	assert(bytes && bytes <= slu_move_remaining_bytes(m));
	assert(bytes % SLU_CHECKSUM_BLOCK == 0 || bytes == slu_move_remaining_bytes(m));
	assert(buffer || !m->disk);
	*ret_piece = (struct slu_piece){
		.move = m,
		.offset = m->cut_bytes,
		.bytes = bytes,
		.buffer = buffer ? buffer : (char *)m->host + m->cut_bytes,
	};
	m->cut_bytes += bytes;
}

/* The device copies from or to the host copy itself. */
static bool piece_is_in_place(const struct slu_piece *p)
{
	return p->move->host && p->buffer == (char *)p->move->host + p->offset;
}

void slu_move_piece_feed(struct slu_piece *p)
{
	struct slu_move *m = p->move;

	slu_lock_assert_none();
	if (m->moving == SLU_MOVING_IN) {
		p->r = piece_is_in_place(p) ? 0 : host_get(m, p->offset, p->buffer, p->bytes);
		if (p->r)
			return;
		if (m->wants_sum)
			slu_checksum_add(&m->running, p->buffer, p->bytes);
	}
	p->r = m->backend->copy(m->data, m->unit, move_direction(m), p->offset, p->buffer, p->bytes,
				&p->ticket);
}

int slu_move_piece_reap(struct slu_piece *p)
{
	struct slu_move *m = p->move;
	int r = p->r;

	slu_lock_assert_none();
	if (r)
		return copy_result(r);
	do
		r = m->backend->poll(m->data, &p->ticket, true);
	while (r == SLU_BACKEND_E_BUSY);
	if (r)
		return copy_result(r);
	if (m->moving == SLU_MOVING_OUT) {
		if (m->wants_sum)
			slu_checksum_add(&m->running, p->buffer, p->bytes);
		if (!piece_is_in_place(p))
			r = host_put(m, p->offset, p->buffer, p->bytes);
	}
	return r;
}

/* -- the end ---------------------------------------------------------------------------------- */

/*
 * The bytes that went in differ from those that came out. If the host copy is still right, they
 * were damaged on the way: the move failed and can be retried. Otherwise the contents are lost.
 */
static int sum_judge(struct slu_move *m)
{
	char block[16 * SLU_KIB];
	struct slu_checksum sum;

	slu_checksum_init(&sum);
	for (uint64_t at = 0; at < m->unit->bytes; at += sizeof(block)) {
		uint64_t bytes = SLU_MIN(sizeof(block), m->unit->bytes - at);

		if (host_get(m, at, block, bytes))
			return SLU_MOVE_E_UNREAD;
		slu_checksum_add(&sum, block, bytes);
	}
	return slu_checksum_end(&sum) == m->sum ? slu_error(-EIO) : SLU_MOVE_E_CORRUPT;
}

static int move_end_out(struct slu_move *m)
{
	if (m->has_contents && m->disk && disk_result(m, slu_disk_sync(m->disk, &m->extent)))
		return SLU_MOVE_E_UNWRITTEN;
	if (m->has_contents && m->wants_sum) {
		m->has_sum = true;
		m->sum = slu_checksum_end(&m->running);
	}
	if (m->mapped)
		m->backend->unmap(m->data, m->unit);
	else
		m->backend->destroy(m->data, m->unit);
	m->mapped = NULL;
	return 0;
}

static int move_end_in(struct slu_move *m, int r)
{
	if (!r && m->has_contents && m->wants_sum && m->has_sum &&
	    slu_checksum_end(&m->running) != m->sum)
		r = sum_judge(m);
	if (!r || !m->is_obtained)
		return r;
	if (m->moving == SLU_MOVING_MAP)
		m->backend->unmap(m->data, m->unit);
	else
		m->backend->destroy(m->data, m->unit);
	m->mapped = NULL;
	return r;
}

int slu_move_end(struct slu_move *m, int r)
{
	bool is_out = m->moving == SLU_MOVING_OUT;

	slu_lock_assert_none();
	if (r && m->disk_error)
		r = is_out ? SLU_MOVE_E_UNWRITTEN : SLU_MOVE_E_UNREAD;
	if (is_out)
		return r ? r : move_end_out(m);
	return move_end_in(m, r);
}
