/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/arena.h"

#define CHUNK_BYTES ((size_t)64 << 10)

struct chunk {
	struct chunk *next;
	size_t used;
	size_t size;
	max_align_t bytes[];
};

struct slu_ptx_arena {
	struct chunk *chunks; /* the first one is being filled */
};

struct slu_ptx_arena *slu_ptx_arena_new(void)
{
	return calloc(1, sizeof(struct slu_ptx_arena));
}

void slu_ptx_arena_free(struct slu_ptx_arena *arena)
{
	struct chunk *next;

	if (!arena)
		return;
	for (struct chunk *c = arena->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(arena);
}

void *slu_ptx_arena_take(struct slu_ptx_arena *arena, size_t size)
{
	struct chunk *c = arena->chunks;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = slu_round_up(size, 16);
	if (!c || c->size - c->used < size) {
		size_t n = SLU_MAX(size, CHUNK_BYTES);

		c = calloc(1, sizeof(*c) + n);
		if (!c)
			return NULL;
		c->size = n;
		/* a piece of its own size must not end the chunk that is still half empty */
		if (arena->chunks && n > CHUNK_BYTES) {
			c->next = arena->chunks->next;
			arena->chunks->next = c;
		} else {
			c->next = arena->chunks;
			arena->chunks = c;
		}
	}
	p = (char *)c->bytes + c->used;
	c->used += size;
	return p;
}

void *slu_ptx_arena_copy(struct slu_ptx_arena *arena, const void *bytes, size_t size)
{
	void *p = slu_ptx_arena_take(arena, size);

	if (p && size)
		memcpy(p, bytes, size);
	return p;
}

char *slu_ptx_arena_string(struct slu_ptx_arena *arena, const char *text, size_t size)
{
	char *p = slu_ptx_arena_take(arena, size + 1);

	if (p)
		memcpy(p, text, size);
	return p;
}
