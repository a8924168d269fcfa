/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The library as a front end uses it, on a device in memory.
 */

#include "lib/test.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "client/instance.h"
#include "client/test-daemon.h"
#include "client/test-thing.h"
#include "client/wait.h"

/* -- without a daemon ---------------------------------------------------------------------------
 */

static void loose(void)
{
	struct slu_client_device *d = add(SLU_MODE_ALL, 3 * KIB_UNIT);
	struct slu_unit *unit;
	struct thing things[3];
	struct slu_test_object object = { 0 };

	assert(slu_client_device_visible(d) == identity.total_bytes);
	for (unsigned i = 0; i < 3; i++) {
		thing_new(d, &things[i], KIB_UNIT);
		assert(things[i].object.memory);
		thing_write(d, &things[i], (unsigned char)i);
	}
	assert(slu_client_device_owned(d) == 3 * KIB_UNIT);
	errno = 77;
	assert(slu_client_unit_new(d, KIB_UNIT, SLU_FROZEN_NO, &object, &unit) ==
	       SLU_CLIENT_E_NO_MEMORY);
	assert(errno == 77);
	for (unsigned i = 0; i < 3; i++) {
		thing_check(d, &things[i]);
		slu_client_unit_free(things[i].unit);
	}
	assert(counts().n_slow_entries == 0);
	assert(counts().n_messages_sent == 0);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void without_a_daemon_everything_passes_and_nothing_moves(void **state)
{
	run_apart(loose);
}

static void frozen(void)
{
	struct slu_client_device *d = add(SLU_MODE_ALL, 0);
	struct slu_test_object object = { 0 };
	struct slu_unit *unit;

	assert(slu_client_unit_new(d, KIB_UNIT, SLU_FROZEN_IMAGE, &object, &unit) == 0);
	assert(!object.memory);
	assert(slu_client_device_owned(d) == KIB_UNIT);
	slu_client_unit_free(unit);
	assert(slu_client_device_owned(d) == 0);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void a_frozen_unit_is_charged_and_never_moves(void **state)
{
	run_apart(frozen);
}

static void freeze_device(void)
{
	struct slu_client_device *d = add(SLU_MODE_ALL, 3 * KIB_UNIT);
	struct slu_test_object object = { 0 };
	struct slu_unit *image;
	struct thing things[2];

	for (unsigned i = 0; i < 2; i++)
		thing_new(d, &things[i], KIB_UNIT);
	assert(slu_client_unit_new(d, KIB_UNIT, SLU_FROZEN_IMAGE, &object, &image) == 0);
	/* a unit on its way is not waited for, and is frozen the next time */
	things[1].unit->moving = SLU_MOVING_OUT;
	slu_client_device_freeze(d, SLU_FROZEN_BYPASS);
	assert(things[0].unit->frozen == SLU_FROZEN_BYPASS);
	assert(things[1].unit->frozen != SLU_FROZEN_BYPASS);
	assert(image->frozen == SLU_FROZEN_IMAGE);
	things[1].unit->moving = SLU_MOVING_NO;
	slu_client_device_freeze(d, SLU_FROZEN_BYPASS);
	assert(things[1].unit->frozen == SLU_FROZEN_BYPASS);
	for (unsigned i = 0; i < 2; i++)
		slu_client_unit_free(things[i].unit);
	slu_client_unit_free(image);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void freezing_a_device_waits_for_no_unit(void **state)
{
	run_apart(freeze_device);
}

/* -- tortured -------------------------------------------------------------------------------------
 */

static void tortured_all(void)
{
	struct slu_client_device *d;
	struct thing things[5];

	setenv("SLUICE_TORTURE", "1", 1);
	d = add(SLU_MODE_ALL, 5 * KIB_UNIT);
	for (unsigned i = 0; i < 5; i++)
		thing_new(d, &things[i], KIB_UNIT);
	for (unsigned round = 0; round < 20; round++) {
		for (unsigned i = 0; i < 5; i++)
			thing_write(d, &things[i], (unsigned char)(round * 5 + i));
		for (unsigned i = 0; i < 5; i++)
			thing_check(d, &things[i]);
	}
	assert(counts().n_moves_out > 200);
	assert(counts().n_slow_entries >= 200);
	for (unsigned i = 0; i < 5; i++)
		slu_client_unit_free(things[i].unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void contents_survive_torture_in_mode_all(void **state)
{
	run_apart(tortured_all);
}

static int compare(void *data, struct slu_unit *unit, const void *host, bool always)
{
	const struct slu_test_object *object = unit->owner;

	return memcmp(object->memory, host, unit->bytes) ? SLU_BACKEND_E_DIFFERENT : 0;
}

/* A front end that compares: every unit of a turn is suspect, and only one that differs is copied.
 */
static void tortured_and_compared(void)
{
	struct slu_backend backend = slu_test_backend;
	struct slu_client_device *d;
	struct slu_client_counts before;
	struct thing things[5];

	setenv("SLUICE_TORTURE", "1", 1);
	backend.compare = compare;
	slu_test_device_init(&device, 5 * KIB_UNIT);
	assert(slu_client_device_add(&identity, SLU_MODE_ALL, &backend, &device, &d) == 0);
	for (unsigned i = 0; i < 5; i++) {
		thing_new(d, &things[i], KIB_UNIT);
		thing_write(d, &things[i], (unsigned char)i);
	}
	for (unsigned i = 0; i < 5; i++)
		thing_check(d, &things[i]);
	before = counts();
	for (unsigned round = 0; round < 20; round++) {
		thing_write(d, &things[0], (unsigned char)(100 + round));
		for (unsigned i = 0; i < 5; i++)
			thing_check(d, &things[i]);
	}
	assert(counts().n_compared - before.n_compared >= 100);
	assert(counts().moved_in_bytes - before.moved_in_bytes >= 100 * KIB_UNIT);
	assert(counts().moved_out_bytes - before.moved_out_bytes <= 20 * KIB_UNIT);
	for (unsigned i = 0; i < 5; i++)
		slu_client_unit_free(things[i].unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void units_of_a_turn_are_compared_if_the_front_end_can(void **state)
{
	run_apart(tortured_and_compared);
}

static void command(struct slu_client_device *d, struct thing *t, int pattern)
{
	struct slu_unit *const units[] = { t->unit };
	unsigned char *bytes;

	assert(slu_client_command_begin(d, units, 1) == 0);
	bytes = slu_test_object_bytes(&t->object);
	if (pattern >= 0) {
		slu_client_unit_dirty(t->unit);
		memset(bytes, pattern, t->unit->bytes);
		t->pattern = (unsigned char)pattern;
	}
	for (uint64_t i = 0; i < t->unit->bytes; i++)
		assert(bytes[i] == t->pattern);
	slu_client_command_end(d, units, 1);
}

static void tortured_launch(void)
{
	struct slu_client_device *d;
	struct thing things[5];
	struct slu_client_counts before;

	setenv("SLUICE_TORTURE", "1", 1);
	d = add(SLU_MODE_LAUNCH, KIB_UNIT);
	for (unsigned i = 0; i < 5; i++)
		thing_new(d, &things[i], KIB_UNIT);
	for (unsigned round = 0; round < 20; round++)
		for (unsigned i = 0; i < 5; i++)
			command(d, &things[i], (int)(round * 5 + i) & 0xff);
	before = counts();
	for (unsigned round = 0; round < 5; round++)
		for (unsigned i = 0; i < 5; i++)
			command(d, &things[i], -1);
	/* Read only: all units went out clean, except the last one written. */
	assert(counts().n_moves_in - before.n_moves_in >= 25);
	assert(counts().moved_out_bytes - before.moved_out_bytes <= KIB_UNIT);
	for (unsigned i = 0; i < 5; i++)
		slu_client_unit_free(things[i].unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void contents_survive_torture_in_mode_launch(void **state)
{
	run_apart(tortured_launch);
}

static void tortured_access(void)
{
	struct slu_client_device *d;
	unsigned char bytes[KIB_UNIT];
	struct thing t;

	setenv("SLUICE_TORTURE", "1", 1);
	d = add(SLU_MODE_LAUNCH, 0);
	thing_new(d, &t, KIB_UNIT);
	for (unsigned round = 0; round < 50; round++) {
		int r;

		memset(bytes, (int)round, sizeof(bytes));
		r = slu_client_unit_access(t.unit, SLU_DIRECTION_IN, 0, bytes, sizeof(bytes));
		if (r == 0)
			t.pattern = (unsigned char)round;
		else
			assert(r == SLU_CLIENT_E_ON_DEVICE);
		command(d, &t, round % 3 ? -1 : (int)round + 100);
		r = slu_client_unit_access(t.unit, SLU_DIRECTION_OUT, 7, bytes, 100);
		if (r == 0)
			for (unsigned i = 0; i < 100; i++)
				assert(bytes[i] == t.pattern);
	}
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void contents_survive_accesses_under_torture(void **state)
{
	run_apart(tortured_access);
}

/* It never fits on the device. */
static void away(void)
{
	struct slu_test_daemon daemon;
	struct slu_client_device *d;
	unsigned char bytes[KIB_UNIT];
	struct thing t;

	slu_test_daemon_init(&daemon);
	daemon.is_calm = true;
	daemon.device_bytes = KIB_UNIT / 2;
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_LAUNCH, 0);
	thing_new(d, &t, KIB_UNIT);
	memset(bytes, 1, sizeof(bytes));
	assert(!slu_client_unit_access(t.unit, SLU_DIRECTION_OUT, 7, bytes, 100));
	assert(bytes[0] == 0 && bytes[99] == 0 && bytes[100] == 1);
	memset(bytes, 2, sizeof(bytes));
	assert(!slu_client_unit_access(t.unit, SLU_DIRECTION_IN, 50, bytes, 20));
	assert(!slu_client_unit_access(t.unit, SLU_DIRECTION_OUT, 0, bytes, sizeof(bytes)));
	assert(bytes[49] == 0 && bytes[50] == 2 && bytes[69] == 2 && bytes[70] == 0);
	assert(slu_client_unit_access(t.unit, SLU_DIRECTION_OUT, KIB_UNIT, bytes, 1) == -EINVAL);
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void the_host_copy_is_reached_off_turn(void **state)
{
	run_apart(away);
}

static void abandoned_units(void)
{
	struct slu_client_device *d;
	struct thing things[5];

	setenv("SLUICE_TORTURE", "1", 1);
	for (unsigned round = 0; round < 3; round++) {
		d = add(SLU_MODE_ALL, 0);
		for (unsigned i = 0; i < 5; i++)
			thing_new(d, &things[i], KIB_UNIT);
		for (unsigned i = 0; i < 5; i++)
			thing_write(d, &things[i], (unsigned char)i);
		/* Moves are under way now, and nothing was freed. */
		slu_client_device_remove(d);
		assert(!device.n_copying);
		for (unsigned i = 0; i < 5; i++)
			free(things[i].object.memory);
	}
}

static void a_device_is_removed_with_its_units_while_they_move(void **state)
{
	run_apart(abandoned_units);
}

static struct slu_client_device *exiting_device;
static struct thing exiting_thing;

/* As a program's own destructors do. */
static void clean_up(void)
{
	thing_check(exiting_device, &exiting_thing);
	slu_client_unit_free(exiting_thing.unit);
}

static void exiting(void)
{
	setenv("SLUICE_TORTURE", "1", 1);
	exiting_device = add(SLU_MODE_ALL, 0);
	atexit(clean_up);
	thing_new(exiting_device, &exiting_thing, 100 * KIB_UNIT);
	thing_write(exiting_device, &exiting_thing, 3);
	exit(0); /* with moves under way */
}

static void a_program_that_exits_while_we_work_ends_cleanly(void **state)
{
	for (unsigned i = 0; i < 5; i++)
		run_apart(exiting);
}

/* -- spoilt and failing ----------------------------------------------------------------------- */

static void failing(void)
{
	struct slu_client_device *d;
	struct thing things[3];

	setenv("SLUICE_TORTURE", "1", 1);
	d = add(SLU_MODE_ALL, 0);
	for (unsigned i = 0; i < 3; i++)
		thing_new(d, &things[i], KIB_UNIT);
	for (unsigned n = 0; n < 60; n++) {
		unsigned i = n % 3;

		slu_lock_take(&device.lock);
		device.fail_at = device.n_ops + n % 17 + 1;
		slu_lock_give(&device.lock);
		thing_write(d, &things[i], (unsigned char)n);
		for (unsigned k = 0; k < 3 && n > 2; k++)
			thing_check(d, &things[k]);
	}
	assert(device.n_failed > 20);
	slu_lock_take(&device.lock);
	device.fail_at = 0;
	slu_lock_give(&device.lock);
	for (unsigned i = 0; i < 3; i++)
		slu_client_unit_free(things[i].unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void a_failed_move_is_tried_again(void **state)
{
	run_apart(failing);
}

static void spoilt(void)
{
	struct slu_client *c = &slu_client_global;
	struct slu_client_device *d;
	struct thing t;

	setenv("SLUICE_TORTURE", "1", 1);
	d = add(SLU_MODE_LAUNCH, 0);
	thing_new(d, &t, KIB_UNIT);
	command(d, &t, 1);
	slu_lock_take(&c->lock);
	while (t.unit->place != SLU_PLACE_RAM || t.unit->moving != SLU_MOVING_NO)
		slu_client_wait(c, SLU_PEER_NEVER);
	((unsigned char *)t.unit->host)[5] ^= 1;
	slu_lock_give(&c->lock);
	assert(slu_client_command_begin(d, &t.unit, 1) == -EIO);
	assert(slu_client_command_begin(d, &t.unit, 1) == -EIO);
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void spoilt_contents_never_reach_the_program(void **state)
{
	run_apart(spoilt);
}

static void dead(void)
{
	struct slu_client_device *d;
	struct thing t;

	setenv("SLUICE_TORTURE", "1", 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &t, KIB_UNIT);
	thing_write(d, &t, 1);
	slu_lock_take(&device.lock);
	device.drain_answer = SLU_BACKEND_E_LOST;
	device.fail_with = SLU_BACKEND_E_LOST;
	device.fail_at = device.n_ops + 1;
	slu_lock_give(&device.lock);
	/* Waiting threads pass, so that the driver itself reports the error. */
	for (unsigned i = 0; i < 10; i++) {
		assert(slu_client_enter(d, slu_client_device_index(d)) == 0);
		slu_client_leave();
	}
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

static void a_dead_context_lets_all_threads_pass(void **state)
{
	run_apart(dead);
}

/* -- blocked ---------------------------------------------------------------------------------- */

static void set_drain(int answer)
{
	slu_lock_take(&device.lock);
	device.drain_answer = answer;
	slu_lock_give(&device.lock);
}

/* This many turns from now on. */
static void wait_for_turns(struct slu_test_daemon *daemon, uint64_t n)
{
	uint64_t n_now;

	pthread_mutex_lock(&daemon->lock);
	n_now = daemon->n_turns;
	pthread_mutex_unlock(&daemon->lock);
	slu_test_daemon_wait_turns(daemon, n_now + n);
}

static void blocked_all(void)
{
	struct slu_client_device *d;
	struct slu_test_daemon daemon;
	uint64_t n_out;
	struct thing t;

	slu_test_daemon_init(&daemon);
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &t, 100 * KIB_UNIT); /* above every lowered limit: it has to leave each time */
	thing_write(d, &t, 1);
	wait_for_turns(&daemon, 3);
	set_drain(SLU_BACKEND_E_BLOCKED);
	wait_for_turns(&daemon, 2);
	n_out = counts().n_moves_out;
	assert(n_out > 0);
	/* Its other commands might touch everything: nothing leaves, and this is reported. */
	wait_for_turns(&daemon, 5);
	assert(counts().n_moves_out == n_out);
	thing_write(d, &t, 2);
	set_drain(0);
	wait_for_turns(&daemon, 5);
	assert(counts().n_moves_out > n_out);
	thing_check(d, &t);
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void nothing_leaves_while_commands_wait_for_the_host(void **state)
{
	run_apart(blocked_all);
}

static void blocked_launch(void)
{
	struct slu_client *c = &slu_client_global;
	struct slu_client_device *d;
	struct slu_test_daemon daemon;
	struct thing a;
	struct thing b;

	slu_test_daemon_init(&daemon);
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_LAUNCH, 0);
	thing_new(d, &a, 100 * KIB_UNIT);
	thing_new(d, &b, 100 * KIB_UNIT);
	for (unsigned round = 0; round < 3; round++) {
		struct slu_unit *const units[] = { a.unit };

		command(d, &b, (int)round);
		/* A command that waits for the host, and will write when it goes on. */
		assert(slu_client_command_begin(d, units, 1) == 0);
		slu_client_unit_dirty(a.unit);
		atomic_store(&a.object.is_blocked, true);
		set_drain(SLU_BACKEND_E_BLOCKED);
		slu_client_command_end(d, units, 1);
		wait_for_turns(&daemon, 4);
		/* The units it names stay, the other one may leave and come back. */
		slu_lock_take(&c->lock);
		assert(a.unit->place == SLU_PLACE_DEVICE);
		slu_lock_give(&c->lock);
		command(d, &b, -1);
		memset(slu_test_object_bytes(&a.object), 7, a.unit->bytes);
		a.pattern = 7;
		set_drain(0);
		atomic_store(&a.object.is_blocked, false);
		slu_lock_take(&c->lock);
		while (a.unit->place != SLU_PLACE_RAM)
			slu_client_wait(c, SLU_PEER_NEVER);
		slu_lock_give(&c->lock);
		command(d, &a, -1);
	}
	slu_client_unit_free(a.unit);
	slu_client_unit_free(b.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void units_of_blocked_commands_stay_and_others_leave(void **state)
{
	run_apart(blocked_launch);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

/* -- fork ------------------------------------------------------------------------------------- */

static void forking(void)
{
	struct slu_client_device *d;
	struct thing t;
	int status = -1;
	pid_t pid;

	setenv("SLUICE_TORTURE", "1", 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &t, KIB_UNIT);
	for (unsigned i = 0; i < 5; i++) {
		thing_write(d, &t, (unsigned char)i);
		pid = fork();
		if (!pid) {
			struct slu_client_device *mine;
			struct thing u;

			/* The parent's device lets everything pass, whatever state it was in. */
			assert(slu_client_enter(d, slu_client_device_index(d)) == 0);
			slu_client_leave();
			/* A device of the child's own starts anew. */
			mine = add(SLU_MODE_ALL, 0);
			thing_new(mine, &u, KIB_UNIT);
			for (unsigned k = 0; k < 5; k++) {
				thing_write(mine, &u, (unsigned char)k);
				thing_check(mine, &u);
			}
			slu_client_unit_free(u.unit);
			slu_client_device_remove(mine);
			slu_test_device_deinit(&device);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		assert(status == 0);
		thing_check(d, &t);
	}
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_device_deinit(&device);
}

#endif

static void a_forked_child_starts_anew_and_its_parent_goes_on(void **state)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	/*
	 * TSan ends children of a threaded program that start threads themselves; the child of an
	 * ASan program may find the allocator's locks taken for ever.
	 */
	printf("# not under sanitizers\n");
#else
	run_apart(forking);
#endif
}

/* -- with a daemon ---------------------------------------------------------------------------- */

static void without_an_answer(void)
{
	struct slu_client_device *d;
	struct slu_test_daemon daemon;
	struct thing t;

	slu_test_daemon_init(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &t, KIB_UNIT); /* waits a moment, then goes on without a daemon */
	thing_write(d, &t, 9);
	assert(counts().n_messages_sent == 0);
	/* It joins when the daemon appears, and keeps its memory. */
	slu_test_daemon_start(&daemon);
	slu_test_daemon_wait_turns(&daemon, 3);
	thing_check(d, &t);
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void a_program_goes_on_without_a_daemon_and_joins_when_it_comes(void **state)
{
	run_apart(without_an_answer);
}

static void refused(void)
{
	struct slu_client_device *d;
	struct slu_test_daemon daemon;
	struct thing t;

	slu_test_daemon_init(&daemon);
	daemon.status = EBUSY;
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &t, KIB_UNIT);
	thing_write(d, &t, 9);
	thing_check(d, &t);
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void a_rejected_program_is_an_outsider(void **state)
{
	run_apart(refused);
}

static void restarted(void)
{
	struct slu_client_device *d;
	struct slu_test_daemon daemon;
	struct thing t;

	slu_test_daemon_init(&daemon);
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &t, KIB_UNIT);
	for (unsigned i = 0; i < 5; i++) {
		thing_write(d, &t, (unsigned char)i);
		slu_test_daemon_stop(&daemon);
		slu_test_daemon_start(&daemon);
		slu_test_daemon_wait_turns(&daemon, 2);
		thing_check(d, &t);
	}
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void contents_survive_restarts_of_the_daemon(void **state)
{
	run_apart(restarted);
}

/* Messages except answers, one to each, and reports. */
static uint64_t n_asked(void)
{
	struct slu_client_counts now = counts();

	return now.n_messages_sent - now.n_reports_sent - now.n_messages_received;
}

static void silent(void)
{
	struct slu_client_device *d;
	struct slu_test_daemon daemon;
	struct thing things[100];
	uint64_t n_sent;

	slu_test_daemon_init(&daemon);
	daemon.is_calm = true;
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &things[0], KIB_UNIT);
	thing_write(d, &things[0], 1);
	n_sent = n_asked();
	for (unsigned i = 1; i < 100; i++) {
		thing_new(d, &things[i], KIB_UNIT);
		assert(things[i].object.memory);
	}
	assert(n_asked() == n_sent);
	for (unsigned i = 0; i < 100; i++)
		slu_client_unit_free(things[i].unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void allocation_sends_nothing_while_credit_lasts(void **state)
{
	run_apart(silent);
}

static void denied(void)
{
	struct slu_client_device *d;
	struct slu_test_daemon daemon;
	struct slu_test_object object = { 0 };
	struct slu_unit *unit;
	struct thing t;

	slu_test_daemon_init(&daemon);
	daemon.is_calm = true;
	daemon.deny_above_bytes = 10 * KIB_UNIT;
	slu_test_daemon_start(&daemon);
	setenv("SLUICE_SOCKET", daemon.path, 1);
	d = add(SLU_MODE_ALL, 0);
	thing_new(d, &t, KIB_UNIT);
	thing_write(d, &t, 1);
	assert(slu_client_unit_new(d, 20 * KIB_UNIT, SLU_FROZEN_NO, &object, &unit) ==
	       SLU_CLIENT_E_NO_MEMORY);
	thing_check(d, &t);
	slu_client_unit_free(t.unit);
	slu_client_device_remove(d);
	slu_test_daemon_deinit(&daemon);
	slu_test_device_deinit(&device);
}

static void a_unit_that_never_fits_is_out_of_memory(void **state)
{
	run_apart(denied);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_daemon_everything_passes_and_nothing_moves),
		cmocka_unit_test(freezing_a_device_waits_for_no_unit),
		cmocka_unit_test(a_frozen_unit_is_charged_and_never_moves),
		cmocka_unit_test(contents_survive_torture_in_mode_all),
		cmocka_unit_test(units_of_a_turn_are_compared_if_the_front_end_can),
		cmocka_unit_test(contents_survive_torture_in_mode_launch),
		cmocka_unit_test(contents_survive_accesses_under_torture),
		cmocka_unit_test(the_host_copy_is_reached_off_turn),
		cmocka_unit_test(a_device_is_removed_with_its_units_while_they_move),
		cmocka_unit_test(a_program_that_exits_while_we_work_ends_cleanly),
		cmocka_unit_test(a_failed_move_is_tried_again),
		cmocka_unit_test(spoilt_contents_never_reach_the_program),
		cmocka_unit_test(a_dead_context_lets_all_threads_pass),
		cmocka_unit_test(nothing_leaves_while_commands_wait_for_the_host),
		cmocka_unit_test(units_of_blocked_commands_stay_and_others_leave),
		cmocka_unit_test(a_forked_child_starts_anew_and_its_parent_goes_on),
		cmocka_unit_test(a_program_goes_on_without_a_daemon_and_joins_when_it_comes),
		cmocka_unit_test(a_rejected_program_is_an_outsider),
		cmocka_unit_test(contents_survive_restarts_of_the_daemon),
		cmocka_unit_test(allocation_sends_nothing_while_credit_lasts),
		cmocka_unit_test(a_unit_that_never_fits_is_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
