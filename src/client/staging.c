/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "client/staging.h"

int slu_staging_init(struct slu_staging *staging, const struct slu_backend *backend, void *data,
		     uint64_t chunk_bytes)
{
	*staging = (struct slu_staging){ .chunk_bytes = chunk_bytes };
	slu_lock_assert_none();
	for (unsigned i = 0; i < SLU_STAGING_CHUNKS; i++) {
		staging->chunks[i] = backend->pin(data, chunk_bytes);
		if (!staging->chunks[i]) {
			slu_staging_deinit(staging, backend, data);
			return slu_error(-ENOMEM);
		}
	}
	return 0;
}

void slu_staging_deinit(struct slu_staging *staging, const struct slu_backend *backend, void *data)
{
	slu_lock_assert_none();
	for (unsigned i = 0; i < SLU_STAGING_CHUNKS; i++)
		if (staging->chunks[i])
			backend->unpin(data, staging->chunks[i], staging->chunk_bytes);
	memset(staging, 0, sizeof(*staging));
}
