/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Several threads allocate, free, launch and access at random while a scripted daemon gives and
 * takes turns and bytes and, in some runs, operations of the device fail. Commands run later, on an
 * engine of their own, as on a device: a move that comes too early takes memory from under them.
 * Contents are checked all the time. TSan runs this test too.
 *
 * SLUICE_OPS sets the operations of a thread, SLUICE_SEED repeats a run.
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
#include "client/test-device.h"
#include "client/test-faulty-disk.h"

#define N_THREADS  4
#define N_THINGS   6 /* at most, per thread */
#define UNIT_MAX   (24 * SLU_KIB)
#define N_COMMANDS 64 /* at most, in flight */

struct scenario {
	enum slu_mode mode;
	uint64_t device_bytes; /* limit in a turn; 0: plenty */
	uint64_t pinned_bytes;
	bool pins_copies;
	bool has_faults;
	bool has_restarts;
	unsigned n_copy_threads; /* per direction, without checksums; 0: as measured */
	bool has_disk;		 /* and little host memory */
	unsigned disk_fails_at;	 /* the call of the disk that fails, reads excepted; 0: none */
};

static const struct scenario *scenario; /* constant in a child */
static struct slu_test_device device;
static struct slu_client_device *client_device;
static struct slu_test_daemon scripted;
static uint64_t first_seed;
static unsigned n_ops;

/* -- the engine -----------------------------------------------------------------------------------
 */

/* A command: writes all of an object with one byte, or checks that all of it is that byte. */
struct command {
	struct slu_test_object *object;
	uint64_t bytes;
	unsigned char pattern;
	bool is_write;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct command queue[N_COMMANDS];
	unsigned first, n;
	bool is_over;
} engine = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void execute(const struct command *c)
{
	unsigned char *bytes = slu_test_object_bytes(c->object);

	if (c->is_write)
		memset(bytes, c->pattern, c->bytes);
	else
		for (uint64_t i = 0; i < c->bytes; i++)
			assert(bytes[i] == c->pattern);
}

static void *run_engine(void *data)
{
	pthread_mutex_lock(&engine.lock);
	while (!engine.is_over || engine.n) {
		struct command c;

		if (!engine.n) {
			pthread_cond_wait(&engine.changed, &engine.lock);
			continue;
		}
		c = engine.queue[engine.first];
		pthread_mutex_unlock(&engine.lock);
		execute(&c);
		atomic_fetch_sub(&c.object->n_running, 1);
		atomic_fetch_sub(&device.n_running, 1);
		pthread_mutex_lock(&engine.lock);
		engine.first = (engine.first + 1) % N_COMMANDS;
		engine.n--;
		pthread_cond_broadcast(&engine.changed);
	}
	pthread_mutex_unlock(&engine.lock);
	return NULL;
}

static void submit(struct command c)
{
	pthread_mutex_lock(&engine.lock);
	while (engine.n == N_COMMANDS)
		pthread_cond_wait(&engine.changed, &engine.lock);
	atomic_fetch_add(&device.n_running, 1);
	atomic_fetch_add(&c.object->n_running, 1);
	engine.queue[(engine.first + engine.n++) % N_COMMANDS] = c;
	pthread_cond_broadcast(&engine.changed);
	pthread_mutex_unlock(&engine.lock);
}

/* The program waits for its own commands before it frees or reads. */
static void finish(struct slu_test_object *object)
{
	pthread_mutex_lock(&engine.lock);
	while (atomic_load(&object->n_running))
		pthread_cond_wait(&engine.changed, &engine.lock);
	pthread_mutex_unlock(&engine.lock);
}

/* -- the program ------------------------------------------------------------------------------ */

struct thing {
	struct slu_unit *unit; /* NULL: none */
	struct slu_test_object object;
	unsigned char pattern;
	bool is_written;
};

struct program {
	pthread_t thread;
	uint64_t random;
	struct thing things[N_THINGS];
	unsigned n_launches, n_direct, n_failed;
};

