/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A unit with contents on a device in memory, and one that moves it as the mover does. */

#include "lib/test.h"

#include "client/disk.h"
#include "client/pipe.h"
#include "client/test-device.h"

enum { UNIT_BYTES = 1000, DEPTH_BYTES = SLU_PIPE_PARTS * SLU_STAGING_ALIGN };

struct world {
	struct slu_test_device device;
	struct slu_test_object object;
	struct slu_unit unit;
	struct slu_pipe pipe;
	struct slu_move move;
	unsigned cancel_at; /* the question with this number is answered with yes; 0: none */
	unsigned n_asked;
	unsigned pattern;
	struct slu_disk disk; /* of the units whose backing is on disk */
	char bounce[DEPTH_BYTES];
};

static inline bool is_cancelled(void *data)
{
	struct world *w = data;

	return ++w->n_asked == w->cancel_at;
}

static inline int reap(struct world *w)
{
	int r = slu_move_piece_reap(slu_pipe_oldest(&w->pipe));

	slu_pipe_drop(&w->pipe);
	return r;
}

/* As the mover's two threads do it, with as many pieces under way as fit. */
static inline int move(struct world *w, enum slu_moving moving)
{
	struct slu_move *m = &w->move;
	int r, answer;

	m->moving = moving;
	r = slu_move_begin(m);
	assert_int_not_equal(r, SLU_MOVE_E_BUSY);
	while (!r && slu_move_remaining_bytes(m)) {
		struct slu_piece *p = is_cancelled(w) ? NULL : slu_pipe_put(&w->pipe, m);

		if (p)
			slu_move_piece_feed(p);
		else if (w->n_asked == w->cancel_at)
			r = SLU_MOVE_E_CANCELLED;
		else
			r = reap(w);
	}
	while (slu_pipe_oldest(&w->pipe)) {
		answer = reap(w);
		r = r ? r : answer;
	}
	return slu_move_end(m, r);
}

static inline unsigned char pattern_at(const struct world *w, unsigned i)
{
	return (unsigned char)((i + w->pattern) * 167 + (i >> 5));
}

/* A command writes the unit on the device. */
static inline void write_on_device(struct world *w)
{
	unsigned char *bytes = slu_test_object_bytes(&w->object);

	w->pattern++;
	for (unsigned i = 0; i < UNIT_BYTES; i++)
		bytes[i] = pattern_at(w, i);
}

static inline void assert_contents(const struct world *w, const unsigned char *bytes)
{
	for (unsigned i = 0; i < UNIT_BYTES; i++)
		assert_int_equal(bytes[i], pattern_at(w, i));
}
