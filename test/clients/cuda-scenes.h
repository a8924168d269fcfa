/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scenes of a CUDA program's life, one a run, in a program that is linked with the driver as most
 * are. A scene checks what it sees by itself and ends the program with a line on stderr and a
 * status of its own where something is not as with a driver alone.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuabi/cuda-calls.h"

#define EXPECT(condition)                                                                         \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

#define ANSWERS(wanted, call)                                                                \
	do {                                                                                 \
		CUresult answer_ = (call);                                                   \
		if (answer_ != (wanted)) {                                                   \
			fprintf(stderr, "%s:%d: %d instead of %d: %s\n", __FILE__, __LINE__, \
				(int)answer_, (int)(wanted), #call);                         \
			exit(3);                                                             \
		}                                                                            \
	} while (0)

#define OK(call) ANSWERS(CUDA_SUCCESS, call)

/* x = 3 x + k for each of n words; and a kernel that runs for so many milliseconds. */
extern CUcontext scene_context;
extern CUfunction scene_step, scene_spin;

/* Loads the kernels into the current context. */
void scene_load(void);

void scene_launch_step(CUdeviceptr p, uint32_t n, uint32_t k, CUstream stream);
void scene_launch_spin(uint64_t ms, CUstream stream);

/* The word after each step, as the kernel makes it. */
static inline uint32_t scene_next(uint32_t x, uint32_t k)
{
	return 3 * x + k;
}

/* Whether every one of @n words at @p is @x. */
void scene_check(CUdeviceptr p, uint32_t n, uint32_t x);

/* cuda-scenes-wait.c: scenes with another process at the end of a pipe */
void scene_host_waits(const char *how);
void scene_spins(const char *ms);
void scene_pulse(const char *rounds);
void scene_stream_waits(const char *how);
void scene_graph_waits(const char *how);
void scene_runs_ahead(const char *how);
void scene_threads(const char *n_threads);
void scene_passes_by(const char *unused);
void scene_graph_keeps(const char *n_times);
void scene_graph_memory(const char *how);

/* cuda-scenes-memory.c: scenes whose accounts somebody compares, step by step */
void scene_virtual_memory(const char *unused);
void scene_small_memory(const char *unused);
void scene_churned_memory(const char *unused);

/* cuda-scenes-maps.c: memory that the program maps itself, in random order */
void scene_maps(const char *rounds);

/* cuda-scenes-pool.c: memory in the order of streams */
void scene_pool_rules(const char *unused);
void scene_pieces(const char *unused);
void scene_kept_memory(const char *unused);
void scene_late_frees(const char *unused);
void scene_pools(const char *rounds);

/* cuda-scenes-texture.c: textures over memory that moves */
void scene_textures(const char *rounds);
void scene_late_texture(const char *mib);

/* cuda-scenes-limit.c: more than the program may own */
void scene_limit(const char *kind);
void scene_denied_cache(const char *unused);

/* cuda-scenes-kernels.c: kernels that come and go */
void scene_kernels(const char *rounds);
