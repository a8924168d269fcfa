/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "daemon/node.h"

/* "GPU-1a2b3c4d-…" -> 16 bytes; the driver prints the bytes in order. */
static bool uuid_is(const char *text, const uint8_t uuid[16])
{
	static const char prefix[] = "GPU-";
	unsigned n = 0;

	if (strncmp(text, prefix, sizeof(prefix) - 1))
		return false;
	text += sizeof(prefix) - 1;
	while (n < 16) {
		unsigned byte;

		if (*text == '-')
			text++;
		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]) ||
		    sscanf(text, "%2x", &byte) != 1 || byte != uuid[n])
			return false;
		text += 2;
		n++;
	}
	return true;
}

/*
 * Return: the minor number of the card whose file this is, or -1 if it is another one than @uuid
 * (NULL: any).
 */
static int nvidia_minor(const char *path, const uint8_t *uuid)
{
	bool is_it = !uuid;
	int minor = -1;
	char line[256];
	FILE *f = fopen(path, "re");

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (!value)
			continue;
		value += 1 + strspn(value + 1, " \t");
		if (uuid && !strncmp(line, "GPU UUID", 8))
			is_it = uuid_is(value, uuid);
		else if (!strncmp(line, "Device Minor", 12))
			minor = atoi(value);
	}
	fclose(f);
	return is_it ? minor : -1;
}

static bool is_address(const char *pci)
{
	return pci[0] && pci[0] != '.' && strspn(pci, "0123456789abcdefABCDEF:.") == strlen(pci);
}

static int find_nvidia(const char *root, const uint8_t uuid[16], const char *pci, char *ret_path,
		       size_t size)
{
	char folder[512], path[1024];
	struct dirent *entry;
	int minor = -1;
	DIR *dir;

	snprintf(folder, sizeof(folder), "%s/proc/driver/nvidia/gpus", root);
	dir = opendir(folder);
	while (dir && minor < 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s/information", folder, entry->d_name);
		minor = nvidia_minor(path, uuid);
	}
	if (dir)
		closedir(dir);
	if (minor < 0 && is_address(pci)) {
		snprintf(path, sizeof(path), "%s/%s/information", folder, pci);
		minor = nvidia_minor(path, NULL);
	}
	if (minor < 0)
		return -ENOENT;
	snprintf(ret_path, size, "%s/dev/nvidia%d", root, minor);
	return 0;
}

static int find_render(const char *root, const char *pci, char *ret_path, size_t size)
{
	char folder[512];
	struct dirent *entry;
	int r = -ENOENT;
	DIR *dir;

	if (!is_address(pci))
		return -ENOENT;
	snprintf(folder, sizeof(folder), "%s/sys/bus/pci/devices/%s/drm", root, pci);
	dir = opendir(folder);
	while (dir && r && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "renderD", 7) != 0)
			continue;
		snprintf(ret_path, size, "%s/dev/dri/%s", root, entry->d_name);
		r = 0;
	}
	if (dir)
		closedir(dir);
	return r;
}

int slu_node_find(const char *root, const uint8_t uuid[16], const char *pci, char *ret_path,
		  size_t size)
{
	int r = find_nvidia(root, uuid, pci, ret_path, size);

	return r ? find_render(root, pci, ret_path, size) : 0;
}

uint64_t slu_node_total_bytes(const char *root, const char *pci)
{
	unsigned long long bytes = 0;
	char path[512];
	FILE *f;

	if (!is_address(pci))
		return 0;
	snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/mem_info_vram_total", root, pci);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &bytes) != 1)
		bytes = 0;
	fclose(f);
	return bytes;
}
