/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs PTX kernels on the CPU, 32 lanes an instruction.
 *
 * A register is a row of 32 lanes, an instruction a call that loops over a row and that the
 * compiler turns into vector code. Lanes of a warp that part company are kept as groups, the one
 * that is furthest behind runs first, and they join where they meet; a group that does not let
 * others come on is made to wait after a while, so that lanes may spin for each other. Blocks are
 * spread over threads.
 *
 * A generic address is a host address, but for device memory: that lies in one window of addresses
 * with an access byte a page, and its bytes somewhere else, at the same distance for all of them.
 * Shared and local memory are buffers of the interpreter. Every access of every lane is checked
 * against these, so that a wrong one is a fault of the launch and never a signal. (Memory that the
 * launch may touch must therefore not be unmapped under it: who wants to take a page away from a
 * running kernel maps something harmless over it after clearing the access byte.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx/ptx.h"

enum {
	DEV_INTERP_READ = 1 << 0,
	DEV_INTERP_WRITE = 1 << 1,
};

/* Memory outside the device's window that kernels may use: pinned host memory. */
struct dev_interp_range {
	uint64_t base;
	uint64_t bytes;
	uint8_t access;
};

struct dev_interp_memory {
	/* the window: @bytes from @base, in pages of 1 << @shift bytes */
	uint64_t base;
	uint64_t bytes;
	uint8_t *view; /* where the window's bytes really are */
	unsigned shift;
	const uint8_t *access; /* one byte a page: DEV_INTERP_READ | DEV_INTERP_WRITE */
	/* the truth about a launch: one byte a page, bits are added for what was read and written;
	 * may be NULL */
	uint8_t *touched;
	/* in rising order, without overlap */
	const struct dev_interp_range *ranges;
	size_t n_ranges;
	/* what was read from and written to @ranges, in bytes, is added here; may be NULL */
	uint64_t *range_bytes;
	/* asked by any worker where a page's byte does not allow an access; says whether it may be
	 * made after all, and then the byte allows it; may be NULL */
	bool (*admit)(void *userdata, uint64_t page, uint8_t want);
	void *userdata;
};

enum dev_interp_fault_kind {
	DEV_INTERP_FAULT_NONE,
	DEV_INTERP_FAULT_ADDRESS,    /* nothing there, or no right to it: illegal address */
	DEV_INTERP_FAULT_MISALIGNED, /* misaligned address */
	DEV_INTERP_FAULT_SPACE,	     /* outside the shared, local or parameter window */
	DEV_INTERP_FAULT_TRAP,	     /* the kernel executed trap */
	DEV_INTERP_FAULT_ASSERT,     /* the kernel called __assertfail */
	DEV_INTERP_FAULT_PC,	     /* an indirect call to something that is no function */
	DEV_INTERP_FAULT_STACK,	     /* calls nested too deep */
	DEV_INTERP_FAULT_BARRIER,    /* threads wait at barriers that nobody will complete */
	DEV_INTERP_FAULT_OBJECT,     /* no texture or surface object, or one of another shape */
	DEV_INTERP_FAULT_CANCELLED,  /* *cancel became true */
	DEV_INTERP_FAULT_NO_MEMORY,  /* the host had no memory for the launch */
	_DEV_INTERP_FAULT_MAX,
};

/* The first fault of a launch. */
struct dev_interp_fault {
	enum dev_interp_fault_kind kind;
	uint64_t address; /* of the access, where there was one */
	bool is_write;
	unsigned size; /* of the access */
	const char *kernel;
	unsigned block[3];
	unsigned thread[3];
	unsigned line; /* of the PTX text */
	/* of the program that it was made from; 0: the text does not say */
	uint32_t source_file;
	uint32_t source_line;
	const char *form;
};

const char *dev_interp_fault_name(enum dev_interp_fault_kind kind);

struct dev_interp_heap;	 /* heap.h */
struct dev_interp_image; /* image.h */

/* A module made ready to run; refers to the parsed module, which must outlive it. */
struct dev_interp_module;

int dev_interp_module_new(const struct slu_ptx_module *ptx, struct dev_interp_module **ret_module);
void dev_interp_module_free(struct dev_interp_module *module);

/*
 * Decodes @kernel and what it calls, once; later calls cost nothing. Thread-safe. What the
 * interpreter cannot run (a call of an undefined function, a form it lacks) is refused with its
 * place in the text.
 *
 * Return: 0, DEV_INTERP_E_REFUSED, -ENOMEM.
 */
enum {
	_DEV_INTERP_E_SUCCESS,
	DEV_INTERP_E_REFUSED,
	DEV_INTERP_E_FAULT,
};
int dev_interp_module_prepare(struct dev_interp_module *module,
			      const struct slu_ptx_function *kernel,
			      struct slu_ptx_error *ret_error);
/*
 * Is there a kernel that prepare() would refuse, for another reason than a function of the device
 * runtime that is missing? Return: as dev_interp_module_prepare().
 */
int dev_interp_module_check(struct dev_interp_module *module, struct slu_ptx_error *ret_error);

/* Does anything in the module call malloc? */
bool dev_interp_builtin_uses_heap(const struct dev_interp_module *module);

/*
 * What an address in a module's initial bytes becomes when it points to a function: the value
 * that an indirect call takes.
 */
uint64_t dev_interp_module_function_address(const struct slu_ptx_function *function);

struct dev_interp_launch {
	struct dev_interp_module *module;
	const struct slu_ptx_function *kernel; /* prepared */
	unsigned grid[3];
	unsigned block[3];
	uint64_t dynamic_shared_bytes;
	const void *params; /* kernel->param_bytes bytes */
	const struct dev_interp_memory *memory;
	/* generic address of each of the module's variables, by its index; entries of .shared ones
	 * are not read */
	const uint64_t *variables;
	unsigned n_workers;  /* threads to use, the caller's included; 0 and 1: only the caller */
	bool is_cooperative; /* every block makes progress beside the others */
	const bool *cancel;  /* read now and then; may be NULL */
	/* Asked now and then by all threads: whether the launch shall stand still. Where it shall,
	 * @rest is called once all of them do, by one of them, and they go on when it returns. May
	 * be NULL, both. */
	bool (*must_rest)(void *userdata);
	void (*rest)(void *userdata);
	/* printf: one formatted text; called by several threads, one at a time; may be NULL */
	void (*print)(void *userdata, const char *text, size_t size);
	/* the same for what a failed assertion says */
	void (*complain)(void *userdata, const char *text, size_t size);
	struct dev_interp_heap *heap; /* of malloc and free; NULL: there is no memory */
	/* cudaGraphSetConditional: says whether there is such a condition; called by several
	 * threads; NULL: there is none */
	bool (*set_condition)(void *userdata, uint64_t handle, uint32_t value);
	/* what a texture object, or a surface object, stands for; lives as long as the launch;
	 * called by several threads; NULL: there are none */
	const struct dev_interp_image *(*find_image)(void *userdata, uint64_t object,
						     bool is_surface);
	void *userdata;
};

/*
 * Runs the launch and returns when its last block has ended.
 *
 * Return: 0, DEV_INTERP_E_FAULT with *ret_fault filled, -EINVAL for a shape that cannot be run
 * (a dimension of 0, more than 1024 threads a block, a kernel that was not prepared).
 */
int dev_interp_launch(const struct dev_interp_launch *launch, struct dev_interp_fault *ret_fault);
