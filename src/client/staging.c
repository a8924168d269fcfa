/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/util.h"
#include "client/staging.h"

int slu_staging_init(struct slu_staging *s, const struct slu_backend *backend, void *data,
		     uint64_t bytes)
{
	char *host;

	assert(bytes && bytes % SLU_STAGING_ALIGN == 0);
	slu_lock_assert_none();
	host = backend->pin(data, bytes);
	if (!host)
		return slu_error(-ENOMEM);
	*s = (struct slu_staging){ .host = host, .bytes = bytes };
	return 0;
}

void slu_staging_deinit(struct slu_staging *s, const struct slu_backend *backend, void *data)
{
	slu_lock_assert_none();
	assert(s->head == s->tail);
	if (s->host)
		backend->unpin(data, s->host, s->bytes);
	memset(s, 0, sizeof(*s));
}

void *slu_staging_take(struct slu_staging *s, uint64_t wanted, uint64_t *ret_bytes)
{
	uint64_t at = s->head % s->bytes;
	uint64_t to_end = s->bytes - at;
	uint64_t bytes = SLU_MIN(wanted, to_end);

	/* a piece is not cut because little is free now; otherwise the ring would fragment */
	if (bytes > s->bytes - (s->head - s->tail))
		return NULL;
	s->head += slu_round_up(bytes, SLU_STAGING_ALIGN);
	*ret_bytes = bytes;
	return s->host + at;
}

void slu_staging_give(struct slu_staging *s, uint64_t bytes)
{
	s->tail += slu_round_up(bytes, SLU_STAGING_ALIGN);
	assert(s->tail <= s->head);
}
