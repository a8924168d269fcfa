/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Commands that wait for what their own thread does next: it queues a number of them behind a user
 * event, and sets that only then. Whoever made it wait for one of them would wait for ever.
 */

#include <stdio.h>
#include <stdlib.h>

#include "cl-util.h"

#define N_WORDS 12u /* a command each */

int main(void)
{
	uint32_t found[N_WORDS], words[N_WORDS];
	struct cl_bench b;
	cl_event event;
	cl_mem buffer;
	cl_int r;

	cl_open(&b, NULL, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	buffer = cl_buffer(&b, sizeof(words));
	event = clCreateUserEvent(b.context, &r);
	cl_check(r, "clCreateUserEvent");
	for (uint32_t i = 0; i < N_WORDS; i++) {
		words[i] = i * i + 1;
		cl_check(clEnqueueWriteBuffer(b.queue, buffer, CL_FALSE, i * sizeof(*words),
					      sizeof(*words), &words[i], 1, &event, NULL),
			 "clEnqueueWriteBuffer");
	}
	cl_check(clSetUserEventStatus(event, CL_COMPLETE), "clSetUserEventStatus");
	cl_check(clFinish(b.queue), "clFinish");
	cl_check(clEnqueueReadBuffer(b.queue, buffer, CL_TRUE, 0, sizeof(found), found, 0, NULL,
				     NULL),
		 "clEnqueueReadBuffer");
	for (uint32_t i = 0; i < N_WORDS; i++)
		if (found[i] != words[i]) {
			fprintf(stderr, "word %u is %u, not %u\n", i, found[i], words[i]);
			return CL_EXIT_WRONG;
		}
	cl_check(clReleaseEvent(event), "clReleaseEvent");
	cl_check(clReleaseMemObject(buffer), "clReleaseMemObject");
	cl_close(&b);
	puts("right");
	return CL_EXIT_RIGHT;
}