static void launch(struct program *p, struct thing *t, bool is_write)
{
	struct command c = { &t->object, t->unit->bytes, t->pattern, is_write };

	if (is_write) {
		c.pattern = t->pattern = (unsigned char)slu_test_random(&p->random);
		t->is_written = true;
	} else if (!t->is_written) {
		return;
	}
	p->n_launches++;
	if (scenario->mode == SLU_MODE_LAUNCH) {
		assert(slu_client_command_begin(client_device, &t->unit, 1) == 0);
		if (is_write)
			slu_client_unit_dirty(t->unit);
		submit(c);
		slu_client_command_end(client_device, &t->unit, 1);
	} else {
		assert(slu_client_enter(client_device, slu_client_device_index(client_device)) ==
		       0);
		submit(c);
		slu_client_leave();
	}
}

static void allocate(struct program *p, struct thing *t)
{
	uint64_t bytes = 1 + slu_test_random(&p->random) % UNIT_MAX;
	int r;

	memset(t, 0, sizeof(*t));
	r = slu_client_unit_new(client_device, bytes, SLU_FROZEN_NO, &t->object, &t->unit);
	if (r) {
		assert(scenario->has_faults);
		t->unit = NULL;
		p->n_failed++;
	}
}

static void release(struct thing *t)
{
	finish(&t->object);
	slu_client_unit_free(t->unit);
	t->unit = NULL;
}

static void access_host(struct program *p, struct thing *t, bool is_write)
{
	static __thread unsigned char bytes[UNIT_MAX];
	uint64_t size = t->unit->bytes;
	unsigned char pattern = (unsigned char)slu_test_random(&p->random);
	int r;

	finish(&t->object);
	if (is_write)
		memset(bytes, pattern, size);
	r = slu_client_unit_access(t->unit, is_write ? SLU_DIRECTION_IN : SLU_DIRECTION_OUT, 0,
				   bytes, size);
	if (r == SLU_CLIENT_E_ON_DEVICE)
		return;
	assert(r == 0);
	p->n_direct++;
	if (is_write) {
		t->pattern = pattern;
		t->is_written = true;
	}
	for (uint64_t i = 0; i < size && t->is_written; i++)
		assert(bytes[i] == t->pattern);
}

static void sabotage(struct program *p)
{
	slu_lock_take(&device.lock);
	device.fail_at = device.n_ops + 1 + (unsigned)(slu_test_random(&p->random) % 20);
	device.fail_with = slu_test_random(&p->random) % 2 ? -EIO : SLU_BACKEND_E_REFUSED;
	slu_lock_give(&device.lock);
}

static void *run_program(void *data)
{
	struct program *p = data;

	for (unsigned i = 0; i < n_ops; i++) {
		struct thing *t = &p->things[slu_test_random(&p->random) % N_THINGS];
		unsigned what = (unsigned)(slu_test_random(&p->random) % 100);

		if (scenario->has_faults && what % 10 == 3)
			sabotage(p);
		if (!t->unit)
			allocate(p, t);
		else if (what < 10)
			release(t);
		else if (what < 20)
			access_host(p, t, what & 1);
		else
			launch(p, t, what & 1);
	}
	for (unsigned i = 0; i < N_THINGS; i++) {
		struct thing *t = &p->things[i];

		if (!t->unit)
			continue;
		launch(p, t, false);
		release(t);
	}
	return NULL;
}

/* -- the runs --------------------------------------------------------------------------------- */

static void restart_daemon(void)
{
	slu_test_daemon_stop(&scripted);
	slu_test_daemon_start(&scripted);
	slu_test_daemon_wait_turns(&scripted, 3);
}

