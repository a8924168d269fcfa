/* SPDX-License-Identifier: Apache-2.0 */

#include "lib/families.h"

enum { ROUNDS = 16 };

/* @times commands in a row that name @unit. */
static void repeat(struct slu_namings *n, unsigned unit, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		slu_namings_add(n, unit);
}

/* -- what the constants were chosen with ------------------------------------------------------ */

static void cycle(struct slu_namings *n, unsigned times)
{
	for (unsigned i = 0; i < ROUNDS * 24; i++)
		repeat(n, i % 24, times);
}

static void large_cycle(struct slu_namings *n, unsigned times)
{
	for (unsigned i = 0; i < ROUNDS * 100; i++)
		repeat(n, i % 100, times);
}

/* Layers of several kernels: weights, and scratch memory that all of them use. */
static void layers(struct slu_namings *n, unsigned times)
{
	for (unsigned i = 0; i < ROUNDS * 24; i++)
		for (unsigned k = 0; k < times; k++) {
			slu_namings_add2(n, i % 24, 24);
			slu_namings_add2(n, 24, 25);
		}
}

/* Forward and backward. */
static void to_and_fro(struct slu_namings *n, unsigned times)
{
	for (unsigned r = 0; r < ROUNDS; r++)
		for (unsigned i = 0; i < 24; i++)
			repeat(n, r % 2 ? 23 - i : i, times);
}

/* Groups of six units; each group is gone through several times before the next one. */
static void nested(struct slu_namings *n, unsigned times)
{
	for (unsigned r = 0; r < ROUNDS; r++)
		for (unsigned group = 0; group < 5; group++)
			for (unsigned i = 0; i < 6 * times; i++)
				slu_namings_add(n, group * 6 + i % 6);
}

/* A product of matrices by blocks: C(i,j) += A(i,k) B(k,j). */
static void blocks(struct slu_namings *n, unsigned edge)
{
	for (unsigned r = 0; r < 4; r++)
		for (unsigned i = 0; i < edge; i++)
			for (unsigned j = 0; j < edge; j++)
				for (unsigned k = 0; k < edge; k++) {
					slu_namings_add2(n, i * edge + k, 64 + k * edge + j);
					slu_namings_also(n, 128 + i * edge + j);
				}
}

static void two_cycles(struct slu_namings *n, unsigned second)
{
	for (unsigned i = 0; i < 600; i++) {
		slu_namings_add(n, i % 13);
		slu_namings_add(n, 100 + i % second);
	}
}

/* A model whose caches grow: each layer has weights and a list of blocks. */
static void growing(struct slu_namings *n, unsigned times)
{
	for (unsigned step = 0; step < 48; step++)
		for (unsigned layer = 0; layer < 6; layer++) {
			repeat(n, layer, times);
			for (unsigned block = 0; block <= step / 8; block++)
				slu_namings_add2(n, layer, 10 + layer * 10 + block);
		}
}

static void hot_spots(struct slu_namings *n, unsigned hot)
{
	for (unsigned i = 0; i < 4000; i++)
		slu_namings_add(n, slu_namings_chance(n, 10) < 8
					   ? slu_namings_chance(n, hot)
					   : hot + slu_namings_chance(n, 64 - hot));
}

static void phases(struct slu_namings *n, unsigned times)
{
	for (unsigned phase = 0; phase < 6; phase++)
		for (unsigned i = 0; i < 6 * (20 + phase); i++)
			repeat(n, phase * 10 + i % (20 + phase), times);
}

/* A cycle that now and then does something else. */
static void unsteady(struct slu_namings *n, unsigned one_in)
{
	for (unsigned i = 0; i < ROUNDS * 24; i++) {
		repeat(n, i % 24, 3);
		if (slu_namings_chance(n, one_in) == 0)
			repeat(n, 24 + slu_namings_chance(n, 8), 2);
	}
}

/* -- held out --------------------------------------------------------------------------------- */

/* Each unit as often as it likes, the same in every round. */
static void uneven(struct slu_namings *n, unsigned most)
{
	for (unsigned i = 0; i < ROUNDS * 30; i++)
		repeat(n, i % 30, 1 + i % 30 * 7 % most);
}

