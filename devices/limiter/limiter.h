/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The limiter: an OpenCL layer that makes any OpenCL device small.
 *
 * It lies between the driver and whoever else is there (OPENCL_LAYERS=libsluice-limiter.so:others;
 * the leftmost is nearest the driver), and plays a discrete GPU: a capacity that all processes
 * share through a board, a bus with a bandwidth each way, and truths about its memory that no query
 * tells. Handles are the driver's own.
 *
 * Environment:
 *   SLUICE_LIMITER_MEMORY     capacity ("64M"). Without it the layer does nothing at all.
 *   SLUICE_LIMITER_BOARD      name of the board in the folder of boards; default "opencl0". Further
 *                             devices count on from its number.
 *   SLUICE_LIMITER_IN, _OUT   bytes a second host to device, device to host; 0: no delay
 *   SLUICE_LIMITER_OVERHEAD   hidden bytes that a context takes
 *   SLUICE_LIMITER_ROUND      every object takes a multiple of this many bytes
 *   SLUICE_LIMITER_LATE_FREE  how long a free takes to take effect ("20ms", or milliseconds)
 *   SLUICE_LIMITER_FAIL       eager: a full device is CL_MEM_OBJECT_ALLOCATION_FAILURE at creation;
 *                             lazy: at the first command that names the object
 *   SLUICE_LIMITER_FAULT      "create:3,write:2,read:1,enqueue:5": the n-th call of that kind in
 *                             this process fails, see fault.h
 * A value that cannot be read is told on stderr, and then there is no device: a test must not run
 * on an unlimited one by mistake.
 *
 * What counts: buffers, images, pipes and SVM, from creation until the driver itself destroys them.
 * In a context of several devices each object counts on every device on which it was used, from its
 * first use there; SVM on the first one at once. Sub-buffers and images of buffers are part of
 * their parent. CL_MEM_USE_HOST_PTR counts (a discrete card keeps a copy); CL_MEM_ALLOC_HOST_PTR
 * does not: it is host memory, costs no bus when the host touches it, and a copy between it and a
 * device object crosses the bus. Kernels are not slowed.
 *
 * No lock is held while the driver is called.
 */

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif

/* programs use the old calls too */
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>

#include "base/lock.h"
#include "board/board.h"

#define DEV_LIMITER_DEVICES_MAX 16

/* The driver's calls; constant after clInitLayer. Entries that the driver lacks are NULL. */
extern cl_icd_dispatch dev_limiter_driver;

/* Guards every table of the limiter. */
extern struct slu_lock dev_limiter_lock;

#define DEV_CALL(name) __typeof__(*(cl_api_##name)NULL) dev_limiter_##name;
#include "limiter/calls.def"
#undef DEV_CALL

/* -- settings.c ----------------------------------------------------------------------------- */

struct dev_limiter_settings {
	uint64_t memory_bytes; /* 0: the limiter is off */
	char board[64];
	uint64_t bytes_per_s[2]; /* by engine IN, OUT */
	uint64_t overhead_bytes;
	uint64_t round_bytes; /* at least 1 */
	uint64_t late_free_ns;
	bool fails_lazily;
	uint64_t fault_at[4]; /* by kind of fault.h; 0: none */
};

extern struct dev_limiter_settings dev_limiter_settings; /* constant after clInitLayer */

/* Reads the environment. Return: 0, or -EINVAL after a line on stderr that says what is wrong. */
int dev_limiter_settings_read(void);

/* -- device.c ------------------------------------------------------------------------------- */

struct dev_limiter_device {
	cl_device_id id;
	struct dev_board *board;
	uint64_t capacity_bytes;
};

/* The device of a root or sub-device; NULL where it is not known or its board cannot be had. */
struct dev_limiter_device *dev_limiter_device_find(cl_device_id id);

/* Whether a command that names an object may be what takes its memory. */
bool dev_limiter_device_counts_uses(void);

/* -- context.c ------------------------------------------------------------------------------ */

struct dev_limiter_devices {
	unsigned n;						  /* 0: we know nothing of them */
	struct dev_limiter_device *list[DEV_LIMITER_DEVICES_MAX]; /* each once */
};

/* The devices on which the objects of a context may count. */
struct dev_limiter_devices dev_limiter_context_devices(cl_context context);

/* -- charge.c ------------------------------------------------------------------------------- */

/* Bytes taken on a board; remembers what it took. All zero: nothing. */
struct dev_limiter_charge {
	struct dev_limiter_device *device;
	uint64_t bytes, hidden_bytes;
	pid_t pid; /* a forked child has taken nothing */
};

/* Return: 0, DEV_BOARD_E_FULL, or an error of the board (-EUSERS: no slot is free). */
int dev_limiter_charge_take(struct dev_limiter_charge *charge, struct dev_limiter_device *device,
			    uint64_t bytes, uint64_t hidden_bytes);

/* As above, with the hidden bytes that an object of @bytes has. */
int dev_limiter_charge_object(struct dev_limiter_charge *charge, struct dev_limiter_device *device,
			      uint64_t bytes);
void dev_limiter_charge_give(struct dev_limiter_charge *charge);

/* -- memory.c ------------------------------------------------------------------------------- */

/* Whether an object lives in host memory. */
bool dev_limiter_memory_is_host(cl_mem mem);

/* Whether @mem is a memory object that we know. */
bool dev_limiter_memory_is_known(cl_mem mem);

/*
 * A command on @device names @mems: those that it is the first to use there take their memory.
 * Return: CL_SUCCESS or CL_MEM_OBJECT_ALLOCATION_FAILURE.
 */
cl_int dev_limiter_memory_use(const struct dev_limiter_device *device, cl_uint n_mems,
			      const cl_mem *mems);

/* -- kernel.c ------------------------------------------------------------------------------- */

/* dev_limiter_memory_use() of everything that is bound to a kernel. */
cl_int dev_limiter_kernel_use(const struct dev_limiter_device *device, cl_kernel kernel);
