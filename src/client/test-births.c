/* SPDX-License-Identifier: Apache-2.0 */

/* Births of units that the driver fails or refuses, at each place and for ever. */

#include "lib/test.h"

#include "client/test-daemon.h"
#include "client/test-thing.h"

#define BIRTHS 6

/*
 * In a turn, with the gate open: each birth is a creation on this thread. The n'th operation of the
 * device fails, for each n, until a run of births has met no fault.
 */
static void births(int fault)
{
	struct slu_test_daemon daemon;
	struct slu_client_device *d;
	struct thing first, things[BIRTHS];
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
		for (unsigned i = 0; i < BIRTHS; i++) {
			thing_new(d, &things[i], KIB_UNIT);
			thing_write(d, &things[i], (unsigned char)(n + i));
		}
		slu_lock_take(&device.lock);
		device.fail_at = 0;
		n_failed = device.n_failed - n_failed;
		slu_lock_give(&device.lock);
		for (unsigned i = 0; i < BIRTHS; i++) {
			thing_check(d, &things[i]);
			slu_client_unit_free(things[i].unit);
		}
		n_met += n_failed;
		if (!n_failed)
			break;
	}
	assert(n_met >= BIRTHS);
	thing_check(d, &first);
	slu_client_unit_free(first.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void failing_births(void)
{
	births(-EIO);
}

static void refused_births(void)
{
	births(SLU_BACKEND_E_REFUSED);
}

static void a_birth_that_fails_once_is_tried_again(void **state)
{
	run_apart(failing_births);
}

static void a_birth_that_is_refused_once_is_tried_again(void **state)
{
	run_apart(refused_births);
}

/* What fails for good reaches the program, and nothing of it is left. */
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

static void a_birth_that_always_fails_ends_with_the_error(void **state)
{
	run_apart(hopeless);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_birth_that_fails_once_is_tried_again),
		cmocka_unit_test(a_birth_that_is_refused_once_is_tried_again),
		cmocka_unit_test(a_birth_that_always_fails_ends_with_the_error),
	};

	return cmocka_run_group_tests_name("client-births", tests, NULL, NULL);
}
