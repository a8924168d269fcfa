/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Allocations of units that the driver fails or refuses, once at each place and always, and a
 * release that meets a shift and a move.
 */

#include "lib/test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "client/instance.h"
#include "client/test-daemon.h"
#include "client/test-thing.h"

#define N_ALLOCATIONS 6

/*
 * In a turn, with the gate open: each allocation is a creation on this thread. The n-th operation
 * of the device fails, for each n, until a run of allocations meets no fault.
 */
static void allocate_with_faults(int fault)
{
	struct slu_test_daemon daemon;
	struct slu_client_device *d;
	struct thing first, things[N_ALLOCATIONS];
	unsigned n_met = 0;

	slu_test_daemon_init(&daemon);
	daemon.is_calm = true;
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &first, KIB_UNIT);
	thing_write(d, &first, 99);
	for (unsigned n = 1;; n++) {
		unsigned n_failed;

		slu_lock_take(&device.lock);
		device.fail_with = fault;
		device.fail_at = device.n_ops + n;
		n_failed = device.n_failed;
		slu_lock_give(&device.lock);
		for (unsigned i = 0; i < N_ALLOCATIONS; i++) {
			thing_new(d, &things[i], KIB_UNIT);
			thing_write(d, &things[i], (unsigned char)(n + i));
		}
		slu_lock_take(&device.lock);
		device.fail_at = 0;
		n_failed = device.n_failed - n_failed;
		slu_lock_give(&device.lock);
		for (unsigned i = 0; i < N_ALLOCATIONS; i++) {
			thing_check(d, &things[i]);
			slu_client_unit_free(things[i].unit);
		}
		n_met += n_failed;
		if (!n_failed)
			break;
	}
	assert(n_met >= N_ALLOCATIONS);
	thing_check(d, &first);
	slu_client_unit_free(first.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void failing_allocations(void)
{
	allocate_with_faults(-EIO);
}

static void refused_allocations(void)
{
	allocate_with_faults(SLU_BACKEND_E_REFUSED);
}

static void an_allocation_that_fails_once_is_tried_again(void **state)
{
	run_apart(failing_allocations);
}

static void an_allocation_that_is_refused_once_is_tried_again(void **state)
{
	run_apart(refused_allocations);
}

/* A permanent error reaches the program, and nothing of the allocation remains. */
static void hopeless(void)
{
	struct slu_client_device *d = add(SLU_MODE_ALL, 0);
	struct slu_test_object object = { 0 };
	struct slu_unit *unit;
	struct thing t;

	slu_lock_take(&device.lock);
	device.is_broken = true;
	slu_lock_give(&device.lock);
	assert(slu_client_unit_new(d, KIB_UNIT, SLU_FROZEN_NO, &object, &unit) == -EIO);
	assert(slu_client_device_owned(d) == 0);
	slu_lock_take(&device.lock);
	assert(device.n_failed > 1);
	device.is_broken = false;
	slu_lock_give(&device.lock);
	thing_new(d, &t, KIB_UNIT);
	thing_write(d, &t, 1);
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void an_allocation_that_always_fails_ends_with_the_error(void **state)
{
	run_apart(hopeless);
}

/* -- what a program may own ------------------------------------------------------------------- */

enum { N_OWNERS = 8 };

static struct slu_client_device *owned;
static _Atomic uint64_t n_reserved;

static void *reserve_all(void *data)
{
	(void)data;
	while (slu_client_device_reserve(owned, KIB_UNIT, 0))
		n_reserved++;
	return NULL;
}

static void reserving(void)
{
	pthread_t threads[N_OWNERS];
	struct thing t = { 0 }, spare = { 0 };
	struct slu_unit *frozen;
	uint64_t most, remaining;

	owned = add(SLU_MODE_ALL, 0);
	most = slu_client_device_visible(owned);
	for (unsigned i = 0; i < N_OWNERS; i++)
		assert(!pthread_create(&threads[i], NULL, reserve_all, NULL));
	for (unsigned i = 0; i < N_OWNERS; i++)
		pthread_join(threads[i], NULL);
	assert(n_reserved == most / KIB_UNIT);
	assert(slu_client_device_owned(owned) == n_reserved * KIB_UNIT);
	/* a unit uses up its reservation, and counts once */
	remaining = n_reserved * KIB_UNIT;
	assert(!slu_client_unit_new_reserved(owned, KIB_UNIT, SLU_FROZEN_NO, &remaining, &t.object,
					     &t.unit));
	assert(slu_client_device_owned(owned) == n_reserved * KIB_UNIT);
	assert(remaining == (n_reserved - 1) * KIB_UNIT);
	/* so does one that cannot move; one that needs more takes all that remains */
	assert(!slu_client_unit_new_reserved(owned, KIB_UNIT, SLU_FROZEN_POOL, &remaining, NULL,
					     &frozen));
	assert(slu_client_device_owned(owned) == n_reserved * KIB_UNIT);
	slu_client_unit_free(frozen);
	slu_client_device_unreserve(owned, remaining - KIB_UNIT);
	remaining = KIB_UNIT;
	assert(!slu_client_unit_new_reserved(owned, 2 * KIB_UNIT, SLU_FROZEN_POOL, &remaining, NULL,
					     &frozen));
	assert(!remaining && slu_client_device_owned(owned) == 3 * KIB_UNIT);
	slu_client_unit_free(frozen);
	/* memory that the driver is to find free is not the program's */
	assert(!slu_client_unit_new_spare(owned, KIB_UNIT, &spare.object, &spare.unit));
	assert(slu_client_device_owned(owned) == KIB_UNIT);
	slu_client_unit_free(spare.unit);
	assert(slu_client_device_owned(owned) == KIB_UNIT);
	slu_client_unit_free(t.unit);
	assert(slu_client_device_owned(owned) == 0);
	slu_client_device_remove(owned);
	slu_test_device_deinit(&device);
}

static void threads_never_own_more_together_than_the_program_may(void **state)
{
	run_apart(reserving);
}

static void *free_unit(void *unit)
{
	slu_client_unit_free(unit);
	return NULL;
}

/* A move begins and ends between the end of a shift and the moment when the thread has the lock. */
static void freed_in_a_shift(void)
{
	struct slu_client *c = &slu_client_global;
	struct slu_test_daemon daemon;
	struct slu_client_device *d;
	struct slu_client_unit *w;
	struct thing freed, kept;
	pthread_t thread;

	slu_test_daemon_init(&daemon);
	daemon.is_calm = true;
	daemon.device_bytes = KIB_UNIT / 2;
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_LAUNCH, 0);
	thing_new(d, &freed, KIB_UNIT);
	thing_new(d, &kept, KIB_UNIT);
	w = slu_client_unit_of(freed.unit);

	slu_lock_take(&c->lock);
	w->unit.shift = SLU_SHIFT_PIN;
	slu_lock_give(&c->lock);
	assert(!pthread_create(&thread, NULL, free_unit, freed.unit));
	slu_lock_take(&c->lock);
	while (!w->is_dying) {
		slu_lock_give(&c->lock);
		sched_yield();
		slu_lock_take(&c->lock);
	}
	w->unit.shift = SLU_SHIFT_NO;
	slu_client_unit_retire(c, w); /* as at the end of the move */
	pthread_cond_broadcast(&c->changed);
	slu_lock_give(&c->lock);
	assert(!pthread_join(thread, NULL));

	slu_lock_take(&c->lock);
	slu_peer_check(c->peer);
	slu_lock_give(&c->lock);
	slu_client_unit_free(kept.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void a_unit_freed_in_a_shift_is_counted_out_once(void **state)
{
	run_apart(freed_in_a_shift);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_allocation_that_fails_once_is_tried_again),
		cmocka_unit_test(an_allocation_that_is_refused_once_is_tried_again),
		cmocka_unit_test(an_allocation_that_always_fails_ends_with_the_error),
		cmocka_unit_test(threads_never_own_more_together_than_the_program_may),
		cmocka_unit_test(a_unit_freed_in_a_shift_is_counted_out_once),
	};

	return cmocka_run_group_tests_name("client-alloc", tests, NULL, NULL);
}
