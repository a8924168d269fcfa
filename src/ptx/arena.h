/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory of a module: many small pieces that live equally long and are given back at once. Pieces
 * are zeroed and aligned to 16 bytes.
 */

#include <stddef.h>

struct slu_ptx_arena;

struct slu_ptx_arena *slu_ptx_arena_new(void);
void slu_ptx_arena_free(struct slu_ptx_arena *arena);

/* Return: @size zeroed bytes, or NULL. */
void *slu_ptx_arena_take(struct slu_ptx_arena *arena, size_t size);
/* A copy of @size bytes; of text, with a NUL behind it. */
void *slu_ptx_arena_copy(struct slu_ptx_arena *arena, const void *bytes, size_t size);
char *slu_ptx_arena_string(struct slu_ptx_arena *arena, const char *text, size_t size);
