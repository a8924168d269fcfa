/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Mapping calls, one process at a time if the setting vmm_serial asks for it (wire/serial.h). If
 * a process holds the lock for very long, perhaps because it is stopped, the others go on without
 * the lock: two calls together are better than no call at all.
 *
 * The file is opened for each call, so that threads of this process wait for each other too.
 */

#include "wire/serial.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "client/instance.h"

#define PATIENCE_NS  (2000 * SLU_NS_PER_MS)
#define PAUSE_MIN_NS (20 * SLU_NS_PER_US)
#define PAUSE_MAX_NS SLU_NS_PER_MS

/* The file of @d, if the setting asks for it. Return: -1 if not. */
static int file_open(const struct slu_client_device *d, enum slu_serial *ret_setting)
{
	struct slu_client *c = &slu_client_global;
	char path[SLU_SERIAL_PATH_MAX];
	int fd = -1;

	slu_lock_take(&c->lock);
	*ret_setting = SLU_SERIAL_OFF;
	if (c->stage == SLU_CLIENT_JOINED && !d->is_orphan && c->connection.path &&
	    !slu_serial_path(c->connection.path, c->identities[d->index].uuid, path))
		*ret_setting = (enum slu_serial)slu_peer_connection_settings(c->peer)->vmm_serial;
	slu_lock_give(&c->lock);
	if (*ret_setting == SLU_SERIAL_OFF)
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 && errno == EACCES ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : fd;
}

static bool serial_is_asked_for(int fd, enum slu_serial setting)
{
	char byte = 0;

	return setting == SLU_SERIAL_ON || (pread(fd, &byte, 1, 0) == 1 && byte == '1');
}

static void lock_take(int fd)
{
	uint64_t until_ns = slu_clock_now_ns() + PATIENCE_NS, pause_ns = PAUSE_MIN_NS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0 && slu_clock_now_ns() < until_ns) {
		struct timespec ts = slu_clock_timespec(pause_ns);

		clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL);
		pause_ns = SLU_MIN(pause_ns * 2, (uint64_t)PAUSE_MAX_NS);
	}
}

int slu_client_serial_begin(const struct slu_client_device *device)
{
	SLU_CLIENT_KEEP_ERRNO();
	enum slu_serial setting;
	int fd = file_open(device, &setting);

	if (fd >= 0 && serial_is_asked_for(fd, setting)) {
		lock_take(fd);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

void slu_client_serial_end(int lock)
{
	SLU_CLIENT_KEEP_ERRNO();

	if (lock >= 0)
		close(lock);
}

void slu_client_serial_suspect(const struct slu_client_device *device)
{
	SLU_CLIENT_KEEP_ERRNO();
	enum slu_serial setting;
	int fd = file_open(device, &setting);

	/* without write access the other processes cannot be warned */
	if (fd >= 0 && setting == SLU_SERIAL_AUTO && pwrite(fd, "1", 1, 0) != 1)
		errno = 0;
	if (fd >= 0)
		close(fd);
}
