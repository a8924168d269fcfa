/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "client/test-device.h"

/* A copy that has been started. */
struct copying {
	struct slu_test_device *device;
	void *to;
	const void *from;
	uint64_t bytes;
	bool is_spoilt;
	uint64_t end_ns; /* on the bus */
};

/* Return: 0, or the error that the operation must return instead of running. */
static int fault_locked(struct slu_test_device *d)
{
	if (++d->n_ops != d->fail_at && !d->is_broken)
		return 0;
	d->n_failed++;
	return d->fail_with ? d->fail_with : -EIO;
}

static int take_locked(struct slu_test_device *d, uint64_t bytes)
{
	if (d->capacity_bytes && d->used_bytes + bytes > d->capacity_bytes) {
		d->n_refused++;
		return SLU_BACKEND_E_REFUSED;
	}
	d->used_bytes += bytes;
	if (d->used_bytes > d->most_bytes)
		d->most_bytes = d->used_bytes;
	return 0;
}

/* Books the bus: a copy begins when the ones before it have ended. */
static uint64_t book_locked(struct slu_test_device *d, enum slu_direction way, uint64_t bytes)
{
	uint64_t now_ns;
	uint64_t ns;

	if (!d->bytes_per_s)
		return 0;
	now_ns = slu_clock_now_ns();
	ns = bytes * SLU_NS_PER_S / d->bytes_per_s;
	if (d->bus_free_ns[way] < now_ns)
		d->bus_free_ns[way] = now_ns;
	if (!d->bus_first_ns[way])
		d->bus_first_ns[way] = d->bus_free_ns[way];
	d->bus_busy_ns[way] += ns;
	d->bus_free_ns[way] += ns;
	return d->bus_free_ns[way];
}

static int create(void *data, struct slu_unit *unit)
{
	struct slu_test_device *d = data;
	struct slu_test_object *o = unit->owner;
	int r;

	slu_lock_take(&d->lock);
	r = fault_locked(d);
	if (!r)
		r = take_locked(d, unit->bytes);
	slu_lock_give(&d->lock);
	if (r)
		return r;
	assert(!o->memory && !o->mapped);
	o->memory = malloc(unit->bytes);
	assert(o->memory);
	memset(o->memory, 0xee, unit->bytes);
	return 0;
}

static void destroy(void *data, struct slu_unit *unit)
{
	struct slu_test_device *d = data;
	struct slu_test_object *o = unit->owner;

	assert(o->memory);
	free(o->memory);
	o->memory = NULL;
	slu_lock_take(&d->lock);
	assert(d->used_bytes >= unit->bytes);
	d->used_bytes -= unit->bytes;
	slu_lock_give(&d->lock);
}

static int copy(void *data, struct slu_unit *unit, enum slu_direction direction, uint64_t offset,
		void *host, uint64_t bytes, struct slu_ticket *ret_ticket)
{
	struct slu_test_device *d = data;
	struct slu_test_object *o = unit->owner;
	struct copying *c;
	uint64_t end_ns = 0;
	int r;

	assert(o->memory && offset + bytes <= unit->bytes);
	slu_lock_take(&d->lock);
	r = fault_locked(d);
	if (!r) {
		d->n_copying++;
		d->n_copies++;
		end_ns = book_locked(d, direction, bytes);
	}
	slu_lock_give(&d->lock);
	if (r)
		return r;
	c = malloc(sizeof(*c));
	assert(c);
	*c = (struct copying){ .device = d, .bytes = bytes, .end_ns = end_ns };
	c->to = direction == SLU_DIRECTION_IN ? (void *)(o->memory + offset) : host;
	c->from = direction == SLU_DIRECTION_IN ? host : (void *)(o->memory + offset);
	c->is_spoilt = d->spoil_in && direction == SLU_DIRECTION_IN;
	*ret_ticket = (struct slu_ticket){ .data = { (uintptr_t)c } };
	return 0;
}

static int poll_ticket(void *data, struct slu_ticket *ticket, bool wait)
{
	struct slu_test_device *d = data;
	struct copying *c = (struct copying *)(uintptr_t)ticket->data[0];
	int r;

	assert(c && c->device == d);
	slu_lock_take(&d->lock);
	r = fault_locked(d);
	d->n_copying--;
	slu_lock_give(&d->lock);
	if (c->end_ns > slu_clock_now_ns()) {
		struct timespec end = slu_clock_timespec(c->end_ns);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
	}
	if (!r) {
		memcpy(c->to, c->from, c->bytes);
		if (c->is_spoilt)
			((unsigned char *)c->to)[c->bytes / 2] ^= 1;
	}
	free(c);
	ticket->data[0] = 0;
	return r;
}

