/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shifts backing from memory to disk and back, and pins it in memory, aside from everything else:
 * one thread a process, started when it is first needed, one unit at a time. It stops at a chunk
 * when the peer wants the unit elsewhere.
 *
 * Pinning moves no bytes. A unit that has no host copy gets memory for one, so that it leaves
 * without staging the first time as well.
 *
 * The old copy is released only when the new one is complete and, on disk, written through. A unit
 * that is present has no bytes to copy: its extent is taken or given back, and its host copy is
 * dropped.
 */

#include <string.h>

#include "base/error.h"
#include "client/instance.h"
#include "client/log.h"
#include "client/shift.h"
#include "client/sizes.h"
#include "client/tiers.h"
#include "client/wait.h"

/* The state of one shift; private to the shifter while it is under way. */
struct shift {
	struct slu_client_unit *w;
	bool has_bytes; /* the unit is away and was written */
	struct slu_disk_extent extent;
	void *host;
	uint64_t sum;
	bool has_sum;
};

/* Return: a result of slu_peer_shift_done(), or -errno of the disk. */
static int shift_copy(struct slu_client *c, struct shift *s, bool is_down)
{
	uint64_t bytes = s->w->unit.bytes;
	struct slu_checksum sum;

	slu_checksum_init(&sum);
	for (uint64_t at = 0; at < bytes; at += SLU_SIZES_CANCEL_BYTES) {
		uint64_t part = SLU_MIN(SLU_SIZES_CANCEL_BYTES, bytes - at);
		char *host = (char *)s->host + at;
		int r;

		if (slu_client_unit_is_cancelled(s->w))
			return SLU_SHIFT_CANCELLED;
		r = is_down ? slu_disk_write(&c->disk, &s->extent, at, host, part)
			    : slu_disk_read(&c->disk, &s->extent, at, host, part);
		if (r)
			return r;
		slu_checksum_add(&sum, host, part);
	}
	/* a corrupt copy is reported when the program needs it */
	if (s->has_sum && slu_checksum_end(&sum) != s->sum)
		return SLU_SHIFT_FAILED;
	s->sum = slu_checksum_end(&sum);
	s->has_sum = true;
	return is_down ? slu_disk_sync(&c->disk, &s->extent) : 0;
}

static int shift_go_down(struct slu_client *c, struct shift *s)
{
	int r = slu_disk_take(&c->disk, s->w->unit.bytes, &s->extent);

	if (r) {
		slu_client_log("no disk space for %llu bytes: %s",
			       (unsigned long long)s->w->unit.bytes, slu_disk_reason(r));
		return SLU_SHIFT_REFUSED;
	}
	return s->has_bytes ? shift_copy(c, s, true) : 0;
}

static int shift_come_up(struct slu_client *c, struct shift *s)
{
	int r;

	if (!s->has_bytes)
		return 0;
	s->host = slu_tiers_get(s->w->unit.bytes);
	if (!s->host)
		return SLU_SHIFT_REFUSED;
	r = shift_copy(c, s, false);
	return r < 0 ? SLU_SHIFT_FAILED : r;
}

/* Gives the unit the new copy; the caller releases the old one. Needs the lock. */
static void shift_hand_over(struct shift *s, bool is_down)
{
	struct slu_client_unit *w = s->w;
	struct slu_disk_extent extent = w->extent;
	void *host = w->unit.host;

	w->extent = is_down ? s->extent : (struct slu_disk_extent){ 0 };
	w->unit.host = is_down || !s->has_bytes ? NULL : s->host;
	s->extent = extent;
	s->host = host;
	if (s->has_bytes) {
		w->sum = s->sum;
		w->has_sum = s->has_sum;
	} else {
		__atomic_store_n(&w->unit.host_version, 0, __ATOMIC_RELAXED);
		w->has_sum = false;
	}
}

