/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pinned chunks of one direction: two, so that the device copies one while the processor
 * copies the other. They exist only while the pinned account has credit for them; without them a
 * move goes through pageable memory: slower, never stuck.
 */

#include <stdint.h>

#include "client/backend.h"

#define SLU_STAGING_CHUNKS 2

struct slu_staging {
	void *chunks[SLU_STAGING_CHUNKS]; /* both or none */
	uint64_t chunk_bytes;		  /* of each */
};

/*
 * Pins both chunks. The caller has the credit.
 *
 * Return: 0, or -ENOMEM when the back end has none; then nothing is held.
 */
int slu_staging_init(struct slu_staging *staging, const struct slu_backend *backend, void *data,
		     uint64_t chunk_bytes);

/* Accepts a zeroed one. */
void slu_staging_deinit(struct slu_staging *staging, const struct slu_backend *backend, void *data);
