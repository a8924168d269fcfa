/* SPDX-License-Identifier: Apache-2.0 */

#include "nvml/device.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	unsigned n_starts;				    /* guarded by lock */
	struct nvmlDevice_st devices[DEV_NVML_DEVICES_MAX]; /* guarded by lock; boards stay until
							       the last stop */
} nvml = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The devices are numbered without gaps, as the driver makes them. */
static unsigned scan_locked(void)
{
	unsigned n = 0;

	for (; n < DEV_NVML_DEVICES_MAX; n++) {
		struct nvmlDevice_st *d = &nvml.devices[n];
		char path[PATH_MAX];

		if (d->board)
			continue;
		if (dev_board_folder(path, sizeof(path) - 24))
			break;
		sprintf(path + strlen(path), "/softgpu%u", n);
		d->index = n;
		if (dev_board_open(path, NULL, &d->board)) {
			d->board = NULL;
			break;
		}
	}
	return n;
}

nvmlReturn_t dev_nvml_start(void)
{
	pthread_mutex_lock(&nvml.lock);
	nvml.n_starts++;
	scan_locked();
	pthread_mutex_unlock(&nvml.lock);
	return NVML_SUCCESS;
}

nvmlReturn_t dev_nvml_stop(void)
{
	nvmlReturn_t result = NVML_SUCCESS;

	pthread_mutex_lock(&nvml.lock);
	if (!nvml.n_starts) {
		result = NVML_ERROR_UNINITIALIZED;
	} else if (!--nvml.n_starts) {
		for (unsigned i = 0; i < DEV_NVML_DEVICES_MAX; i++) {
			if (nvml.devices[i].board)
				dev_board_close(nvml.devices[i].board);
			nvml.devices[i].board = NULL;
		}
	}
	pthread_mutex_unlock(&nvml.lock);
	return result;
}

nvmlReturn_t dev_nvml_count(unsigned *ret_count)
{
	nvmlReturn_t result = NVML_ERROR_UNINITIALIZED;

	if (!ret_count)
		return NVML_ERROR_INVALID_ARGUMENT;
	pthread_mutex_lock(&nvml.lock);
	if (nvml.n_starts) {
		*ret_count = scan_locked();
		result = NVML_SUCCESS;
	}
	pthread_mutex_unlock(&nvml.lock);
	return result;
}

nvmlReturn_t dev_nvml_find(unsigned index, nvmlDevice_t *ret_device)
{
	unsigned n;
	nvmlReturn_t result = dev_nvml_count(&n);

	if (result)
		return result;
	if (!ret_device || index >= n)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_device = &nvml.devices[index];
	return NVML_SUCCESS;
}

nvmlReturn_t dev_nvml_check(nvmlDevice_t device)
{
	nvmlReturn_t result = NVML_ERROR_INVALID_ARGUMENT;

	pthread_mutex_lock(&nvml.lock);
	if (!nvml.n_starts)
		result = NVML_ERROR_UNINITIALIZED;
	for (unsigned i = 0; nvml.n_starts && i < DEV_NVML_DEVICES_MAX; i++)
		if (device == &nvml.devices[i] && device->board)
			result = NVML_SUCCESS;
	pthread_mutex_unlock(&nvml.lock);
	return result;
}
