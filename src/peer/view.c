/* SPDX-License-Identifier: Apache-2.0 */

/* Reads of a peer that change nothing. */

#include "peer/internal.h"

void slu_peer_view_account(const struct slu_peer *peer, struct slu_account account,
			   struct slu_peer_account_view *ret_view)
{
	const struct slu_peer_account *a = slu_peer_account_find((struct slu_peer *)peer, account);

	*ret_view = (struct slu_peer_account_view){ 0 };
	if (!a)
		return;
	*ret_view = (struct slu_peer_account_view){
		.limit_bytes = a->limit_bytes,
		.held_bytes = a->held_bytes,
		.goal_bytes = a->goal_bytes,
		.seq = a->seq,
		.pace = a->pace,
	};
}

bool slu_peer_view_gate_is_open(const struct slu_peer *peer, unsigned device)
{
	return peer->devices[device].gate == SLU_PEER_GATE_OPEN;
}

bool slu_peer_view_gate_is_partial(const struct slu_peer *peer, unsigned device)
{
	return peer->devices[device].gate == SLU_PEER_GATE_PARTIAL;
}

size_t slu_peer_view_n_absent(const struct slu_peer *peer, unsigned device)
{
	return peer->devices[device].n_absent;
}

struct slu_epoch slu_peer_view_epoch(const struct slu_peer *peer, unsigned device)
{
	return peer->devices[device].epoch;
}

uint64_t slu_peer_view_working(const struct slu_peer *peer, unsigned device)
{
	return peer->devices[device].working_bytes;
}

const struct slu_unit *slu_peer_view_ahead(const struct slu_peer *peer, unsigned device)
{
	return slu_peer_ahead_next(peer, &peer->devices[device]);
}

uint64_t slu_peer_view_n_scans(const struct slu_peer *peer)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < peer->n_devices; i++)
		n += peer->devices[i].n_scans;
	return n;
}

const struct slu_unit_list *slu_peer_view_units(const struct slu_peer *peer, unsigned device)
{
	return &peer->devices[device].units;
}
