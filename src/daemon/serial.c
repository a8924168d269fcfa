/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serial.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

enum slu_serial slu_serial_of(const char *word)
{
	if (!strcmp(word, "on"))
		return SLU_SERIAL_ON;
	return !strcmp(word, "auto") ? SLU_SERIAL_AUTO : SLU_SERIAL_OFF;
}

static void file_make(const char *path, mode_t mode)
{
	slu_cleanup(slu_closep) int fd =
		open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);

	/* the mask of a system daemon leaves other users no rights, but they must lock the file */
	if (fd < 0 || fchmod(fd, mode))
		slu_log(WARNING, "cannot create %s, ignoring vmm_serial for its device: %m", path);
}

/* The path of the socket whose daemon end is @fd. Return: whether it has one. */
static bool socket_path(int fd, struct sockaddr_un *ret_address)
{
	socklen_t size = sizeof(*ret_address) - 1;

	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return getsockname(fd, (struct sockaddr *)ret_address, &size) == 0 &&
	       size > offsetof(struct sockaddr_un, sun_path) && ret_address->sun_path[0];
}

void slu_serial_offer(int fd, const struct slu_msg_hello *hello, bool is_system)
{
	char path[SLU_SERIAL_PATH_MAX];
	struct sockaddr_un address;

	if (!socket_path(fd, &address))
		return;
	for (uint32_t i = 0; i < hello->n_devices; i++)
		if (slu_serial_path(address.sun_path, hello->devices[i].uuid, path) == 0)
			file_make(path, is_system ? 0666 : 0600);
}

void slu_serial_withdraw(int fd, const uint8_t uuid[16])
{
	char path[SLU_SERIAL_PATH_MAX];
	struct sockaddr_un address;

	if (socket_path(fd, &address) && slu_serial_path(address.sun_path, uuid, path) == 0)
		unlink(path);
}

static bool is_file_of_a_device(const char *name)
{
	return !strncmp(name, "vmm-", 4) && strspn(name + 4, "0123456789abcdef") == 32 &&
	       !strcmp(name + 4 + 32, ".lock");
}

void slu_serial_clean(const char *socket_path)
{
	const char *slash = strrchr(socket_path, '/');
	char folder[SLU_SERIAL_PATH_MAX] = ".";
	const struct dirent *entry;
	DIR *dir;

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - socket_path) + 1,
			 socket_path);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir)))
		if (is_file_of_a_device(entry->d_name))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}