static void three_loops(struct slu_namings *n, unsigned times)
{
	for (unsigned r = 0; r < 8; r++)
		for (unsigned outer = 0; outer < 3; outer++)
			for (unsigned i = 0; i < 3; i++)
				for (unsigned middle = 0; middle < 3; middle++)
					for (unsigned k = 0; k < 4 * times; k++)
						slu_namings_add2(n, outer * 12 + middle * 4 + k % 4,
								 40 + outer);
}

static void three_rates(struct slu_namings *n, unsigned third)
{
	for (unsigned i = 0; i < 1200; i++) {
		slu_namings_add(n, i % 5);
		if (i % 2 == 0)
			slu_namings_add(n, 100 + i / 2 % 11);
		if (i % 3 == 0)
			slu_namings_add(n, 200 + i / 3 % third);
	}
}

/* An encoder once, then a decoder for as many steps as it takes. */
static void translate(struct slu_namings *n, unsigned times)
{
	for (unsigned job = 0; job < 12; job++) {
		unsigned n_steps = 4 + slu_namings_chance(n, 8);

		for (unsigned i = 0; i < 12; i++)
			repeat(n, i, times);
		for (unsigned i = 0; i < n_steps * 16; i++)
			for (unsigned k = 0; k < times; k++)
				slu_namings_add2(n, 12 + i % 16, 28);
	}
}

/* Layers with weights of their own and two of eight experts, some of which are liked more. */
static void experts(struct slu_namings *n, unsigned times)
{
	for (unsigned step = 0; step < 40; step++)
		for (unsigned layer = 0; layer < 6; layer++) {
			repeat(n, layer, times);
			for (unsigned e = 0; e < 2; e++) {
				unsigned a = slu_namings_chance(n, 8), b = slu_namings_chance(n, 8);

				repeat(n, 10 + layer * 8 + (a < b ? a : b), times);
			}
		}
}

/* Each piece of a stream is used for a while, beside a cycle that stays. */
static void stream(struct slu_namings *n, unsigned length)
{
	for (unsigned i = 0; i < 1500; i++)
		slu_namings_add2(n, i % 12, 20 + (i / 8 + slu_namings_chance(n, length)) % 200);
}

static void walk(struct slu_namings *n, unsigned stride)
{
	unsigned at = 0;

	for (unsigned i = 0; i < 3000; i++) {
		at = (at + 60 + slu_namings_chance(n, 2 * stride + 1) - stride) % 60;
		slu_namings_add(n, at);
	}
}

/* A cycle between which other units are named once each. */
static void one_off(struct slu_namings *n, unsigned every)
{
	for (unsigned i = 0; i < 12 * 24; i++) {
		repeat(n, i % 24, 4);
		if (i % every == 0)
			slu_namings_add(n, 100 + i / every % 300);
	}
}

/* Two grids by turns, in tiles, each with its neighbours. */
static void stencil(struct slu_namings *n, unsigned tiles)
{
	for (unsigned r = 0; r < 20; r++)
		for (unsigned i = 0; i < tiles; i++) {
			unsigned from = r % 2 * 100, to = 100 - from;

			slu_namings_add2(n, from + i, to + i);
			if (i)
				slu_namings_also(n, from + i - 1);
			if (i + 1 < tiles)
				slu_namings_also(n, from + i + 1);
		}
}

/* From the finest grid to the coarsest and back; a finer one has more pieces. */
static void multigrid(struct slu_namings *n, unsigned times)
{
	for (unsigned r = 0; r < 20; r++)
		for (unsigned i = 0; i < 9; i++) {
			unsigned level = i < 5 ? i : 8 - i, pieces = 16 >> level;

			for (unsigned k = 0; k < times * pieces; k++)
				slu_namings_add(n, level * 20 + k % pieces);
		}
}

/* The tiles of a square by diagonals, each with the ones above it and to its left. */
static void wavefront(struct slu_namings *n, unsigned edge)
{
	for (unsigned r = 0; r < 10; r++)
		for (unsigned d = 0; d < 2 * edge - 1; d++)
			for (unsigned y = d < edge ? 0 : d - edge + 1; y <= d && y < edge; y++) {
				unsigned x = d - y;

				slu_namings_add(n, y * edge + x);
				if (x)
					slu_namings_also(n, y * edge + x - 1);
				if (y)
					slu_namings_also(n, (y - 1) * edge + x);
			}
}

