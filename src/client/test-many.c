/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Thousands of units that move while the daemon is slow, or does not read at all: the client goes
 * on and reports its state as soon as the daemon listens.
 */

#include "lib/test.h"

#include <assert.h>

#include "client/test-daemon.h"
#include "client/test-thing.h"
#include "client/wait.h"

#define N_UNITS 5000

static void wait_until_all_departed(void)
{
	struct slu_client *c = &slu_client_global;
	const struct slu_unit_list *units;
	const struct slu_unit *u;

	slu_lock_take(&c->lock);
	do {
		units = slu_peer_view_units(c->peer, 0);
		TAILQ_FOREACH (u, units, link)
			if (u->place != SLU_PLACE_RAM || u->moving != SLU_MOVING_NO)
				break;
		if (u)
			slu_client_wait(c, slu_clock_now_ns() + SLU_NS_PER_MS);
	} while (u);
	slu_lock_give(&c->lock);
}

static void move_many(void)
{
	static struct thing things[N_UNITS];
	struct slu_client_device *d;
	struct slu_test_daemon daemon;

	slu_test_daemon_init(&daemon);
	daemon.goes_deaf = true;
	daemon.is_calm = true;
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_ALL, 0);
	for (unsigned i = 0; i < N_UNITS; i++)
		thing_new(d, &things[i], 64);
	for (unsigned i = 0; i < N_UNITS; i++)
		thing_write(d, &things[i], (unsigned char)i);
	slu_test_daemon_wait_turns(&daemon, 1);
	slu_test_daemon_tell(&daemon);
	wait_until_all_departed();
	slu_test_daemon_tell(&daemon);
	for (unsigned i = 0; i < N_UNITS; i++)
		thing_check(d, &things[i]);
	/* it never lost its daemon, and the daemon received the last report */
	assert(daemon.n_joins == 1);
	for (unsigned i = 0; i < N_UNITS; i++)
		slu_client_unit_free(things[i].unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void a_daemon_that_does_not_read_loses_no_client(void **state)
{
	run_apart(move_many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_daemon_that_does_not_read_loses_no_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
