/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/serial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

int slu_serial_path(const char *socket_path, const uint8_t uuid[16],
		    char ret_path[SLU_SERIAL_PATH_MAX])
{
	const char *slash = strrchr(socket_path, '/');
	int folder = slash ? (int)(slash - socket_path) + 1 : 0, n;

	if (folder + sizeof("vmm-.lock") + 32 > SLU_SERIAL_PATH_MAX)
		return slu_error(-ENAMETOOLONG);
	n = sprintf(ret_path, "%.*svmm-", folder, socket_path);
	for (int i = 0; i < 16; i++)
		n += sprintf(ret_path + n, "%02x", uuid[i]);
	strcpy(ret_path + n, ".lock");
	return 0;
}
