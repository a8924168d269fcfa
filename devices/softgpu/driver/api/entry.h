/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the entry-*.c files have in common. They hold the driver's functions under their public
 * names, check arguments in the genuine driver's order and hand on; nothing is decided there.
 */

#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/execution/capture.h"
#include "softgpu/driver/execution/command.h"

struct dev_graph;

#define DEV_TRY(call)                          \
	do {                                   \
		CUresult _dev_result = (call); \
		if (_dev_result)               \
			return _dev_result;    \
	} while (0)

/* The current context, and the stream of @handle in it. */
CUresult dev_entry_stream(CUstream handle, struct dev_context **ret_context,
			  struct dev_stream **ret_stream);

/*
 * Checks and submits @command, which it owns, to the stream of @handle. @wait: until it is done;
 * work on pageable memory is waited for in any case.
 */
CUresult dev_entry_submit(CUstream handle, struct dev_command *command, bool wait);

/*
 * Whether the program can look at @address without a call: pageable, pinned and managed memory.
 * What a blocking call has done there must be visible when it returns.
 */
bool dev_entry_host_sees(uint64_t address);

/* What a description of a copy means. */
CUresult dev_entry_box(const CUDA_MEMCPY3D *description, struct dev_command_copy *ret_box);

/* Carries it out; @blocking: waits where the host sees one of its ends. */
CUresult dev_entry_copy(const CUDA_MEMCPY3D *description, CUstream stream, bool blocking);

/* The parameters of a launch, gathered into a command. */
CUresult dev_entry_kernel(CUfunction function, const unsigned grid[3], const unsigned block[3],
			  unsigned shared_bytes, bool is_cooperative, void **params, void **extra,
			  struct dev_command **ret_command);

/* Whether all blocks of a cooperative launch can be on the card at once. */
CUresult dev_entry_check_cooperative(const struct dev_command_kernel *kernel);

/* Checks a list of nodes: all live, and of @graph, where one is given. */
CUresult dev_entry_nodes(const struct dev_graph *graph, const CUgraphNode *nodes, size_t n);

/* Of the data that an edge can have only "none" is known here. */
CUresult dev_entry_edges(const CUgraphEdgeData *edges, size_t n);

/* A whole file, to be freed; zeros follow it, so that it may be taken for a text. */
CUresult dev_entry_read_file(const char *path, char **ret_bytes, size_t *ret_n);
