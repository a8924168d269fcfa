/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The bracket around one command of the program: from the naming of its objects to the note of
 * its event. Between slu_bracket_begin() and slu_bracket_end() all named units are on the device
 * and stay there, and their real handles may be given to the driver.
 *
 * The driver is always asked without waiting: a blocking call submits its command inside the
 * bracket and waits outside, so that a thread which waits (perhaps for a user event that another
 * thread sets) never keeps a turn from ending or a unit from leaving.
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
	struct slu_proxy *proxy; /* out: behind it */
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
	bool has_queue;	 /* a reference of the queue's note is ours */
	bool is_inside;	 /* between begin and end of a command of the client's */
	bool is_fast;	 /* on the fast path, inside the gate (fastpath.h) */
	bool is_slow;	 /* the caller: not on the fast path */
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
 * Notes the command if @r says that it was submitted, marks what it writes, leaves, hands out the
 * event if the program wants it, and waits for it if @blocking.
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
 * In two steps for callers that hold something, which must be given before the second one.
 */
bool slu_bracket_again(struct slu_bracket *bracket, cl_int r);
bool slu_bracket_is_refused(const struct slu_bracket *bracket, cl_int r);
void slu_bracket_retreat(struct slu_bracket *bracket);

/* The real handle of @proxy, whose root is on the device and named; a child's is made if needed. */
cl_int slu_bracket_real(struct slu_proxy *proxy, cl_mem *ret_real);

/*
 * Keeps the root of @proxy where it is, or no longer: counted, and told to the client with the
 * first and the last. Only while the root is named by the caller.
 */
void slu_bracket_hold(struct slu_proxy *root, enum slu_frozen why);
void slu_bracket_unhold(struct slu_proxy *root);
