/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The disk tier's file: extents do not overlap and are really allocated, written bytes are read
 * again, each system call may fail at each place, and the file has no name.
 */

#include "lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/util.h"
#include "client/test-faulty-disk.h"

#define PAGE SLU_DISK_ALIGN

static void begin(struct slu_disk *disk)
{
	slu_test_disk = (struct slu_test_disk){ 0 };
	slu_disk_init(disk, &slu_test_disk_calls);
	slu_disk_set_folder(disk, SLU_TEST_FOLDER);
}

static uint64_t allocated_bytes(const struct slu_disk *disk)
{
	struct stat s;

	assert_int_equal(fstat(disk->fd, &s), 0);
	return (uint64_t)s.st_blocks * 512;
}

static void written_bytes_are_read_again(void **state)
{
	char out[3 * PAGE], in[3 * PAGE];
	struct slu_disk_extent a = { 0 }, b = { 0 };
	struct slu_disk disk;

	(void)state;
	begin(&disk);
	assert_int_equal(slu_disk_take(&disk, sizeof(out), &a), 0);
	assert_int_equal(slu_disk_take(&disk, 100, &b), 0);
	for (unsigned i = 0; i < sizeof(out); i++)
		out[i] = (char)(i * 7);
	assert_int_equal(slu_disk_write(&disk, &a, 0, out, sizeof(out)), 0);
	assert_int_equal(slu_disk_write(&disk, &b, 1, "other", 6), 0);
	assert_int_equal(slu_disk_sync(&disk, &a), 0);
	assert_int_equal(slu_disk_read(&disk, &a, 0, in, sizeof(in)), 0);
	assert_memory_equal(in, out, sizeof(in));
	assert_int_equal(slu_disk_read(&disk, &b, 1, in, 6), 0);
	assert_string_equal(in, "other");
	assert_true(slu_test_disk.n_short > 0);
	slu_disk_give(&disk, &a);
	slu_disk_give(&disk, &b);
	assert_int_equal(slu_disk_bytes(&disk), 0);
	slu_disk_deinit(&disk);
}

static void an_extent_is_allocated_from_take_to_give(void **state)
{
	struct slu_disk_extent a = { 0 }, b = { 0 };
	struct slu_disk disk;

	(void)state;
	begin(&disk);
	assert_int_equal(slu_disk_take(&disk, 4 * SLU_MIB, &a), 0);
	assert_int_equal(slu_disk_take(&disk, SLU_MIB, &b), 0);
	assert_true(allocated_bytes(&disk) >= 5 * SLU_MIB);
	slu_disk_give(&disk, &a);
	assert_true(allocated_bytes(&disk) < 3 * SLU_MIB);
	assert_int_equal(a.bytes, 0);
	slu_disk_give(&disk, &b);
	slu_disk_deinit(&disk);
}

