/* SPDX-License-Identifier: Apache-2.0 */
#include "client/test-faulty-disk.h"

#include "base/filesystem.h"

struct slu_test_disk slu_test_disk;

bool slu_test_disk_is_present(void)
{
	struct slu_filesystem fs;

	return !slu_filesystem_look(SLU_TEST_FOLDER, &fs) && !slu_filesystem_fault(&fs, true);
}

static bool fails(bool is_always)
{
	unsigned n = __atomic_add_fetch(&slu_test_disk.n_calls, 1, __ATOMIC_RELAXED);

	if (n != slu_test_disk.fail_at && !is_always)
		return false;
	__atomic_add_fetch(&slu_test_disk.n_failed, 1, __ATOMIC_RELAXED);
	errno = slu_test_disk.fail_with ? slu_test_disk.fail_with : EIO;
	return true;
}

/* Every third call transfers only a part, as the kernel may. */
static size_t cut(size_t bytes)
{
	static unsigned n;

	if (bytes < 2 || __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) % 3)
		return bytes;
	__atomic_add_fetch(&slu_test_disk.n_short, 1, __ATOMIC_RELAXED);
	return bytes / 2;
}

static int test_open(const char *folder)
{
	return fails(false) ? -errno : slu_disk_calls_real.open(folder);
}

static int test_allocate(int fd, off_t offset, off_t bytes)
{
	return fails(false) ? -1 : slu_disk_calls_real.allocate(fd, offset, bytes);
}

static int test_punch(int fd, off_t offset, off_t bytes)
{
	return fails(false) ? -1 : slu_disk_calls_real.punch(fd, offset, bytes);
}

static ssize_t test_write(int fd, const void *data, size_t bytes, off_t offset)
{
	if (fails(slu_test_disk.writes_fail))
		return -1;
	return slu_disk_calls_real.write(fd, data, cut(bytes), offset);
}

static ssize_t test_read(int fd, void *data, size_t bytes, off_t offset)
{
	ssize_t n;

	if (!slu_test_disk.spares_reads && fails(slu_test_disk.reads_fail))
		return -1;
	n = slu_disk_calls_real.read(fd, data, cut(bytes), offset);
	if (n > 0 && slu_test_disk.spoils)
		*(unsigned char *)data ^= 4;
	return n;
}

static int test_sync(int fd, off_t offset, off_t bytes)
{
	return fails(slu_test_disk.writes_fail) ? -1 : slu_disk_calls_real.sync(fd, offset, bytes);
}

const struct slu_disk_calls slu_test_disk_calls = {
	.open = test_open,
	.allocate = test_allocate,
	.punch = test_punch,
	.write = test_write,
	.read = test_read,
	.sync = test_sync,
};
