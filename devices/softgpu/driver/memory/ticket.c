/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)

int dev_ticket_write(const void *ticket, size_t bytes, int *ret_fd)
{
	slu_cleanup(slu_closep) int fd =
		memfd_create("sluice-softgpu-ticket", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return slu_error(-errno);
	if (write(fd, ticket, bytes) != (ssize_t)bytes)
		return slu_error(-EIO);
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return slu_error(-errno);
	*ret_fd = slu_steal_fd(&fd);
	return 0;
}

int dev_ticket_read(int fd, size_t bytes, void *ret_ticket)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) < 0 ||
	    (uint64_t)st.st_size != bytes || pread(fd, ret_ticket, bytes, 0) != (ssize_t)bytes)
		return -EINVAL;
	return 0;
}