static void stress(void)
{
	static struct program programs[N_THREADS];
	const struct slu_hello_device identity = { .uuid = { 9 }, .total_bytes = SLU_GIB };
	struct slu_client_counts counts;
	unsigned n_launches = 0;
	unsigned n_direct = 0;
	pthread_t engine_thread;

	slu_test_daemon_init(&scripted);
	scripted.seed = first_seed;
	scripted.device_bytes = scenario->device_bytes;
	scripted.pinned_bytes = scenario->pinned_bytes;
	scripted.has_disk = scenario->has_disk;
	scripted.pins_copies = scenario->pins_copies;
	scripted.omits_sums = scenario->n_copy_threads;
	slu_client_global.gauge_has_begun = scenario->n_copy_threads;
	slu_client_global.n_copy_threads = scenario->n_copy_threads;
	slu_test_disk.fail_at = scenario->disk_fails_at;
	slu_test_disk.spares_reads = true;
	slu_test_daemon_start(&scripted);
	setenv("SLUICE_SOCKET", scripted.path, 1);
	slu_test_device_init(&device, 0);
	assert(slu_client_device_add(&identity, scenario->mode,
				     scenario->mode == SLU_MODE_LAUNCH ? &slu_test_backend_launch
								       : &slu_test_backend,
				     &device, &client_device) == 0);
	slu_client_global.disk.calls = &slu_test_disk_calls;
	pthread_create(&engine_thread, NULL, run_engine, NULL);
	for (unsigned i = 0; i < N_THREADS; i++) {
		programs[i].random = first_seed * 31 + i + 1;
		pthread_create(&programs[i].thread, NULL, run_program, &programs[i]);
	}
	for (unsigned i = 0; i < 10 && scenario->has_restarts; i++)
		restart_daemon();
	for (unsigned i = 0; i < N_THREADS; i++) {
		pthread_join(programs[i].thread, NULL);
		n_launches += programs[i].n_launches;
		n_direct += programs[i].n_direct;
	}
	pthread_mutex_lock(&engine.lock);
	engine.is_over = true;
	pthread_cond_broadcast(&engine.changed);
	pthread_mutex_unlock(&engine.lock);
	pthread_join(engine_thread, NULL);
	slu_client_counts(&counts);
	if (scenario->n_copy_threads)
		assert(client_device->movers[SLU_DIRECTION_IN].n_hands ==
		       scenario->n_copy_threads - 1);
	assert(slu_client_device_owned(client_device) == 0);
	assert(slu_disk_bytes(&slu_client_global.disk) == 0);
	assert(!scenario->has_disk || slu_test_disk.n_calls > 0);
	assert(slu_test_disk.n_failed == (scenario->disk_fails_at != 0));
	assert(!scenario->pins_copies || device.n_pinned_copies > 0);
	slu_client_device_remove(client_device);
	slu_test_daemon_deinit(&scripted);
	slu_test_device_deinit(&device);
	printf("# %u launches, %u direct accesses, %llu turns, %llu moves in, %llu out "
	       "(%llu clean), %u faults\n",
	       n_launches, n_direct, (unsigned long long)scripted.n_turns,
	       (unsigned long long)counts.n_moves_in, (unsigned long long)counts.n_moves_out,
	       (unsigned long long)counts.n_clean_out, device.n_failed);
	fflush(stdout);
	assert(counts.n_moves_in > 0 && counts.n_moves_out > 0);
}

static void run(const struct scenario *s)
{
	const char *ops = getenv("SLUICE_OPS");
	int status = -1;
	pid_t pid;

	if (s->has_disk && !slu_test_disk_is_present())
		skip();
	first_seed = slu_test_seed(4711);
	n_ops = ops	      ? (unsigned)strtoul(ops, NULL, 0)
		: s->has_disk ? 200
			      : 1000; /* disks are slow */
	fflush(NULL);
	scenario = s;
	pid = fork();
	if (!pid) {
		stress();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void contents_are_right_in_mode_all(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL });
}

static void contents_are_right_through_pinned_chunks(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL, .pinned_bytes = 64 * SLU_KIB });
}

static void contents_are_right_in_mode_mapped(void **state)
{
	run(&(struct scenario){
		.mode = SLU_MODE_MAPPED, .device_bytes = 160 * SLU_KIB, .pinned_bytes = SLU_GIB });
}

static void contents_are_right_in_mode_launch(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_LAUNCH, .device_bytes = 4 * UNIT_MAX });
}

static void contents_are_right_with_several_copy_threads(void **state)
{
	run(&(struct scenario){
		.mode = SLU_MODE_ALL, .pinned_bytes = 64 * SLU_KIB, .n_copy_threads = 3 });
}

static void contents_are_right_with_several_copy_threads_when_operations_fail(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL,
				.pinned_bytes = 64 * SLU_KIB,
				.n_copy_threads = 3,
				.has_faults = true });
}

static void contents_are_right_with_pinned_copies(void **state)
{
	run(&(struct scenario){
		.mode = SLU_MODE_ALL, .pinned_bytes = 512 * SLU_KIB, .pins_copies = true });
}

