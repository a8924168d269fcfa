/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Without a daemon there is no message when other programs have gone. A program that needs more
 * than the driver gave asks it again from time to time. Two programs that each hold what the other
 * one waits for would ask for ever. So a program that asked in vain gives up all its memory for a
 * while, after the 2nd, 4th, 8th … time: a pair is free soon, and bytes do not go to and fro all
 * the time where another program just stays.
 */

#include "peer/internal.h"

#define PAUSE_NS (500 * SLU_NS_PER_MS)

/* Between one and two times the pause, different each time and in each program. */
static uint64_t alone_pause_ns(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	uint64_t x = (peer->config.seed + d->n_alone_asks) * UINT64_C(0x9e3779b97f4a7c15);

	return PAUSE_NS + (x >> 32) % PAUSE_NS;
}

/* The 2nd, 4th, 8th … time. */
static bool alone_gives_next(struct slu_peer_device *d)
{
	unsigned n = ++d->n_alone_asks;

	return n > 1 && (n & (n - 1)) == 0;
}

static void alone_ask_for_all(struct slu_peer_device *d)
{
	d->alone_bytes = UINT64_MAX;
	d->alone_gives = false;
}

void slu_peer_alone_step(const struct slu_peer *peer, struct slu_peer_device *d, uint64_t now_ns)
{
	bool waits = d->mode == SLU_MODE_LAUNCH ? d->n_command : d->n_absent;
	bool is_short =
		waits && (d->mode == SLU_MODE_LAUNCH ? slu_peer_command_need(d) > d->alone_bytes
						     : d->alone_bytes != UINT64_MAX);

	if (!waits)
		d->n_alone_asks = 0;
	if (!is_short) {
		d->alone_until_ns = 0;
		if (d->alone_gives)
			alone_ask_for_all(d);
	} else if (!d->alone_until_ns || (d->alone_gives && d->leaving_bytes)) {
		d->alone_until_ns = now_ns + alone_pause_ns(peer, d);
	} else if (now_ns >= d->alone_until_ns && (d->alone_gives || !alone_gives_next(d))) {
		d->alone_until_ns = 0;
		alone_ask_for_all(d);
	} else if (now_ns >= d->alone_until_ns) {
		d->alone_until_ns = now_ns + alone_pause_ns(peer, d);
		d->alone_bytes = 0;
		d->alone_gives = true;
	}
}

void slu_peer_alone_run(struct slu_peer *peer, uint64_t now_ns, bool alone)
{
	(void)now_ns;
	peer->is_alone = alone;
	for (unsigned i = 0; i < peer->n_devices; i++) {
		peer->devices[i].alone_until_ns = 0;
		peer->devices[i].n_alone_asks = 0;
		alone_ask_for_all(&peer->devices[i]);
	}
	slu_peer_wake_all(peer);
}
