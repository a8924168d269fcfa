/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "daemon/process.h"
#include "daemon/roster.h"

struct fixture {
	char folder[64];
	char path[96];
};

static int setup(void **state)
{
	static struct fixture fixture;

	strcpy(fixture.folder, "/tmp/sluice-roster-XXXXXX");
	assert_non_null(mkdtemp(fixture.folder));
	snprintf(fixture.path, sizeof(fixture.path), "%s/roster", fixture.folder);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	unlink(fixture->path);
	return rmdir(fixture->folder);
}

static struct slu_roster *open_roster(struct fixture *fixture, bool *ret_was_bad)
{
	struct slu_roster *roster = NULL;
	pid_t holder = -1;

	assert_int_equal(slu_roster_open(fixture->path, 1000, &roster, ret_was_bad, &holder), 0);
	return roster;
}

static struct slu_roster_line line_of(pid_t pid, uint64_t bytes)
{
	struct slu_roster_line line = {
		.pid = pid,
		.start = 5,
		.group = 77,
		.name = "chat",
		.n_devices = 1,
		.backing_bytes = bytes * 3,
		.devices = { { .name = "GPU", .total_bytes = 1 << 20, .charge_bytes = bytes } },
	};

	return line;
}

static char *read_whole(const char *path, size_t *ret_size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_non_null(bytes);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

static void write_whole(const char *path, const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static void test_lines_and_generation_outlive_the_daemon(void **state)
{
	struct slu_roster_line line = line_of(123, 4096), got;
	struct slu_roster *roster;
	int slot = -1, other = -1;
	bool bad;

	roster = open_roster(*state, &bad);
	assert_false(bad);
	assert_int_equal(slu_roster_generation(roster), 1000);
	assert_int_equal(slu_roster_put(roster, &slot, &line), 0);
	line = line_of(124, 1);
	assert_int_equal(slu_roster_put(roster, &other, &line), 0);
	assert_int_not_equal(slot, other);
	line = line_of(123, 8192);
	assert_int_equal(slu_roster_put(roster, &slot, &line), 0);
	slu_roster_close(roster);

	roster = open_roster(*state, &bad);
	assert_false(bad);
	assert_int_equal(slu_roster_generation(roster), 1001);
	assert_int_equal(slu_roster_n_lines(roster), 2);
	assert_true(slu_roster_get(roster, slot, &got));
	assert_memory_equal(&got, &line, sizeof(line));
	slu_roster_drop(roster, slot);
	slu_roster_drop(roster, slot);
	assert_false(slu_roster_get(roster, slot, &got));
	assert_int_equal(slu_roster_n_lines(roster), 1);
	slu_roster_drop(roster, other);
	slu_roster_close(roster);
}

static void test_an_empty_roster_leaves_no_file(void **state)
{
	struct fixture *fixture = *state;
	bool bad;

	slu_roster_close(open_roster(fixture, &bad));
	assert_int_equal(access(fixture->path, F_OK), -1);
}

static void test_a_killed_writer_leaves_its_lines(void **state)
{
	struct fixture *fixture = *state;
	struct slu_roster *roster;
	struct slu_roster_line got;
	int status;
	bool bad;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		struct slu_roster_line line = line_of(55, 99);
		int slot = -1;

		roster = open_roster(fixture, &bad);
		slu_roster_put(roster, &slot, &line);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	roster = open_roster(fixture, &bad);
	assert_false(bad);
	assert_true(slu_roster_get(roster, 0, &got));
	assert_int_equal(got.devices[0].charge_bytes, 99);
	slu_roster_drop(roster, 0);
	slu_roster_close(roster);
}

static void test_a_torn_put_leaves_the_old_line_or_the_new_one(void **state)
{
	uint64_t seed = slu_test_seed(316);
	struct fixture *fixture = *state;
	unsigned n_old = 0, n_new = 0;

	for (int round = 0; round < 60; round++) {
		struct slu_roster_line old = line_of(9, 1000), new = line_of(9, 2000), got;
		struct slu_roster *roster;
		char *before, *after;
		size_t size;
		int slot = -1;
		bool bad;

		roster = open_roster(fixture, &bad);
		for (unsigned i = 0; i <= slu_test_random(&seed) % 3; i++)
			assert_int_equal(slu_roster_put(roster, &slot, &old), 0);
		before = read_whole(fixture->path, &size);
		assert_int_equal(slu_roster_put(roster, &slot, &new), 0);
		after = read_whole(fixture->path, &size);
		slu_roster_close(roster);

		/*
		 * any part of the words that the put stores may have reached the file, in any order
		 */
		for (size_t w = 0; w < size; w += 8)
			if (memcmp(before + w, after + w, 8) && slu_test_random(&seed) % 8 < 7)
				memcpy(before + w, after + w, 8);
		write_whole(fixture->path, round % 2 ? before : after, size);
		free(before);
		free(after);

		roster = open_roster(fixture, &bad);
		assert_false(bad);
		assert_true(slu_roster_get(roster, slot, &got));
		if (got.devices[0].charge_bytes == 1000) {
			assert_memory_equal(&got, &old, sizeof(old));
			n_old++;
		} else {
			assert_memory_equal(&got, &new, sizeof(new));
			n_new++;
		}
		slu_roster_drop(roster, slot);
		slu_roster_close(roster);
	}
	assert_true(n_old > 0 && n_new > 0);
}

static void test_a_damaged_file_is_reported_and_replaced(void **state)
{
	struct fixture *fixture = *state;
	static const char junk[5000] = "this is no roster";
	struct slu_roster *roster;
	bool bad;

	write_whole(fixture->path, junk, sizeof(junk));
	roster = open_roster(fixture, &bad);
	assert_true(bad);
	assert_int_equal(slu_roster_n_lines(roster), 0);
	assert_int_equal(slu_roster_generation(roster), 1000);
	slu_roster_close(roster);
}

static void test_any_flipped_byte_costs_at_most_its_own_line(void **state)
{
	uint64_t seed = slu_test_seed(4711);
	struct fixture *fixture = *state;
	struct slu_roster *roster;
	char *whole;
	size_t size;
	bool bad;

	roster = open_roster(fixture, &bad);
	for (int i = 0; i < 8; i++) {
		struct slu_roster_line line = line_of(100 + i, (uint64_t)i);
		int slot = -1;

		assert_int_equal(slu_roster_put(roster, &slot, &line), 0);
		assert_int_equal(slot, i);
	}
	slu_roster_close(roster);
	whole = read_whole(fixture->path, &size);
	for (int round = 0; round < 100; round++) {
		size_t at = 64 + slu_test_random(&seed) % 16384;
		unsigned n_right = 0;

		whole[at] ^= 0x10;
		write_whole(fixture->path, whole, size);
		whole[at] ^= 0x10;
		roster = open_roster(fixture, &bad);
		for (int i = 0; i < SLU_ROSTER_LINES_MAX; i++) {
			struct slu_roster_line got;

			if (!slu_roster_get(roster, i, &got))
				continue;
			assert_true(i < 8);
			assert_int_equal(got.pid, 100 + i);
			assert_int_equal(got.devices[0].charge_bytes, i);
			n_right++;
		}
		assert_true(n_right >= 7);
		slu_roster_close(roster);
	}
	free(whole);
}

static void test_a_full_roster_returns_an_error(void **state)
{
	struct slu_roster_line line = line_of(1, 1);
	struct slu_roster *roster;
	int slot;
	bool bad;

	roster = open_roster(*state, &bad);
	for (int i = 0; i < SLU_ROSTER_LINES_MAX; i++) {
		slot = -1;
		assert_int_equal(slu_roster_put(roster, &slot, &line), 0);
	}
	slot = -1;
	assert_int_equal(slu_roster_put(roster, &slot, &line), SLU_ROSTER_E_FULL);
	assert_int_equal(slot, -1);
	for (int i = 0; i < SLU_ROSTER_LINES_MAX; i++)
		slu_roster_drop(roster, i);
	slu_roster_close(roster);
}

static void test_two_daemons_cannot_have_one_roster(void **state)
{
	struct fixture *fixture = *state;
	struct slu_roster *roster, *second = NULL;
	pid_t holder = -1;
	bool bad;

	roster = open_roster(fixture, &bad);
	assert_int_equal(slu_roster_open(fixture->path, 1, &second, &bad, &holder),
			 SLU_ROSTER_E_HELD);
	assert_null(second);
	assert_true(holder == getpid() || holder == 0);
	slu_roster_close(roster);
}

static void test_a_pid_is_only_the_same_process_with_the_same_start(void **state)
{
	uint64_t start = 0;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(slu_process_start(getpid(), &start), 0);
	assert_true(slu_process_is(getpid(), start));
	assert_false(slu_process_is(getpid(), start + 1));
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		pause();
	assert_int_equal(slu_process_start(pid, &start), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_false(slu_process_is(pid, start));
	assert_false(slu_process_is(0, 0));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest tests[] = {
		T(test_lines_and_generation_outlive_the_daemon),
		T(test_an_empty_roster_leaves_no_file),
		T(test_a_killed_writer_leaves_its_lines),
		T(test_a_torn_put_leaves_the_old_line_or_the_new_one),
		T(test_a_damaged_file_is_reported_and_replaced),
		T(test_any_flipped_byte_costs_at_most_its_own_line),
		T(test_a_full_roster_returns_an_error),
		T(test_two_daemons_cannot_have_one_roster),
		T(test_a_pid_is_only_the_same_process_with_the_same_start),
	};
#undef T

	return cmocka_run_group_tests_name("roster", tests, NULL, NULL);
}