static void the_file_has_no_name_and_belongs_to_the_user_alone(void **state)
{
	char link[64], target[256] = "";
	struct slu_disk_extent extent = { 0 };
	struct slu_disk disk;
	struct stat s;

	(void)state;
	begin(&disk);
	assert_int_equal(slu_disk_take(&disk, PAGE, &extent), 0);
	assert_int_equal(fstat(disk.fd, &s), 0);
	assert_int_equal(s.st_nlink, 0);
	assert_int_equal(s.st_mode & 0777, 0600);
	assert_int_equal(s.st_uid, geteuid());
	assert_true(fcntl(disk.fd, F_GETFD) & FD_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", disk.fd);
	assert_true(readlink(link, target, sizeof(target) - 1) > 0);
	assert_non_null(strstr(target, "(deleted)"));
	/* and it cannot get a name afterwards */
	assert_int_equal(linkat(AT_FDCWD, link, AT_FDCWD, SLU_TEST_FOLDER "/sluice-test-name",
				AT_SYMLINK_FOLLOW),
			 -1);
	slu_disk_give(&disk, &extent);
	slu_disk_deinit(&disk);
}

static void a_folder_in_memory_is_rejected_with_a_reason(void **state)
{
	struct slu_disk_extent extent = { 0 };
	struct slu_filesystem fs;
	struct slu_disk disk;
	int r;

	(void)state;
	if (slu_filesystem_look("/dev/shm", &fs) || !fs.is_memory)
		skip();
	begin(&disk);
	slu_disk_set_folder(&disk, "/dev/shm");
	r = slu_disk_take(&disk, PAGE, &extent);
	assert_int_equal(r, -EMEDIUMTYPE);
	assert_string_equal(slu_disk_reason(r), "the folder's files are memory");
	assert_int_equal(extent.bytes, 0);
	/* a better folder helps */
	slu_disk_set_folder(&disk, SLU_TEST_FOLDER);
	assert_int_equal(slu_disk_take(&disk, PAGE, &extent), 0);
	slu_disk_give(&disk, &extent);
	slu_disk_deinit(&disk);
}

static void without_a_folder_there_is_no_extent(void **state)
{
	struct slu_disk_extent extent = { 0 };
	struct slu_disk disk;

	(void)state;
	begin(&disk);
	slu_disk_set_folder(&disk, "");
	assert_true(slu_disk_take(&disk, PAGE, &extent) < 0);
	slu_disk_set_folder(&disk, "/var/tmp/there-is-no-such-folder");
	assert_int_equal(slu_disk_take(&disk, PAGE, &extent), -ENOENT);
	slu_disk_deinit(&disk);
}

/*
 * In a child, because the limit cannot be raised again: without our check the kernel would end it.
 */
static void a_file_above_the_programs_limit_is_refused_without_a_signal(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct rlimit limit = { SLU_MIB, SLU_MIB };
		struct slu_disk_extent a = { 0 }, b = { 0 };
		struct slu_disk disk;
		int r;

		signal(SIGXFSZ, SIG_DFL);
		begin(&disk);
		if (setrlimit(RLIMIT_FSIZE, &limit) || slu_disk_take(&disk, PAGE, &a))
			_exit(1);
		r = slu_disk_take(&disk, 2 * SLU_MIB, &b);
		_exit(r == -EFBIG && !b.bytes ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void an_extent_larger_than_the_file_system_is_refused(void **state)
{
	struct slu_disk_extent extent = { 0 };
	struct slu_filesystem fs;
	struct slu_disk disk;

	(void)state;
	begin(&disk);
	assert_int_equal(slu_filesystem_look(SLU_TEST_FOLDER, &fs), 0);
	assert_int_equal(slu_disk_take(&disk, fs.free_bytes + SLU_GIB, &extent), -ENOSPC);
	assert_int_equal(slu_disk_take(&disk, PAGE, &extent), 0);
	assert_true(allocated_bytes(&disk) < SLU_MIB);
	slu_disk_give(&disk, &extent);
	slu_disk_deinit(&disk);
}

static void a_descriptor_that_became_another_file_is_not_written_to(void **state)
{
	struct slu_disk_extent extent = { 0 };
	struct slu_disk disk;
	char byte = 0;
	int fd;

	(void)state;
	begin(&disk);
	assert_int_equal(slu_disk_take(&disk, PAGE, &extent), 0);
	fd = open(SLU_TEST_FOLDER, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, disk.fd), disk.fd);
	assert_int_equal(slu_disk_write(&disk, &extent, 0, "x", 1), -EBADF);
	assert_int_equal(slu_disk_read(&disk, &extent, 0, &byte, 1), -EBADF);
	assert_int_equal(slu_disk_sync(&disk, &extent), -EBADF);
	slu_disk_give(&disk, &extent);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	close(disk.fd);
	close(fd);
	slu_disk_deinit(&disk);
}

/* Extents of many sizes come and go; none overlaps another, and free ranges are used again. */
static void extents_never_overlap(void **state)
{
	enum { N = 24, N_STEPS = 600 };
	struct slu_disk_extent extents[N] = { 0 };
	uint64_t seed = slu_test_seed(4711);
	struct slu_disk disk;
	uint64_t most = 0, sum = 0;

	(void)state;
	begin(&disk);
	for (unsigned step = 0; step < N_STEPS; step++) {
		struct slu_disk_extent *extent = &extents[slu_test_random(&seed) % N];

		if (extent->bytes) {
			sum -= extent->bytes;
			slu_disk_give(&disk, extent);
		} else {
			uint64_t bytes = 1 + slu_test_random(&seed) % (16 * PAGE);

			assert_int_equal(slu_disk_take(&disk, bytes, extent), 0);
			assert_true(extent->bytes >= bytes && extent->bytes < bytes + PAGE);
			sum += extent->bytes;
		}
		most = SLU_MAX(most, sum);
		assert_int_equal(slu_disk_bytes(&disk), sum);
		for (unsigned i = 0; i < N; i++) {
			assert_true(extents[i].offset + extents[i].bytes <= disk.end_bytes);
			for (unsigned j = 0; j < i; j++)
				assert_true(
					!extents[i].bytes || !extents[j].bytes ||
					extents[i].offset + extents[i].bytes <= extents[j].offset ||
					extents[j].offset + extents[j].bytes <= extents[i].offset);
		}
		assert_true(disk.end_bytes <= 3 * most);
	}
	for (unsigned i = 0; i < N; i++)
		slu_disk_give(&disk, &extents[i]);
	assert_int_equal(disk.end_bytes, 0);
	assert_null(disk.holes);
	slu_disk_deinit(&disk);
}

static int round_trip(struct slu_disk *disk, struct slu_disk_extent *extent)
{
	char out[2 * PAGE], in[2 * PAGE] = { 0 };
	int r = 0;

	memset(out, 0x5a, sizeof(out));
	if (!extent->bytes)
		r = slu_disk_take(disk, sizeof(out), extent);
	if (!r)
		r = slu_disk_write(disk, extent, 0, out, sizeof(out));
	if (!r)
		r = slu_disk_sync(disk, extent);
	if (!r)
		r = slu_disk_read(disk, extent, 0, in, sizeof(in));
	if (!r)
		assert_memory_equal(in, out, sizeof(in));
	return r;
}

static void each_call_may_fail_and_a_second_try_works(void **state)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT, EINTR };

	(void)state;
	for (unsigned e = 0; e < SLU_ARRAY_SIZE(errors); e++) {
		for (unsigned n = 1;; n++) {
			struct slu_disk_extent extent = { 0 };
			struct slu_disk disk;
			int r;

			begin(&disk);
			slu_test_disk.fail_at = n;
			slu_test_disk.fail_with = errors[e];
			r = round_trip(&disk, &extent);
			assert_true(r == 0 || slu_test_disk.n_failed == 1);
			assert_true(r == 0 || r == -errors[e]);
			assert_int_equal(slu_disk_bytes(&disk), extent.bytes);
			slu_test_disk.fail_at = 0;
			assert_int_equal(round_trip(&disk, &extent), 0);
			slu_disk_give(&disk, &extent);
			assert_int_equal(disk.end_bytes, 0);
			slu_disk_deinit(&disk);
			if (!slu_test_disk.n_failed)
				break;
		}
	}
}