static int drain(void *data)
{
	struct slu_test_device *d = data;
	int r;

	slu_lock_take(&d->lock);
	r = d->drain_answer;
	slu_lock_give(&d->lock);
	if (r)
		return r;
	return atomic_load(&d->n_running) ? SLU_BACKEND_E_BUSY : 0;
}

static int drain_unit(void *data, struct slu_unit *unit)
{
	struct slu_test_device *d = data;
	struct slu_test_object *o = unit->owner;
	int r;

	slu_lock_take(&d->lock);
	r = fault_locked(d);
	if (!r)
		r = d->drain_unit_answer;
	slu_lock_give(&d->lock);
	if (r)
		return r;
	if (atomic_load(&o->is_blocked))
		return SLU_BACKEND_E_BLOCKED;
	return atomic_load(&o->n_running) ? SLU_BACKEND_E_BUSY : 0;
}

static bool is_dead(void *data, struct slu_unit *unit)
{
	const struct slu_test_object *o = unit->owner;

	slu_lock_assert_none();
	assert(unit->frozen == SLU_FROZEN_NO);
	return atomic_load(&o->is_dead);
}

static int progress(void *data)
{
	struct slu_test_device *d = data;

	return atomic_load(&d->n_running) ? SLU_BACKEND_E_BUSY : 0;
}

static void *pin(void *data, uint64_t bytes)
{
	struct slu_test_device *d = data;
	int r;

	slu_lock_take(&d->lock);
	r = fault_locked(d);
	if (!r)
		d->pinned_bytes += bytes;
	slu_lock_give(&d->lock);
	return r ? NULL : malloc(bytes);
}

static void unpin(void *data, void *host, uint64_t bytes)
{
	struct slu_test_device *d = data;

	free(host);
	slu_lock_take(&d->lock);
	d->pinned_bytes -= bytes;
	slu_lock_give(&d->lock);
}

static int pin_copy(void *data, void *host, uint64_t bytes)
{
	struct slu_test_device *d = data;
	int r;

	(void)host;
	slu_lock_take(&d->lock);
	r = fault_locked(d);
	if (!r) {
		d->pinned_bytes += bytes;
		d->n_pinned_copies++;
	}
	slu_lock_give(&d->lock);
	return r;
}

static int unpin_copy(void *data, void *host, uint64_t bytes)
{
	struct slu_test_device *d = data;

	(void)host;
	slu_lock_take(&d->lock);
	assert(d->pinned_bytes >= bytes);
	d->pinned_bytes -= bytes;
	slu_lock_give(&d->lock);
	return 0;
}

static int map(void *data, struct slu_unit *unit, void **ret_host)
{
	struct slu_test_device *d = data;
	struct slu_test_object *o = unit->owner;
	int r;

	slu_lock_take(&d->lock);
	r = fault_locked(d);
	if (!r)
		d->pinned_bytes += unit->bytes;
	slu_lock_give(&d->lock);
	if (r)
		return r;
	assert(!o->memory && !o->mapped);
	o->mapped = malloc(unit->bytes);
	assert(o->mapped);
	memset(o->mapped, 0xdd, unit->bytes);
	*ret_host = o->mapped;
	return 0;
}

static void unmap(void *data, struct slu_unit *unit)
{
	struct slu_test_device *d = data;
	struct slu_test_object *o = unit->owner;

	assert(o->mapped);
	free(o->mapped);
	o->mapped = NULL;
	slu_lock_take(&d->lock);
	d->pinned_bytes -= unit->bytes;
	slu_lock_give(&d->lock);
}

const struct slu_backend slu_test_backend = {
	.name = "test",
	.wants_staging = true,
	.create = create,
	.destroy = destroy,
	.copy = copy,
	.poll = poll_ticket,
	.drain = drain,
	.is_dead = is_dead,
	.progress = progress,
	.pin = pin,
	.unpin = unpin,
	.pin_copy = pin_copy,
	.unpin_copy = unpin_copy,
	.map = map,
	.unmap = unmap,
};

const struct slu_backend slu_test_backend_launch = {
	.name = "test-launch",
	.create = create,
	.destroy = destroy,
	.copy = copy,
	.poll = poll_ticket,
	.drain = drain,
	.is_dead = is_dead,
	.drain_unit = drain_unit,
	.progress = progress,
};

void slu_test_device_init(struct slu_test_device *device, uint64_t capacity_bytes)
{
	memset(device, 0, sizeof(*device));
	slu_lock_init(&device->lock, SLU_LOCK_BACKEND);
	device->capacity_bytes = capacity_bytes;
}

void slu_test_device_deinit(struct slu_test_device *device)
{
	assert(!device->used_bytes);
	assert(!device->pinned_bytes);
	assert(!device->n_copying);
	slu_lock_deinit(&device->lock);
}

unsigned char *slu_test_object_bytes(struct slu_test_object *object)
{
	unsigned char *bytes = object->memory ? object->memory : object->mapped;

	assert(bytes);
	return bytes;
}
