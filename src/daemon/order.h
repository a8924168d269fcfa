/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The numbers of devices for people: those of nvidia-smi and of `sluice softgpu info`.
 *
 *   1. NVIDIA's cards by PCI address and software GPUs by number, also those that no program has
 *      used with Sluice so far
 *   2. other cards by PCI address
 *   3. devices without an address, in order of first use
 *
 * The core's numbers follow first use, and only the daemon uses them.
 */

#include "daemon/devices.h"

/*
 * Sets the index of each of the @n devices. @root goes in front of /proc, @boards is the
 * folder of stand-in devices. A device that is gone shares its index with the one in its place.
 */
void slu_order_update(const char *root, const char *boards, struct slu_device **devices,
		      unsigned n);

/* The devices that are not gone, by index. Return: how many. */
unsigned slu_order_list(struct slu_devices *devices, struct slu_device *ret_list[SLU_DEVICES_MAX]);

/* The index of the device with this number of the core. */
unsigned slu_order_index(struct slu_devices *devices, unsigned number);