static void a_file_that_ends_early_is_an_error_not_a_loop(void **state)
{
	struct slu_disk_extent extent = { 0 };
	struct slu_disk disk;
	char in[PAGE];

	(void)state;
	begin(&disk);
	assert_int_equal(slu_disk_take(&disk, PAGE, &extent), 0);
	assert_int_equal(ftruncate(disk.fd, 10), 0);
	assert_int_equal(slu_disk_read(&disk, &extent, 0, in, sizeof(in)), -EIO);
	slu_disk_give(&disk, &extent);
	slu_disk_deinit(&disk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_bytes_are_read_again),
		cmocka_unit_test(an_extent_is_allocated_from_take_to_give),
		cmocka_unit_test(the_file_has_no_name_and_belongs_to_the_user_alone),
		cmocka_unit_test(a_folder_in_memory_is_rejected_with_a_reason),
		cmocka_unit_test(without_a_folder_there_is_no_extent),
		cmocka_unit_test(a_file_above_the_programs_limit_is_refused_without_a_signal),
		cmocka_unit_test(an_extent_larger_than_the_file_system_is_refused),
		cmocka_unit_test(a_descriptor_that_became_another_file_is_not_written_to),
		cmocka_unit_test(extents_never_overlap),
		cmocka_unit_test(each_call_may_fail_and_a_second_try_works),
		cmocka_unit_test(a_file_that_ends_early_is_an_error_not_a_loop),
	};

	if (!slu_test_disk_is_present()) {
		puts("1..0 # SKIP " SLU_TEST_FOLDER " is not on disk");
		return 0;
	}
	return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