static void shift_serve(struct slu_client *c, struct slu_client_unit *w)
{
	bool is_down = w->unit.shift == SLU_SHIFT_DOWN;
	uint64_t bytes = w->unit.bytes;
	struct shift s = { .w = w };
	int r;

	/* An access of the program to the host copy ends first. */
	while (w->n_pins)
		slu_client_wait(c, SLU_PEER_NEVER);
	s.has_bytes = !slu_unit_is_present(&w->unit) && w->unit.host_version;
	s.host = is_down ? w->unit.host : NULL;
	if (!is_down)
		s.extent = w->extent;
	s.sum = w->sum;
	s.has_sum = w->has_sum && s.has_bytes;
	slu_lock_give(&c->lock);
	r = is_down ? shift_go_down(c, &s) : shift_come_up(c, &s);
	slu_lock_take(&c->lock);
	if (!r) {
		shift_hand_over(&s, is_down);
		slu_client_log("%llu bytes %s", (unsigned long long)bytes,
			       is_down ? "shifted to disk" : "shifted from disk to memory");
	} else if (is_down) {
		s.host = NULL;
	} else {
		s.extent = (struct slu_disk_extent){ 0 };
	}
	slu_lock_give(&c->lock);
	/* before the accounts count it as free */
	slu_disk_give(&c->disk, &s.extent);
	slu_tiers_put(s.host, bytes);
	/* the pool does not keep it either: other programs need the memory */
	if (is_down)
		slu_tiers_trim();
	slu_lock_take(&c->lock);
	slu_peer_shift_done(c->peer, slu_clock_now_ns(), &w->unit,
			    r < 0 ? SLU_SHIFT_FAILED : (enum slu_shift_result)r);
	if (r < 0)
		slu_client_shift_disk_failed(c, -r);
	pthread_cond_broadcast(&c->changed);
	slu_client_pump(c, slu_clock_now_ns());
}

/* Pins the host copy. Return: a result of slu_peer_shift_done(). */
static int pin_make(struct slu_client_unit *w, void **host)
{
	const struct slu_client_device *d = w->device;
	bool is_new = !*host;

	if (is_new)
		*host = slu_tiers_get(w->unit.bytes);
	if (!*host)
		return SLU_SHIFT_REFUSED;
	if (!d->backend->pin_copy(d->data, *host, w->unit.bytes))
		return SLU_SHIFT_DONE;
	if (is_new) {
		slu_tiers_put(*host, w->unit.bytes);
		*host = NULL;
	}
	return SLU_SHIFT_REFUSED;
}

static void pin_serve(struct slu_client *c, struct slu_client_unit *w)
{
	const struct slu_client_device *d = w->device;
	bool is_pin = w->unit.shift == SLU_SHIFT_PIN;
	void *host;
	int r;

	/* An access of the program to the host copy ends first: it may have made the copy. */
	while (w->n_pins)
		slu_client_wait(c, SLU_PEER_NEVER);
	host = w->unit.host;
	r = is_pin && w->unit.cancel ? SLU_SHIFT_CANCELLED : SLU_SHIFT_DONE;
	slu_lock_give(&c->lock);
	if (d->backend->thread_begin)
		d->backend->thread_begin(d->data);
	if (r == SLU_SHIFT_DONE && is_pin)
		r = pin_make(w, &host);
	else if (r == SLU_SHIFT_DONE && d->backend->unpin_copy(d->data, host, w->unit.bytes))
		r = SLU_SHIFT_FAILED; /* it stays pinned */
	slu_lock_take(&c->lock);
	w->unit.host = host;
	if (r == SLU_SHIFT_DONE)
		slu_client_log("%llu bytes of a host copy %s", (unsigned long long)w->unit.bytes,
			       is_pin ? "pinned" : "pageable again");
	slu_peer_shift_done(c->peer, slu_clock_now_ns(), &w->unit, (enum slu_shift_result)r);
	pthread_cond_broadcast(&c->changed);
	slu_client_pump(c, slu_clock_now_ns());
}

static void *shifter_run(void *data)
{
	struct slu_client *c = data;

	slu_lock_take(&c->lock);
	for (;;) {
		struct slu_client_unit *w = c->shifting;

		c->shifting = NULL;
		if (w && (w->unit.shift == SLU_SHIFT_PIN || w->unit.shift == SLU_SHIFT_UNPIN))
			pin_serve(c, w);
		else if (w)
			shift_serve(c, w);
		else
			slu_lock_wait(&c->lock, &c->shift_wake, NULL);
	}
	return NULL;
}

void slu_client_shift_start(struct slu_client *c, struct slu_client_unit *w)
{
	pthread_t thread;

	if (!c->has_shifter && !slu_client_thread(&thread, shifter_run, c, "sluice-shift")) {
		pthread_detach(thread);
		c->has_shifter = true;
	}
	if (!c->has_shifter) {
		slu_peer_shift_done(c->peer, slu_clock_now_ns(), &w->unit, SLU_SHIFT_REFUSED);
		return;
	}
	c->shifting = w;
	pthread_cond_broadcast(&c->shift_wake);
}

void slu_client_shift_disk_failed(struct slu_client *c, int error)
{
	if (!c->disk_is_bad)
		slu_client_log("a write to the disk failed: %s; backing stays in memory from now "
			       "on",
			       strerror(error));
	c->disk_is_bad = true;
	slu_peer_shift_disk_failed(c->peer, slu_clock_now_ns());
}
