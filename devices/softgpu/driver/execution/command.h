/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A command: one thing that a stream does. Also what a graph's node holds: a graph is commands that
 * were not submitted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuabi/cuda-min.h"
#include "softgpu/driver/card-export.h"
#include "softgpu/driver/execution/stream.h"
#include "softgpu/driver/fault.h"

struct dev_condition;
struct dev_function;
struct dev_graph;
struct dev_graph_memory;
struct dev_mark;

enum dev_command_kind {
	DEV_COMMAND_EMPTY,
	DEV_COMMAND_COPY,
	DEV_COMMAND_SET,
	DEV_COMMAND_KERNEL,
	DEV_COMMAND_HOST,     /* a host function */
	DEV_COMMAND_CALLBACK, /* a stream callback: is called after an error, too */
	DEV_COMMAND_MARK,     /* an event is recorded */
	DEV_COMMAND_WRITE,    /* a value is written to memory */
	DEV_COMMAND_WAIT,     /* until a value in memory is as wanted */
	DEV_COMMAND_SIGNAL,   /* an event that several processes know is reached */
	DEV_COMMAND_LISTEN,   /* … and waited for */
	DEV_COMMAND_PREFETCH, /* managed memory goes where it will be used */
	DEV_COMMAND_ALLOC,    /* a graph's memory is there from here on */
	DEV_COMMAND_FREE,     /* … and is not needed any more */
	DEV_COMMAND_ARM,      /* a graph's condition gets its first value */
	DEV_COMMAND_BRANCH,   /* other graphs, as a condition says */
	/* these four stand in graphs only */
	DEV_COMMAND_RECORD, /* an event of the program's is recorded */
	DEV_COMMAND_AWAIT,  /* … and waited for */
	DEV_COMMAND_GRAPH,  /* another graph */
	DEV_COMMAND_BATCH,  /* values that are written and waited for, one after the other */
};

/* A box of @depth slices of @height rows of @width bytes; a plain copy has one row. */
struct dev_command_copy {
	uint64_t dst, src;
	uint64_t width, height, depth;
	uint64_t dst_pitch, src_pitch; /* from row to row */
	uint64_t dst_slice, src_slice; /* from slice to slice */
};

struct dev_command_set {
	uint64_t dst, pitch;
	uint64_t width, height; /* @width elements of @size bytes */
	uint32_t value;
	unsigned size;
};

struct dev_command_kernel {
	struct dev_function *function;
	unsigned grid[3], block[3];
	uint64_t shared_bytes;
	bool is_cooperative;
	void *params; /* owned */
	size_t param_bytes;
	void **pointers; /* owned; one a parameter, for whoever asked; NULL: nobody did */
};

struct dev_command_value {
	uint64_t address, value;
	unsigned size, flags;
};

struct dev_command_prefetch {
	uint64_t address, bytes;
	int where; /* a card, or DEV_MANAGED_HOST */
};

struct dev_command_batch {
	CUcontext context;
	CUstreamBatchMemOpParams *ops; /* owned */
	unsigned n, flags;
};

struct dev_command_branch {
	struct dev_condition *condition; /* holds a reference */
	CUgraphConditionalNodeType type;
	struct dev_graph **bodies; /* owned, and so is the array */
	unsigned n_bodies;
};

struct dev_command {
	TAILQ_ENTRY(dev_command) link;
	enum dev_command_kind kind;
	uint64_t submitted_ns;
	bool ends_use; /* FREE: of its memory, when it is carried out */
	enum dev_fault_action fault;
	uint64_t extra_ns;
	struct dev_point *deps; /* owned; each holds its timeline */
	unsigned n_deps;
	union {
		struct dev_command_copy copy;
		struct dev_command_set set;
		struct dev_command_kernel kernel;
		struct {
			CUhostFn function;
			CUstreamCallback callback;
			CUstream stream;
			void *user;
		} host;
		struct dev_mark *mark;		 /* holds a reference */
		struct dev_graph_memory *memory; /* ALLOC, FREE: as above, until done */
		CUevent event;			 /* RECORD, AWAIT */
		struct dev_graph *graph;	 /* GRAPH; owned */
		struct dev_condition *condition; /* ARM; holds a reference */
		struct dev_command_branch branch;
		struct dev_command_batch batch;
		struct dev_command_value value;
		struct dev_command_prefetch prefetch;
		struct {
			struct dev_card_ticket ticket;
			uint64_t number;
		} signal;
	};
};

struct dev_command *dev_command_new(enum dev_command_kind kind);
struct dev_command *dev_command_clone(const struct dev_command *command);
void dev_command_free(struct dev_command *command);

/* Adds a dependency; takes over the point's hold. Return: 0 or -ENOMEM. */
int dev_command_depend(struct dev_command *command, struct dev_point point);

/*
 * Counts it as an operation that may be told to fail, and looks at its arguments: a range that is
 * not usable now is refused here. @later: it becomes a part of a graph, whose memory may be missing
 * until the launch. Return: also whether it touches pageable memory.
 */
CUresult dev_command_check(struct dev_context *context, struct dev_command *command, bool later,
			   bool *ret_is_pageable);

/*
 * Carries it out, beginning at @start_ns of the device's time.
 * Return: when it ended.
 */
uint64_t dev_command_execute(struct dev_stream *stream, struct dev_command *command,
			     uint64_t start_ns);
