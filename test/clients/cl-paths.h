/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What cl-paths knows of its objects, for the ways in which they are changed (cl-ways.c).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cl-util.h"

#define PATHS_DEVICES_MAX 8
#define PATHS_WIDTH	  64 /* pixels of four words, of an image */

enum paths_kind { PATHS_BUFFER, PATHS_HOST, PATHS_IMAGE, PATHS_TABLE, _PATHS_KIND_MAX };

struct paths_object {
	enum paths_kind kind;
	cl_mem mem;
	uint32_t *own; /* of a PATHS_HOST */
	uint64_t number, n_steps;
};

struct paths {
	cl_context context;
	cl_command_queue queues[PATHS_DEVICES_MAX], queue; /* the one of this change */
	uint64_t n_devices;
	cl_kernel advance, look, plus, advance_image;
	cl_mem scratch, scratch_image;
	struct paths_object *objects; /* of each kind n_objects */
	uint64_t n_objects;
	uint32_t *host; /* as large as an object */
	size_t n_words;
	bool has_images, has_native, has_shared; /* all devices */
};

extern struct paths paths;

uint64_t paths_random(void);

static inline uint32_t paths_step_word(uint32_t x, uint32_t i)
{
	return x * 1664525u + 2 * i + 1;
}

static inline size_t paths_bytes(void)
{
	return paths.n_words * sizeof(uint32_t);
}

static inline size_t paths_rows(void)
{
	return paths.n_words / (4 * PATHS_WIDTH);
}

/* Makes @t with the contents that are in paths.host. */
void paths_make(struct paths_object *t);

/* The contents of @t to paths.host, and back. */
void paths_read(const struct paths_object *t);
void paths_write(const struct paths_object *t);

/* Makes one step of every word of @t; each @number another way, all of them in turn. */
void paths_step(struct paths_object *t, uint64_t number);
