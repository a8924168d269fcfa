/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A turn that is to end waits for the end of the program's iteration, if that is near (rule 50).
 * There the fewest bytes live (place/iteration.h), so that the switch moves least.
 *
 * The wait must not cost others more than it saves. So it ends after the time that the copies out
 * would take which the boundary makes needless, and after a quarter of the deadline that came with
 * the CLOSE. A program whose iterations are not known, or of whose copies nothing is known, does
 * not wait.
 *
 *   OPEN  -> LATE  [slu_peer_boundary_wait]  CLOSE came, and a boundary is near
 *   LATE  -> OPEN  [slu_peer_boundary_step]  the boundary is there, the time is over, or an
 *                                            allocation waits: the CLOSE counts now
 *
 * To the rest of the peer the turn goes on until then.
 */

#include "peer/internal.h"

#define DEADLINE_SHARE 4 /* of the deadline of a CLOSE the wait takes at most one part of these */

static uint64_t device_live_bytes(const struct slu_peer_device *d)
{
	return slu_sub_floor(d->owned_bytes, d->unused_bytes);
}

void slu_peer_boundary_set_unused(struct slu_peer *peer, unsigned device, uint64_t bytes)
{
	peer->devices[device].unused_bytes = bytes;
}

void slu_peer_boundary_set_speed(struct slu_peer *peer, unsigned device, uint64_t ns_per_mib)
{
	peer->devices[device].out_ns_per_mib = ns_per_mib;
}

static void wait_end_at_boundary(struct slu_peer_device *d, uint64_t now_ns)
{
	if (d->late_until_ns && slu_iteration_is_at_boundary(&d->iteration))
		d->late_until_ns = now_ns;
}

void slu_peer_boundary_meet(struct slu_peer *peer, uint64_t now_ns, unsigned device, uint64_t key)
{
	struct slu_peer_device *d = &peer->devices[device];

	/* the last boundary that the program told is past */
	if (d->iteration.is_told)
		return;
	slu_iteration_meet(&d->iteration, now_ns, key, device_live_bytes(d));
	wait_end_at_boundary(d, now_ns);
}

void slu_peer_boundary_tell(struct slu_peer *peer, uint64_t now_ns, unsigned device,
			    uint64_t dead_bytes)
{
	struct slu_peer_device *d = &peer->devices[device];

	slu_iteration_tell(&d->iteration, now_ns, slu_sub_floor(device_live_bytes(d), dead_bytes));
	wait_end_at_boundary(d, now_ns);
}

/* How long the copies out take that a switch now has and one at the boundary has not. */
static uint64_t saved_ns(const struct slu_peer_device *d)
{
	uint64_t bytes =
		slu_sub_floor(device_live_bytes(d), slu_iteration_persistent_bytes(&d->iteration));

	return bytes / SLU_MIB * d->out_ns_per_mib + bytes % SLU_MIB * d->out_ns_per_mib / SLU_MIB;
}

bool slu_peer_boundary_wait(struct slu_peer *peer, uint64_t now_ns, unsigned index,
			    struct slu_epoch epoch, uint64_t deadline_ns)
{
	struct slu_peer_device *d = &peer->devices[index];
	uint64_t bound_ns = SLU_MIN(saved_ns(d), deadline_ns / DEADLINE_SHARE);
	uint64_t next_ns = slu_iteration_next_ns(&d->iteration);

	if (d->gate != SLU_PEER_GATE_OPEN || !bound_ns || next_ns == SLU_ITERATION_UNKNOWN ||
	    slu_sub_floor(next_ns, now_ns) > bound_ns)
		return false;
	/* long overdue: the program stopped in the middle of an iteration */
	if (d->idle_is_reported ||
	    slu_sub_floor(now_ns, next_ns) > slu_iteration_period_ns(&d->iteration))
		return false;
	d->late_epoch = epoch;
	d->late_until_ns = now_ns + bound_ns;
	return true;
}

bool slu_peer_boundary_is_due(const struct slu_peer *peer, uint64_t now_ns, unsigned device)
{
	const struct slu_peer_device *d = &peer->devices[device];

	return d->late_until_ns &&
	       (now_ns >= d->late_until_ns || slu_peer_alloc_waiting(peer, device));
}

void slu_peer_boundary_step(struct slu_peer *peer, uint64_t now_ns, unsigned index)
{
	struct slu_peer_device *d = &peer->devices[index];

	if (!slu_peer_boundary_is_due(peer, now_ns, index))
		return;
	d->late_until_ns = 0;
	if (slu_epoch_equal(d->epoch, d->late_epoch))
		d->close_epoch = d->late_epoch;
}
