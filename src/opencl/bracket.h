/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bracket around one command of the program: from the naming of its objects to the note of
 * its event. Between slu_bracket_begin() and slu_bracket_end() all named units are on the device
 * and stay there, and their real handles may be given to the driver.
 *
 * No thread waits for the driver inside a bracket: a blocking call submits its command inside and
 * waits outside. So a thread that waits (perhaps for a user event that another thread sets) never
 * keeps a turn from ending or a unit from leaving.
 *
 *   struct slu_name name = { buffer, SLU_ACCESS_WRITE };
 *   struct slu_bracket b;
 *   cl_int r;
 *
 *   do {
 *           r = slu_bracket_begin(&b, queue, 1, &name);
 *           if (!r)
 *                   r = next.clEnqueueX(queue, name.real, …, &b.event);
 *   } while (slu_bracket_again(&b, r));
 *   return slu_bracket_end(&b, r, blocking, n_wait, wait, event);
 */

#include "opencl/command.h"
#include "opencl/layer.h"
#include "opencl/proxy.h"

#define SLU_BRACKET_INLINE 16

struct slu_name {
	cl_mem handle;		 /* the program's */
	enum slu_access access;	 /* what the command may do to it */
	struct slu_proxy *proxy; /* out: behind the handle */
	cl_mem real;		 /* out: the driver's */
};

struct slu_bracket {
	struct slu_queue *queue; /* NULL: the bracket is empty, begin failed at once */
	struct slu_name *names;	 /* the caller's array */
	size_t n_names;
	struct slu_unit **units; /* on the queue's device, each once */
	size_t n_units;
	struct slu_proxy **roots; /* each once */
	size_t n_roots;
	cl_event event;	 /* where the driver puts the command's event */
	uint64_t covers; /* what the command will cover (fastpath.h) */
	bool has_queue;	 /* the bracket has a reference of the queue */
	bool is_inside;	 /* between slu_client_command_begin() and its end */
	bool is_fast;	 /* on the fast path, inside the gate (fastpath.h) */
	bool is_slow;	 /* set by the caller: not on the fast path */
	struct slu_unit *few_units[SLU_BRACKET_INLINE];
	struct slu_proxy *few_roots[SLU_BRACKET_INLINE];
};

/*
 * Names the objects (a NULL handle is CL_INVALID_MEM_OBJECT), waits for the depth of the
 * queue (flight.h), for the turn and for their units, and fills in proxies and real handles. @names
 * must stay until the end.
 *
 * Return: CL_SUCCESS, or what the call answers; slu_bracket_end() is due in both cases.
 */
cl_int slu_bracket_begin(struct slu_bracket *bracket, cl_command_queue queue, size_t n_names,
			 struct slu_name *names);

/* The same in two steps, for calls that check something between, or set is_slow. */
cl_int slu_bracket_open(struct slu_bracket *bracket, cl_command_queue queue, size_t n_names,
			struct slu_name *names);
cl_int slu_bracket_enter(struct slu_bracket *bracket);

/*
 * If @r is CL_SUCCESS, notes the command and marks the objects that it writes. Then leaves, returns
 * the event if the program wants it, and waits for it if @blocking.
 *
 * Return: what the call answers.
 */
cl_int slu_bracket_end(struct slu_bracket *bracket, cl_int r, cl_bool blocking, cl_uint n_wait,
		       const cl_event *wait, cl_event *event);

/*
 * Before the end: whether @r, the answer to the command, may mean that the driver has no memory
 * for an object that was made without a proof. Then the layer evicts such objects and leaves
 * the bracket, and the caller begins again; the next time the objects are proven.
 *
 * In two steps for callers that must give something back before the second one.
 */
bool slu_bracket_again(struct slu_bracket *bracket, cl_int r);
bool slu_bracket_is_refused(const struct slu_bracket *bracket, cl_int r);
void slu_bracket_retreat(struct slu_bracket *bracket);

/* The real handle of @proxy, whose root is on the device and named; a child's is made if needed. */
cl_int slu_bracket_real(struct slu_proxy *proxy, cl_mem *ret_real);

/*
 * Keep @root in place, and let it move again. Both are counted; the client learns of the first hold
 * and of the last release. The caller must name the root.
 */
void slu_bracket_hold(struct slu_proxy *root, enum slu_frozen why);
void slu_bracket_unhold(struct slu_proxy *root);
