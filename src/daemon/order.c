/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "daemon/order.h"

#define KEYS_MAX (2 * SLU_DEVICES_MAX)

/* Sorted as text, keys give the order: the kind, then the address or the number. */
struct keys {
	char list[KEYS_MAX][32];
	unsigned n;
};

enum { NVIDIA = '0', SOFTGPU, RENDER, OTHER };

static bool keys_have(const struct keys *keys, const char *key)
{
	for (unsigned i = 0; i < keys->n; i++)
		if (!strcmp(keys->list[i], key))
			return true;
	return false;
}

static void keys_add(struct keys *keys, const char *key)
{
	if (keys->n < KEYS_MAX && !keys_have(keys, key))
		snprintf(keys->list[keys->n++], sizeof(keys->list[0]), "%s", key);
}

static void make_key(char key[32], int kind, const char *address)
{
	snprintf(key, 32, "%c%.16s", kind, address);
}

static void each_entry(const char *root, const char *folder,
		       void (*take)(struct keys *keys, const char *name), struct keys *keys)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s%s", root, folder);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			take(keys, entry->d_name);
	if (dir)
		closedir(dir);
}

static void take_nvidia(struct keys *keys, const char *name)
{
	char key[32];

	make_key(key, NVIDIA, name);
	keys_add(keys, key);
}

static void softgpu_key(char key[32], unsigned index)
{
	snprintf(key, 32, "%c%08u", SOFTGPU, index);
}

static void take_softgpu(struct keys *keys, const char *name)
{
	char key[32];
	unsigned index;
	int end = 0;

	if (sscanf(name, "softgpu%u%n", &index, &end) != 1 || name[end])
		return;
	softgpu_key(key, index);
	keys_add(keys, key);
}

static void key_of(char key[32], const struct keys *machine, const struct slu_device *device)
{
	const char *base = strrchr(device->path, '/');
	unsigned index;

	if (device->kind == SLU_DEVICE_BOARD && base && sscanf(base, "/softgpu%u", &index) == 1) {
		softgpu_key(key, index);
		return;
	}
	make_key(key, NVIDIA, device->pci);
	if (device->kind == SLU_DEVICE_NODE && device->pci[0] && keys_have(machine, key))
		return;
	if (device->kind == SLU_DEVICE_NODE && device->pci[0])
		make_key(key, RENDER, device->pci);
	else
		snprintf(key, 32, "%c%08u", OTHER, device->number);
}

static int keys_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

void slu_order_update(const char *root, const char *boards, struct slu_device **devices, unsigned n)
{
	struct keys keys = { .n = 0 };
	char key[32];

	each_entry(root, "/proc/driver/nvidia/gpus", take_nvidia, &keys);
	for (unsigned i = 0; i < n; i++) {
		key_of(key, &keys, devices[i]);
		keys_add(&keys, key);
		/* boards get numbers only if a program shares one */
		if (key[0] == SOFTGPU)
			each_entry("", boards, take_softgpu, &keys);
	}
	qsort(keys.list, keys.n, sizeof(keys.list[0]), keys_compare);
	for (unsigned i = 0; i < n; i++) {
		key_of(key, &keys, devices[i]);
		for (unsigned k = 0; k < keys.n; k++)
			if (!strcmp(keys.list[k], key))
				devices[i]->index = k;
	}
}

static int compare_devices(const void *a, const void *b)
{
	const struct slu_device *first = *(struct slu_device *const *)a;
	const struct slu_device *second = *(struct slu_device *const *)b;

	return (first->index > second->index) - (first->index < second->index);
}

unsigned slu_order_list(struct slu_devices *devices, struct slu_device *ret_list[SLU_DEVICES_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < slu_devices_n(devices); i++) {
		struct slu_device *device = slu_devices_get(devices, i);

		if (!slu_device_is_gone(device))
			ret_list[n++] = device;
	}
	qsort(ret_list, n, sizeof(ret_list[0]), compare_devices);
	return n;
}

unsigned slu_order_index(struct slu_devices *devices, unsigned number)
{
	const struct slu_device *device = slu_devices_get(devices, number);

	return device ? device->index : number;
}
