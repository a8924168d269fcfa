/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The host memory that the pieces of a direction go through: a ring of pinned memory if the back
 * end wants one and there is credit, else pageable memory between device and disk. The ring is made
 * and freed while no piece is under way. The pinned account is charged before memory is pinned.
 */

#include "base/error.h"
#include "client/instance.h"
#include "client/ring.h"
#include "client/sizes.h"
#include "client/tiers.h"

static uint64_t ring_bytes(const struct slu_client *c)
{
	uint64_t chunk =
		SLU_MAX(slu_peer_connection_chunk_bytes(c->peer), SLU_SIZES_CHUNK_MIN_BYTES);

	return SLU_SIZES_RING_CHUNKS * slu_round_up(chunk, SLU_SIZES_CHUNK_MIN_BYTES);
}

/* The credit that a direction has for its ring. */
static void ring_charge(struct slu_client *c, struct slu_mover *m, uint64_t bytes)
{
	c->staged_bytes += bytes - m->staged_bytes;
	m->staged_bytes = bytes;
	slu_peer_account_stage(c->peer, slu_clock_now_ns(), c->staged_bytes);
	slu_client_pump(c, slu_clock_now_ns());
}

static void ring_stage(struct slu_client *c, struct slu_mover *m)
{
	const struct slu_client_device *d = m->device;
	uint64_t bytes = ring_bytes(c);
	struct slu_staging staging;
	int r;

	if (slu_peer_account_stage(c->peer, slu_clock_now_ns(), c->staged_bytes + bytes))
		return;
	ring_charge(c, m, bytes);
	slu_lock_give(&c->lock);
	r = slu_staging_init(&staging, d->backend, d->data, bytes);
	slu_lock_take(&c->lock);
	if (r)
		ring_charge(c, m, 0);
	else
		m->pipe.staging = staging;
}

void slu_ring_unstage(struct slu_client *c, struct slu_mover *m)
{
	const struct slu_client_device *d = m->device;
	struct slu_staging staging = m->pipe.staging;

	m->pipe.staging = (struct slu_staging){ 0 };
	slu_lock_give(&c->lock);
	slu_staging_deinit(&staging, d->backend, d->data);
	slu_lock_take(&c->lock);
	ring_charge(c, m, 0);
}

bool slu_ring_is_wanted(const struct slu_backend *b)
{
	return b->wants_staging && b->pin && b->unpin;
}

void slu_ring_adjust(struct slu_client *c, struct slu_mover *m)
{
	if (m->pipe.n_pieces)
		return;
	if (m->pipe.staging.host && slu_peer_account_must_unstage(c->peer))
		slu_ring_unstage(c, m);
	else if (!m->pipe.staging.host && slu_ring_is_wanted(m->device->backend) &&
		 c->stage == SLU_CLIENT_JOINED && !m->is_stopping)
		ring_stage(c, m);
	m->pipe.most_bytes = m->pipe.staging.host ? m->pipe.staging.bytes : ring_bytes(c);
}

int slu_ring_make_bounce(struct slu_client *c, struct slu_mover *m)
{
	uint64_t bytes = ring_bytes(c);
	void *host;

	slu_lock_give(&c->lock);
	host = slu_tiers_get(bytes);
	slu_lock_take(&c->lock);
	if (!host)
		return slu_error(-ENOMEM);
	m->pipe.bounce = (struct slu_staging){ .host = host, .bytes = bytes };
	return 0;
}