static void contents_are_right_with_pinned_copies_in_mode_mapped(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_MAPPED,
				.device_bytes = 160 * SLU_KIB,
				.pinned_bytes = SLU_MIB,
				.pins_copies = true });
}

static void contents_are_right_with_pinned_copies_when_operations_fail(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL,
				.pinned_bytes = 512 * SLU_KIB,
				.pins_copies = true,
				.has_faults = true });
}

static void contents_are_right_with_pinned_copies_and_backing_on_disk(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL,
				.pinned_bytes = 512 * SLU_KIB,
				.pins_copies = true,
				.has_disk = true });
}

static void contents_are_right_with_pinned_copies_when_the_daemon_comes_and_goes(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL,
				.pinned_bytes = 512 * SLU_KIB,
				.pins_copies = true,
				.has_restarts = true });
}

static void contents_are_right_when_operations_fail(void **state)
{
	run(&(struct scenario){
		.mode = SLU_MODE_ALL, .pinned_bytes = 64 * SLU_KIB, .has_faults = true });
}

static void contents_are_right_when_operations_fail_in_mode_launch(void **state)
{
	run(&(struct scenario){
		.mode = SLU_MODE_LAUNCH, .device_bytes = 4 * UNIT_MAX, .has_faults = true });
}

static void contents_are_right_when_the_daemon_comes_and_goes(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL, .has_restarts = true });
}

static void contents_are_right_with_backing_on_disk(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL, .has_disk = true });
}

static void contents_are_right_with_backing_on_disk_through_pinned_chunks(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_MAPPED,
				.device_bytes = 160 * SLU_KIB,
				.pinned_bytes = SLU_GIB,
				.has_disk = true });
}

static void contents_are_right_with_backing_on_disk_in_mode_launch(void **state)
{
	run(&(struct scenario){
		.mode = SLU_MODE_LAUNCH, .device_bytes = 4 * UNIT_MAX, .has_disk = true });
}

static void contents_are_right_with_backing_on_disk_when_operations_fail(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL, .has_disk = true, .has_faults = true });
}

static void contents_are_right_with_backing_on_disk_when_the_daemon_comes_and_goes(void **state)
{
	run(&(struct scenario){ .mode = SLU_MODE_ALL, .has_disk = true, .has_restarts = true });
}

static void contents_are_right_when_the_disk_fails(void **state)
{
	for (unsigned n = 50; n < 54; n++)
		run(&(struct scenario){
			.mode = SLU_MODE_ALL, .has_disk = true, .disk_fails_at = n });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contents_are_right_in_mode_all),
		cmocka_unit_test(contents_are_right_through_pinned_chunks),
		cmocka_unit_test(contents_are_right_in_mode_mapped),
		cmocka_unit_test(contents_are_right_in_mode_launch),
		cmocka_unit_test(contents_are_right_with_several_copy_threads),
		cmocka_unit_test(contents_are_right_with_several_copy_threads_when_operations_fail),
		cmocka_unit_test(contents_are_right_with_pinned_copies),
		cmocka_unit_test(contents_are_right_with_pinned_copies_in_mode_mapped),
		cmocka_unit_test(contents_are_right_with_pinned_copies_when_operations_fail),
		cmocka_unit_test(contents_are_right_with_pinned_copies_and_backing_on_disk),
		cmocka_unit_test(
			contents_are_right_with_pinned_copies_when_the_daemon_comes_and_goes),
		cmocka_unit_test(contents_are_right_when_operations_fail),
		cmocka_unit_test(contents_are_right_when_operations_fail_in_mode_launch),
		cmocka_unit_test(contents_are_right_when_the_daemon_comes_and_goes),
		cmocka_unit_test(contents_are_right_with_backing_on_disk),
		cmocka_unit_test(contents_are_right_with_backing_on_disk_through_pinned_chunks),
		cmocka_unit_test(contents_are_right_with_backing_on_disk_in_mode_launch),
		cmocka_unit_test(contents_are_right_with_backing_on_disk_when_operations_fail),
		cmocka_unit_test(
			contents_are_right_with_backing_on_disk_when_the_daemon_comes_and_goes),
		cmocka_unit_test(contents_are_right_when_the_disk_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