/* The stages of a Fourier transform: pairs at a distance that doubles. */
static void butterfly(struct slu_namings *n, unsigned pieces)
{
	for (unsigned r = 0; r < 10; r++)
		for (unsigned stride = 1; stride < pieces; stride *= 2)
			for (unsigned i = 0; i < pieces; i++)
				if (!(i & stride))
					slu_namings_add2(n, i, i + stride);
}

/* Forward; then each segment forward again and backward, from the last to the first. */
static void checkpoints(struct slu_namings *n, unsigned times)
{
	for (unsigned r = 0; r < 12; r++) {
		for (unsigned i = 0; i < 24; i++)
			repeat(n, i, times);
		for (unsigned segment = 6; segment-- > 0;) {
			for (unsigned i = 0; i < 4; i++)
				repeat(n, segment * 4 + i, times);
			for (unsigned i = 4; i-- > 0;)
				repeat(n, segment * 4 + i, times);
		}
	}
}

/* Layers that go round, each time with another batch of data. */
static void batches(struct slu_namings *n, unsigned times)
{
	for (unsigned i = 0; i < 60; i++) {
		unsigned batch = 100 + slu_namings_chance(n, 40);

		for (unsigned layer = 0; layer < 12; layer++) {
			repeat(n, layer, times);
			if (layer == 0 || layer == 11)
				slu_namings_also(n, batch);
		}
	}
}

const struct slu_family slu_families[] = {
	{ "cycle", false, true, 1, 16, 1, cycle, 15, 130 },
	{ "large cycle", false, true, 1, 16, 0, large_cycle, 80, 130 },
	{ "layers", false, true, 1, 8, 0, layers, 16, 130 },
	{ "to and fro", false, true, 1, 8, 0, to_and_fro, 15, 130 },
	{ "nested loops", false, true, 1, 8, 0, nested, 16, 130 },
	{ "blocks", false, true, 3, 6, 1, blocks, 20, 150 },
	{ "two cycles", false, true, 11, 29, 6, two_cycles, 18, 130 },
	{ "growing caches", false, true, 1, 8, 0, growing, 24, 130 },
	{ "phases", false, true, 1, 8, 0, phases, 15, 130 },
	{ "unsteady cycle", false, false, 4, 64, 0, unsteady, 16, 0 },
	{ "hot spots", false, false, 4, 16, 0, hot_spots, 20, 0 },
	{ "uneven cycle", true, true, 2, 14, 3, uneven, 18, 130 },
	{ "three loops", true, true, 1, 4, 0, three_loops, 20, 130 },
	{ "three rates", true, true, 7, 31, 6, three_rates, 20, 130 },
	{ "translation", true, true, 1, 8, 0, translate, 18, 150 },
	{ "multigrid", true, true, 1, 4, 0, multigrid, 20, 130 },
	{ "stencil", true, true, 12, 36, 12, stencil, 18, 130 },
	{ "one-off units", true, true, 2, 32, 0, one_off, 16, 180 },
	{ "wavefront", true, true, 4, 7, 1, wavefront, 12, 130 },
	{ "butterfly", true, true, 16, 64, 0, butterfly, 12, 150 },
	{ "checkpoints", true, true, 1, 8, 0, checkpoints, 15, 130 },
	{ "batches", true, false, 1, 8, 0, batches, 14, 0 },
	{ "experts", true, false, 1, 8, 0, experts, 30, 0 },
	{ "stream", true, false, 4, 32, 0, stream, 24, 0 },
	{ "walk", true, false, 1, 8, 0, walk, 20, 0 },
};
const size_t slu_n_families = sizeof(slu_families) / sizeof(slu_families[0]);

unsigned slu_family_next(const struct slu_family *f, unsigned parameter)
{
	unsigned next = f->step ? parameter + f->step : 2 * parameter;

	return next <= f->most ? next : 0;
}
