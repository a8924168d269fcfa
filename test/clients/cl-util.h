/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the small OpenCL programs have in common. They are ordinary programs: they know nothing of
 * Sluice and end with an exit status that says what happened.
 */

#define CL_TARGET_OPENCL_VERSION 300

#include <stdint.h>

#include <CL/cl.h>

#include "client.h"

enum cl_exit {
	CL_EXIT_RIGHT = CLIENT_EXIT_RIGHT,
	CL_EXIT_WRONG = CLIENT_EXIT_WRONG,
	CL_EXIT_OPENCL = 3,    /* an OpenCL call failed */
	CL_EXIT_NO_MEMORY = 4, /* an OpenCL call failed for want of memory */
	CL_EXIT_NO_DEVICE = 5, /* there is no device */
	CL_EXIT_ALONE = 6,     /* the other process went away */
};

#define CL_EXIT_TEXT                                                                      \
	"Exit status: 0 right, 1 wrong contents, 2 usage, 3 an OpenCL call failed, 4 it " \
	"failed for want of memory, 5 no device, 6 the other process went away.\n"

struct cl_bench {
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
};

/* Ends the program with a line on stderr where @r is an error. */
void cl_check(cl_int r, const char *what);

/* The first device of the first platform that has one; a queue on it; @source, if any, built for
 * it. */
void cl_open(struct cl_bench *b, const char *source, cl_command_queue_properties properties);
void cl_close(struct cl_bench *b);

cl_mem cl_buffer(struct cl_bench *b, size_t bytes);
void cl_launch(struct cl_bench *b, cl_kernel kernel, size_t n_items);
