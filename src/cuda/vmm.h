/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The driver's virtual memory calls (vmm.c), and what the rest of the shim needs of them.
 *
 * Such memory belongs to no context and outlives them all. While its device has no service context
 * (device.h) it cannot move: it comes to the device, loses its units and stays there.
 */

#include "cuda/device.h"
#include "cuda/handle.h"

/* The answer about an address at which the program mapped memory of ours. */
struct slu_vmm_view {
	struct slu_cuda_device *device;
	uint64_t map_address, map_bytes; /* the mapping */
	uint64_t address, bytes;	 /* the reservation around it */
	uint64_t id;			 /* of the handle; stable, never used again */
	unsigned access;		 /* of its own device */
};

/* The service context is about to end; the device has one again. */
void slu_cuda_vmm_hand_over(struct slu_cuda_device *device);
void slu_cuda_vmm_take_back(struct slu_cuda_device *device);

/* Return: whether memory of ours is mapped at @address. */
bool slu_cuda_vmm_look(uint64_t address, struct slu_vmm_view *ret_view);
