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
#include "softgpu/driver/fault.h"
#include "softgpu/driver/stream.h"

struct slu_condition;
struct slu_function;
struct slu_graph;
struct slu_graph_memory;
struct slu_mark;

enum slu_command_kind {
	SLU_COMMAND_EMPTY,
	SLU_COMMAND_COPY,
	SLU_COMMAND_SET,
	SLU_COMMAND_KERNEL,
	SLU_COMMAND_HOST,     /* a host function */
	SLU_COMMAND_CALLBACK, /* a stream callback: is called after an error, too */
	SLU_COMMAND_MARK,     /* an event is recorded */
	SLU_COMMAND_WRITE,    /* a value is written to memory */
	SLU_COMMAND_WAIT,     /* until a value in memory is as wanted */
	SLU_COMMAND_SIGNAL,   /* an event that several processes know is reached */
	SLU_COMMAND_LISTEN,   /* … and waited for */
	SLU_COMMAND_PREFETCH, /* managed memory goes where it will be used */
	SLU_COMMAND_ALLOC,    /* a graph's memory is there from here on */
	SLU_COMMAND_FREE,     /* … and is not needed any more */
	SLU_COMMAND_ARM,      /* a graph's condition gets its first value */
	SLU_COMMAND_BRANCH,   /* other graphs, as a condition says */
	/* these four stand in graphs only */
	SLU_COMMAND_RECORD, /* an event of the program's is recorded */
	SLU_COMMAND_AWAIT,  /* … and waited for */
	SLU_COMMAND_GRAPH,  /* another graph */
	SLU_COMMAND_BATCH,  /* values that are written and waited for, one after the other */
};

/* A box of @depth slices of @height rows of @width bytes; a plain copy has one row. */
struct slu_command_copy {
	uint64_t dst, src;
	uint64_t width, height, depth;
	uint64_t dst_pitch, src_pitch; /* from row to row */
	uint64_t dst_slice, src_slice; /* from slice to slice */
};

struct slu_command_set {
	uint64_t dst, pitch;
	uint64_t width, height; /* @width elements of @size bytes */
	uint32_t value;
	unsigned size;
};

struct slu_command_kernel {
	struct slu_function *function;
	unsigned grid[3], block[3];
	uint64_t shared_bytes;
	bool is_cooperative;
	void *params; /* owned */
	size_t param_bytes;
	void **pointers; /* owned; one a parameter, for whoever asked; NULL: nobody did */
};

struct slu_command_value {
	uint64_t address, value;
	unsigned size, flags;
};

struct slu_command_prefetch {
	uint64_t address, bytes;
	int where; /* a card, or SLU_MANAGED_HOST */
};

struct slu_command_batch {
	CUcontext context;
	CUstreamBatchMemOpParams *ops; /* owned */
	unsigned n, flags;
};

struct slu_command_branch {
	struct slu_condition *condition; /* holds a reference */
	CUgraphConditionalNodeType type;
	struct slu_graph **bodies; /* owned, and so is the array */
	unsigned n_bodies;
};

struct slu_command {
	TAILQ_ENTRY(slu_command) link;
	enum slu_command_kind kind;
	uint64_t submitted_ns;
	enum slu_fault_action fault;
	uint64_t extra_ns;
	struct slu_point *deps; /* owned; each holds its timeline */
	unsigned n_deps;
	union {
		struct slu_command_copy copy;
		struct slu_command_set set;
		struct slu_command_kernel kernel;
		struct {
			CUhostFn function;
			CUstreamCallback callback;
			CUstream stream;
			void *user;
		} host;
		struct slu_mark *mark;		 /* holds a reference */
		struct slu_graph_memory *memory; /* ALLOC, FREE: as above */
		CUevent event;			 /* RECORD, AWAIT */
		struct slu_graph *graph;	 /* GRAPH; owned */
		struct slu_condition *condition; /* ARM; holds a reference */
		struct slu_command_branch branch;
		struct slu_command_batch batch;
		struct slu_command_value value;
		struct slu_command_prefetch prefetch;
		struct {
			struct slu_card_ticket ticket;
			uint64_t number;
		} signal;
	};
};

struct slu_command *slu_command_new(enum slu_command_kind kind);
struct slu_command *slu_command_clone(const struct slu_command *command);
void slu_command_free(struct slu_command *command);

/* Adds a dependency; takes over the point's hold. Return: 0 or -ENOMEM. */
int slu_command_depend(struct slu_command *command, struct slu_point point);

/*
 * Counts it as an operation that may be told to fail, and looks at its arguments: a range that is
 * not usable now is refused here. Return: also whether it touches pageable memory.
 */
CUresult slu_command_check(struct slu_context *context, struct slu_command *command,
			   bool *ret_is_pageable);

/*
 * Carries it out, beginning at @start_ns of the device's time.
 * Return: when it ended.
 */
uint64_t slu_command_execute(struct slu_stream *stream, struct slu_command *command,
			     uint64_t start_ns);
