/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pinned memory of one direction: a ring. Pieces are taken at its head and given back at its
 * tail in the same order, as the device copies them, so small units use it as well as large ones.
 * It exists only while the pinned account has credit for it. Without it a move goes through
 * pageable memory, which is slower.
 *
 *            tail          head
 *   ┌──────────┬─────────────┬──────────────┐
 *   │   free   │ under way … │     free     │    a piece never wraps around the end
 *   └──────────┴─────────────┴──────────────┘
 */

#include <stdint.h>

#include "client/backend.h"

#define SLU_STAGING_ALIGN 64

struct slu_staging {
	char *host;	     /* NULL: there is none */
	uint64_t bytes;	     /* a multiple of SLU_STAGING_ALIGN */
	uint64_t head, tail; /* count up; modulo bytes they are offsets */
};

/*
 * Pins @bytes. The caller has the credit.
 *
 * Return: 0, or -ENOMEM when the back end has none; then nothing is held.
 */
int slu_staging_init(struct slu_staging *staging, const struct slu_backend *backend, void *data,
		     uint64_t bytes);

/* Accepts a zeroed one. No piece of it is in use. */
void slu_staging_deinit(struct slu_staging *staging, const struct slu_backend *backend, void *data);

/*
 * Takes up to @wanted bytes: less only where the ring ends.
 *
 * Return: where, with the number in @ret_bytes; NULL while the ring is full.
 */
void *slu_staging_take(struct slu_staging *staging, uint64_t wanted, uint64_t *ret_bytes);

/* Gives back the oldest piece that was taken, of @bytes. */
void slu_staging_give(struct slu_staging *staging, uint64_t bytes);
