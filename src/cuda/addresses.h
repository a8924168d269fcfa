/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The addresses that a program reserved for itself, and the aliases of its handles there.
 *
 * Where memory is away the driver is not asked, so what it would check is checked here: an alias
 * lies in one reservation and overlaps no other mapping.
 *
 *   (none)  -> CLAIMED  [slu_cuda_addresses_claim]      no other thread maps there
 *   CLAIMED -> MAPPED   [slu_cuda_addresses_set_alias]  the alias is found by its addresses
 *   MAPPED  -> CLAIMED  [slu_cuda_addresses_set_alias]  NULL: it is about to be unmapped
 *   CLAIMED -> (none)   [slu_cuda_addresses_release]
 */

#include "cuda/alias.h"
#include "cuda/device.h"

/* The answer about an address at which the program mapped memory of ours. */
struct slu_cuda_addresses_view {
	struct slu_cuda_device *device;
	uint64_t map_address, map_bytes; /* the mapping */
	uint64_t address, bytes;	 /* the reservation around it */
	uint64_t id;			 /* of the handle; stable, never used again */
	unsigned access;		 /* of its own device */
};

/* Takes addresses, if they lie in a reservation and nothing is mapped there. */
CUresult slu_cuda_addresses_claim(uint64_t address, uint64_t bytes);
void slu_cuda_addresses_release(uint64_t address, uint64_t bytes);

/* What is mapped at addresses that were claimed; NULL: nothing. */
void slu_cuda_addresses_set_alias(uint64_t address, struct slu_alias *alias);

/* The alias at @address, with a reference to its handle for the caller; or NULL. */
struct slu_alias *slu_cuda_addresses_alias(uint64_t address);

/* Whether an alias has any of these addresses. */
bool slu_cuda_addresses_have_alias(uint64_t address, uint64_t bytes);

/* Return: whether memory of ours is mapped at @address. */
bool slu_cuda_addresses_look(uint64_t address, struct slu_cuda_addresses_view *ret_view);
