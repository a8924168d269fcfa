/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reports: messages that no program waits for. They are sent at most once per interval, a little
 * after a change: FACTS for status, sums that changed inside the limit, a floor that fell, a need
 * that changed while it was met, and a need that ended. So an allocation sends nothing while credit
 * lasts, and the daemon still learns what is slack. The hint that the device is idle, and its end,
 * count as reports too: a program that was not let run for a moment has asked for nothing.
 */

#include <string.h>

#include "peer/internal.h"

void slu_peer_reports_touch(struct slu_peer *peer, uint64_t now_ns)
{
	if (peer->reports_ns == SLU_PEER_NEVER)
		peer->reports_ns = now_ns + SLU_PEER_REPORTS_NS;
}

void slu_peer_reports_count_launches(struct slu_peer *peer, uint64_t now_ns, unsigned device,
				     uint64_t n)
{
	if (n == 0)
		return;
	slu_peer_command_advance(&peer->devices[device], n);
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_reports_set_paged(struct slu_peer *peer, uint64_t now_ns, unsigned device,
				uint64_t bytes)
{
	slu_peer_paging_set(peer, device, bytes);
	slu_peer_reports_touch(peer, now_ns);
}

void slu_peer_reports_export(struct slu_peer *peer, unsigned device)
{
	struct slu_peer_device *d = &peer->devices[device];
	struct slu_peer_record *r;

	if (d->export_is_reported || !peer->is_joined || !(peer->welcome.hears & SLU_HEARS_EXPORT))
		return;
	r = slu_peer_push_message(peer, SLU_MSG_EXPORT, device);
	if (!r)
		return;
	r->export = (struct slu_msg_export){ .device = (uint8_t)device };
	d->export_is_reported = true;
}

void slu_peer_reports_fill_facts(const struct slu_peer *peer, unsigned index,
				 struct slu_msg_facts *ret_facts)
{
	const struct slu_peer_device *d = &peer->devices[index];

	*ret_facts = (struct slu_msg_facts){
		.device = (uint8_t)index,
		.mode = (uint8_t)d->mode,
		.n_failed = (uint8_t)SLU_MAX(d->n_failed[IN], d->n_failed[OUT]),
		.device_bytes = d->place_bytes[SLU_PLACE_DEVICE],
		.mapped_bytes = d->place_bytes[SLU_PLACE_MAPPED],
		.ram_bytes = d->place_bytes[SLU_PLACE_RAM],
		.disk_bytes = d->place_bytes[SLU_PLACE_DISK],
		.moved_in_bytes = d->moved_in_bytes,
		.moved_out_bytes = d->moved_out_bytes,
		.n_launches = d->n_launches,
		.n_served = d->n_served,
	};
	for (unsigned why = SLU_FROZEN_NO + 1; why < _SLU_FROZEN_MAX; why++)
		ret_facts->frozen_bytes[why] = d->frozen_bytes[why];
	ret_facts->frozen_bytes[SLU_FROZEN_MANAGED] += d->paged_bytes;
}

static void sums_mark_due(struct slu_peer_account *a)
{
	if (a->held_bytes != a->reported_held_bytes)
		a->is_due = true;
}

void slu_peer_reports_step(struct slu_peer *peer, uint64_t now_ns)
{
	unsigned n_before = peer->n_queued;

	if (!peer->is_connected || now_ns < peer->reports_ns)
		return;
	peer->reports_ns = SLU_PEER_NEVER;

	sums_mark_due(&peer->pinned);
	sums_mark_due(&peer->pageable);
	sums_mark_due(&peer->disk);
	for (unsigned i = 0; i < peer->n_devices; i++) {
		struct slu_peer_device *d = &peer->devices[i];

		sums_mark_due(&d->account);
		d->account.is_due = d->account.is_due || slu_peer_account_floor_fell(peer, d);
	}
	slu_peer_account_step(peer);

	for (unsigned i = 0; i < peer->n_devices; i++) {
		struct slu_peer_device *d = &peer->devices[i];
		struct slu_msg_facts facts;

		if (slu_peer_want_is_stale(peer, i)) {
			d->want_is_due = true;
			slu_peer_want_step(peer, now_ns, i);
		}
		slu_peer_reports_fill_facts(peer, i, &facts);
		if (memcmp(&facts, &d->facts, sizeof(facts)) != 0) {
			d->facts = facts;
			slu_peer_push_message(peer, SLU_MSG_FACTS, i);
		}
	}
	peer->n_reports += peer->n_queued - n_before;
}

uint64_t slu_peer_reports_sent(const struct slu_peer *peer)
{
	return peer->n_reports;
}
