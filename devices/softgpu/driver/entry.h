/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the entry-*.c files have in common. They hold the driver's functions under their public
 * names, check arguments in the genuine driver's order and hand on; nothing is decided there.
 */

#include "softgpu/driver/capture.h"
#include "softgpu/driver/command.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"

struct slu_graph;

#define SLU_TRY(call)                          \
	do {                                   \
		CUresult _slu_result = (call); \
		if (_slu_result)               \
			return _slu_result;    \
	} while (0)

/* The current context, and the stream of @handle in it. */
CUresult slu_entry_stream(CUstream handle, struct slu_context **ret_context,
			  struct slu_stream **ret_stream);

/*
 * Checks and submits @command, which it owns, to the stream of @handle. @wait: until it is done;
 * work on pageable memory is waited for in any case.
 */
CUresult slu_entry_submit(CUstream handle, struct slu_command *command, bool wait);

/*
 * Whether the program can look at @address without a call: pageable, pinned and managed memory.
 * What a blocking call has done there must be visible when it returns.
 */
bool slu_entry_host_sees(uint64_t address);

/* What a description of a copy means; arrays are not supported. */
CUresult slu_entry_box(const CUDA_MEMCPY3D *description, struct slu_command_copy *ret_box);

/* The parameters of a launch, gathered into a command. */
CUresult slu_entry_kernel(CUfunction function, const unsigned grid[3], const unsigned block[3],
			  unsigned shared_bytes, bool is_cooperative, void **params, void **extra,
			  struct slu_command **ret_command);

/* Whether all blocks of a cooperative launch can be on the card at once. */
CUresult slu_entry_check_cooperative(const struct slu_command_kernel *kernel);

/* Checks a list of nodes: all live, and of @graph, where one is given. */
CUresult slu_entry_nodes(const struct slu_graph *graph, const CUgraphNode *nodes, size_t n);

/* Of the data that an edge can have only "none" is known here. */
CUresult slu_entry_edges(const CUgraphEdgeData *edges, size_t n);

/* A whole file, to be freed; zeros follow it, so that it may be taken for a text. */
CUresult slu_entry_read_file(const char *path, char **ret_bytes, size_t *ret_n);
