/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include "base/util.h"
#include "cuda/pool-space.h"

#define BASE	  (64 * SLU_GIB)
#define CELL	  SLU_POOL_SPACE_ALIGN
#define CELLS	  96u /* of a segment */
#define N_STREAMS 4u

static struct slu_pool_space *make_space(void)
{
	struct slu_pool_space *space;

	assert_int_equal(slu_pool_space_new(&space), 0);
	return space;
}

static uint64_t take(struct slu_pool_space *space, uint64_t cells, uint64_t stream)
{
	uint64_t address;

	assert_int_equal(slu_pool_space_take(space, cells * CELL, stream, 1, &address), 0);
	return address;
}

static void assert_full(struct slu_pool_space *space, uint64_t cells, uint64_t stream)
{
	uint64_t address;

	assert_int_equal(slu_pool_space_take(space, cells * CELL, stream, 1, &address),
			 SLU_POOL_SPACE_E_FULL);
}

static void test_a_block_is_used_again_at_once_in_the_stream_that_freed_it(void **state)
{
	struct slu_pool_space *space = make_space();
	uint64_t a;

	(void)state;
	assert_int_equal(slu_pool_space_add(space, BASE, 8 * CELL, NULL), 0);
	a = take(space, 8, 1);
	assert_int_equal(slu_pool_space_end(space, a, 1, 1), 0);
	assert_full(space, 1, 2);
	assert_int_equal(take(space, 8, 1), a);
	assert_int_equal(slu_pool_space_end(space, a, 1, 2), 0);
	/* what is proven is the free before */
	slu_pool_space_prove(space, 1, 1);
	assert_full(space, 1, 2);
	slu_pool_space_prove(space, 1, 2);
	assert_int_equal(take(space, 8, 2), a);
	assert_int_equal(slu_pool_space_end(space, a + CELL, 1, 3), SLU_POOL_SPACE_E_UNKNOWN);
	assert_int_equal(slu_pool_space_end(space, a, 1, 3), 0);
	assert_int_equal(slu_pool_space_end(space, a, 1, 4), SLU_POOL_SPACE_E_UNKNOWN);
	slu_pool_space_free(space);
}

static void test_a_stream_gets_its_own_memory_and_what_is_ready_in_one_piece(void **state)
{
	struct slu_pool_space *space = make_space();
	uint64_t a, b;

	(void)state;
	assert_int_equal(slu_pool_space_add(space, BASE, 8 * CELL, NULL), 0);
	a = take(space, 3, 1);
	assert_int_equal(slu_pool_space_end(space, a, 1, 1), 0);
	/* the rest is ready, and stays so for others */
	assert_full(space, 6, 2);
	b = take(space, 6, 1);
	assert_int_equal(b, a);
	assert_int_equal(take(space, 2, 2), b + 6 * CELL);
	slu_pool_space_free(space);
}

static void test_only_a_segment_that_is_ready_as_a_whole_is_taken_out(void **state)
{
	struct slu_pool_space *space = make_space();
	int first, second;
	uint64_t a;

	(void)state;
	assert_int_equal(slu_pool_space_add(space, BASE, 4 * CELL, &first), 0);
	assert_int_equal(slu_pool_space_add(space, BASE + 4 * CELL, 8 * CELL, &second), 0);
	a = take(space, 4, 1);
	assert_int_equal(a, BASE);
	assert_null(slu_pool_space_take_out(space, 7 * CELL));
	assert_ptr_equal(slu_pool_space_take_out(space, 8 * CELL), &second);
	assert_int_equal(slu_pool_space_end(space, a, 1, 1), 0);
	assert_null(slu_pool_space_take_out(space, UINT64_MAX));
	assert_true(slu_pool_space_is_pending(space, 1));
	slu_pool_space_prove(space, 1, 1);
	assert_false(slu_pool_space_is_pending(space, 1));
	assert_ptr_equal(slu_pool_space_take_out(space, UINT64_MAX), &first);
	assert_int_equal(slu_pool_space_stats(space)->reserved_bytes, 0);
	slu_pool_space_free(space);
}

/* -- beside a naive model -------------------------------------------------------------------------
 */

enum { N_SEGMENTS = 6, N_LIVE = 64, N_STEPS = 60000 };

struct cell {
	uint64_t id;	   /* in use; 0: free */
	uint64_t stream;   /* free: in this one … */
	uint64_t position; /* … so far; 0: for all */
};

