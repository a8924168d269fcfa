/* SPDX-License-Identifier: Apache-2.0 */
#include "client/pipe.h"

#include <assert.h>

#include "base/util.h"

static struct slu_staging *pipe_ring_of(struct slu_pipe *p, const struct slu_move *move)
{
	if (move->host_is_pinned)
		return NULL;
	if (p->staging.host)
		return &p->staging;
	return move->disk ? &p->bounce : NULL;
}

bool slu_pipe_needs_bounce(const struct slu_pipe *p, const struct slu_move *move)
{
	return move->disk && !p->staging.host && !p->bounce.host;
}

struct slu_piece *slu_pipe_put(struct slu_pipe *p, struct slu_move *move)
{
	uint64_t bytes = SLU_MIN(slu_move_remaining_bytes(move), p->most_bytes / SLU_PIPE_PARTS);
	struct slu_staging *ring = pipe_ring_of(p, move);
	struct slu_piece *piece;
	void *buffer = NULL;

	assert(bytes);
	if (p->n_pieces == SLU_PIPE_PIECES || (p->n_bytes && p->n_bytes + bytes > p->most_bytes))
		return NULL;
	if (ring) {
		buffer = slu_staging_take(ring, bytes, &bytes);
		if (!buffer)
			return NULL;
	}
	piece = &p->pieces[(p->first + p->n_pieces++) % SLU_PIPE_PIECES];
	slu_move_cut(move, bytes, buffer, piece);
	p->n_bytes += bytes;
	return piece;
}

struct slu_piece *slu_pipe_begin(struct slu_pipe *p, enum slu_piece_stage stage)
{
	const struct slu_move *in_order = NULL; /* its next piece waits for an earlier one */

	for (unsigned i = 0; i < p->n_pieces; i++) {
		struct slu_piece *piece = &p->pieces[(p->first + i) % SLU_PIPE_PIECES];

		if (piece->move == in_order)
			continue;
		if (piece->stage == stage) {
			piece->stage = stage + 1;
			return piece;
		}
		if (piece->stage <= stage + 1 && piece->move->wants_sum)
			in_order = piece->move;
	}
	return NULL;
}

struct slu_piece *slu_pipe_oldest(struct slu_pipe *p)
{
	return p->n_pieces ? &p->pieces[p->first] : NULL;
}

void slu_pipe_drop(struct slu_pipe *p)
{
	const struct slu_piece *piece = &p->pieces[p->first];
	struct slu_staging *ring = pipe_ring_of(p, piece->move);

	assert(p->n_pieces);
	if (ring)
		slu_staging_give(ring, piece->bytes);
	p->n_bytes -= piece->bytes;
	p->first = (p->first + 1) % SLU_PIPE_PIECES;
	p->n_pieces--;
}