/* Segments next to each other in the addresses, so that what must not become one could. */
static struct model {
	bool is_there[N_SEGMENTS];
	struct cell cells[N_SEGMENTS][CELLS];
	uint64_t proven[N_STREAMS + 1];
	struct {
		uint64_t address, bytes, id;
	} live[N_LIVE];
	uint64_t position, last_id, used_cells;
} model;

static bool is_usable(const struct cell *c, uint64_t stream)
{
	return !c->id &&
	       (!c->position || c->stream == stream || model.proven[c->stream] >= c->position);
}

static bool fits(uint64_t n_cells, uint64_t stream)
{
	for (unsigned i = 0; i < N_SEGMENTS; i++) {
		uint64_t run = 0;

		for (unsigned k = 0; model.is_there[i] && k < CELLS; k++) {
			run = is_usable(&model.cells[i][k], stream) ? run + 1 : 0;
			if (run >= n_cells)
				return true;
		}
	}
	return false;
}

static struct cell *cell_at(uint64_t address)
{
	uint64_t n = (address - BASE) / CELL;

	assert_true(address >= BASE && n < (uint64_t)N_SEGMENTS * CELLS);
	assert_true(model.is_there[n / CELLS]);
	return &model.cells[n / CELLS][n % CELLS];
}

static void model_take(struct slu_pool_space *space, unsigned i, uint64_t bytes, uint64_t stream)
{
	uint64_t n_cells = (bytes + CELL - 1) / CELL, address;
	int r = slu_pool_space_take(space, bytes, stream, ++model.last_id, &address);

	assert_int_equal(r, fits(n_cells, stream) ? 0 : SLU_POOL_SPACE_E_FULL);
	if (r)
		return;
	assert_int_equal(address % CELL, 0);
	/* in one segment */
	assert_int_equal((address - BASE) / CELL / CELLS,
			 ((address - BASE) / CELL + n_cells - 1) / CELLS);
	for (uint64_t k = 0; k < n_cells; k++) {
		struct cell *c = cell_at(address + k * CELL);

		assert_true(is_usable(c, stream));
		*c = (struct cell){ .id = model.last_id };
	}
	model.live[i].address = address;
	model.live[i].bytes = bytes;
	model.live[i].id = model.last_id;
	model.used_cells += n_cells;
}

static void model_end(struct slu_pool_space *space, unsigned i, uint64_t stream)
{
	uint64_t n_cells = (model.live[i].bytes + CELL - 1) / CELL;
	struct slu_pool_space_block found;

	assert_true(slu_pool_space_find(space, model.live[i].address + model.live[i].bytes - 1,
					&found));
	assert_int_equal(found.address, model.live[i].address);
	assert_int_equal(found.bytes, model.live[i].bytes);
	assert_int_equal(found.id, model.live[i].id);
	model.position++;
	assert_int_equal(slu_pool_space_end(space, model.live[i].address, stream, model.position),
			 0);
	assert_int_equal(slu_pool_space_end(space, model.live[i].address, stream, model.position),
			 SLU_POOL_SPACE_E_UNKNOWN);
	assert_false(slu_pool_space_find(space, model.live[i].address, &found));
	for (uint64_t k = 0; k < n_cells; k++) {
		struct cell *c = cell_at(model.live[i].address + k * CELL);

		assert_int_equal(c->id, model.live[i].id);
		*c = (struct cell){ .stream = stream, .position = stream ? model.position : 0 };
	}
	model.live[i].bytes = 0;
	model.used_cells -= n_cells;
}

static bool is_free(unsigned segment)
{
	for (unsigned k = 0; k < CELLS; k++)
		if (!is_usable(&model.cells[segment][k], N_STREAMS + 1))
			return false;
	return model.is_there[segment];
}

/* Where everything is proven, all that is free is READY, in runs as long as can be. */
static void model_check_ready(const struct slu_pool_space *space)
{
	uint64_t next = 0, address, bytes, n_cells = 0, n_free = 0;

	while (slu_pool_space_next_ready(space, next, &address, &bytes)) {
		for (uint64_t k = 0; k < bytes / CELL; k++)
			assert_int_equal(cell_at(address + k * CELL)->id, 0);
		n_cells += bytes / CELL;
		next = address + bytes;
	}
	for (unsigned i = 0; i < N_SEGMENTS; i++)
		for (unsigned k = 0; model.is_there[i] && k < CELLS; k++)
			n_free += !model.cells[i][k].id;
	assert_int_equal(n_cells, n_free);
}

/*
 * Neighbours in one stream are one block at the later position: they are ready with it, which may
 * be later than in the model. So segments are taken out where everything is proven.
 */
static void model_take_out(struct slu_pool_space *space)
{
	void *owner;

	for (uint64_t stream = 1; stream <= N_STREAMS; stream++) {
		model.proven[stream] = model.position;
		slu_pool_space_prove(space, stream, model.position);
	}
	assert_false(slu_pool_space_is_pending(space, SLU_POOL_SPACE_NO_STREAM));
	model_check_ready(space);
	while ((owner = slu_pool_space_take_out(space, UINT64_MAX))) {
		unsigned i = (unsigned)((bool *)owner - model.is_there);

		assert_true(is_free(i));
		model.is_there[i] = false;
	}
	for (unsigned i = 0; i < N_SEGMENTS; i++)
		assert_false(is_free(i));
}

static void model_add(struct slu_pool_space *space, unsigned i)
{
	if (model.is_there[i])
		return;
	assert_int_equal(slu_pool_space_add(space, BASE + i * CELLS * CELL, CELLS * CELL,
					    &model.is_there[i]),
			 0);
	model.is_there[i] = true;
	for (unsigned k = 0; k < CELLS; k++)
		model.cells[i][k] = (struct cell){ 0 };
}

/* A run of cells of one segment is in use where one of them is. */
static void model_check_used(struct slu_pool_space *space, unsigned i, unsigned first, unsigned n)
{
	bool is_used = false;

	n = SLU_MIN(n, CELLS - first);
	if (!model.is_there[i])
		return;
	for (unsigned k = first; k < first + n; k++)
		is_used |= model.cells[i][k].id != 0;
	assert_int_equal(slu_pool_space_is_used(space, BASE + (i * CELLS + first) * CELL, n * CELL),
			 is_used);
}

static void model_check(const struct slu_pool_space *space)
{
	const struct slu_pool_space_stats *stats = slu_pool_space_stats(space);
	uint64_t n = 0;

	for (unsigned i = 0; i < N_SEGMENTS; i++)
		n += model.is_there[i];
	assert_int_equal(stats->used_bytes, model.used_cells * CELL);
	assert_int_equal(stats->reserved_bytes, n * CELLS * CELL);
	assert_true(stats->used_bytes_high >= stats->used_bytes);
}

static void test_blocks_are_where_the_streams_may_have_them(void **state)
{
	uint64_t seed = slu_test_seed(1);
	struct slu_pool_space *space = make_space();

	(void)state;
	for (int step = 0; step < N_STEPS; step++) {
		unsigned i = (unsigned)(slu_test_random(&seed) % N_LIVE);
		uint64_t stream = 1 + slu_test_random(&seed) % N_STREAMS;
		uint64_t largest = slu_test_random(&seed) % 4 ? 8 * CELL : CELLS * CELL;

		if (slu_test_random(&seed) % 64 == 0)
			model_add(space, (unsigned)(slu_test_random(&seed) % N_SEGMENTS));
		if (slu_test_random(&seed) % 256 == 0)
			model_take_out(space);
		/* all of a stream is proven: then the model and blocks that became one agree */
		if (slu_test_random(&seed) % 16 == 0) {
			model.proven[stream] = model.position;
			slu_pool_space_prove(space, stream, model.position);
		}
		if (model.live[i].bytes)
			model_end(space, i, slu_test_random(&seed) % 16 ? stream : 0);
		else
			model_take(space, i, 1 + slu_test_random(&seed) % largest, stream);
		model_check(space);
		model_check_used(space, (unsigned)(slu_test_random(&seed) % N_SEGMENTS),
				 (unsigned)(slu_test_random(&seed) % CELLS),
				 1 + (unsigned)(slu_test_random(&seed) % CELLS));
	}
	slu_pool_space_free(space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_block_is_used_again_at_once_in_the_stream_that_freed_it),
		cmocka_unit_test(test_a_stream_gets_its_own_memory_and_what_is_ready_in_one_piece),
		cmocka_unit_test(test_only_a_segment_that_is_ready_as_a_whole_is_taken_out),
		cmocka_unit_test(test_blocks_are_where_the_streams_may_have_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
