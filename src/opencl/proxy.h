/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A proxy is the cl_mem that the program sees. Proxies lie in a private range of addresses, so a
 * comparison tells whether eight bytes of a kernel argument are an object, and no number that a
 * program computes looks like one. The first word of a proxy is the dispatch pointer that the ICD
 * rule demands. A freed slot is the last one to be used again, so a stale handle finds an empty
 * slot and gets CL_INVALID_MEM_OBJECT, not another object.
 *
 *   (free) -> LIVE    [slu_proxy_new]     the program does not know it yet
 *   LIVE   -> DYING   [slu_proxy_unref]   after the last reference; handles no longer resolve,
 *                                         commands may still use it
 *   DYING  -> (free)  [slu_proxy_free]    no command uses it; callbacks have run
 *
 * A *root* is an object with memory of its own, one unit. A buffer is its own root; sub-buffers and
 * images on a buffer are children of one and keep a reference of it. The real object of a movable
 * root exists while its unit is on the device; `generation` counts how often it was created. The
 * real object of a child belongs to one generation of its root.
 *
 * A movable root holds exactly one reference of its context: through its real object, or itself
 * while it has none. So the context lives as long as the driver's own rules say, and the program
 * sees the same count as without the layer.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/digest.h"
#include "opencl/layer.h"
#include "opencl/shape.h"
#include "opencl/worker.h"
#include "place/unit.h"

#define SLU_PROXY_SLOTS_MAX (1u << 20)

/* Queues with a fast path (fastpath.h) at one time. */
#define SLU_FASTPATH_SLOTS 8

/* Freed slots that rest before the first of them is used again. */
#define SLU_PROXY_RESTING 1024

struct slu_command;
struct slu_context;
struct slu_device;
struct slu_headroom;

enum slu_proxy_state {
	SLU_PROXY_FREE,
	SLU_PROXY_LIVE,
	SLU_PROXY_DYING,
};

/* What a command may do to an object; each includes the one before it. */
enum slu_access {
	SLU_ACCESS_READ,    /* the API's own rules keep it from writing */
	SLU_ACCESS_SUSPECT, /* it promises not to write (const), which a cast takes back */
	SLU_ACCESS_WRITE,
	_SLU_ACCESS_MAX,
};

/* A destructor callback of the program. */
struct slu_proxy_notify {
	void(CL_CALLBACK *call)(cl_mem, void *);
	void *data;
	struct slu_proxy_notify *next; /* the one registered before: called after this one */
};

/* The commands in flight that name a root: one an in-order queue, all of an out-of-order one. */
struct slu_proxy_track {
	struct slu_command **items;
	unsigned n_items, n_capacity;
};

struct slu_proxy {
	const void *dispatch;		 /* of the context; never written by us afterwards */
	STAILQ_ENTRY(slu_proxy) resting; /* while FREE; guarded by the layer's lock */
	_Atomic uint32_t serial;	 /* changes with every use of the slot */
	_Atomic uint8_t state;		 /* enum slu_proxy_state */
	_Atomic uint32_t n_refs;	 /* the program's, and one a child */

	/* constant while LIVE */
	cl_mem_object_type type;
	cl_mem_flags flags; /* as the program gave them; of a child with what it inherits */
	uint64_t size_bytes;
	uint64_t origin_bytes; /* of a sub-buffer in its root */
	void *host_ptr;	       /* as the program gave it, with CL_MEM_USE_HOST_PTR */
	bool is_in_svm;	       /* of a root: that is shared virtual memory */
	struct slu_context *context;
	struct slu_device *device; /* whose account paid at first; NULL: the client does not know
				      it */
	struct slu_proxy *root;	   /* itself, or the buffer that it is a part of */
	struct slu_proxy *parent;  /* the object it was made from, for the program's questions */
	bool is_movable;	   /* a root whose real object comes and goes */

	struct slu_shape shape; /* of an image that moves, or whose root does */

	struct slu_headroom *headroom; /* of a stand-in: its call; NULL: an object */
	struct slu_unit *unit;	       /* of a root; constant while LIVE. NULL: not charged */

	/* of a movable root: written by the back end while nothing names the unit, read by
	 * threads that name it. Of all others constant while LIVE. Of a child of a movable root
	 * guarded by the layer's lock. */
	cl_mem real;
	uint64_t generation;
	bool holds_context;
	cl_int create_error;	       /* what the driver said at the last failed creation */
	_Atomic(const void *) initial; /* contents for the creation, within clCreateBuffer only */

	/* of a movable root: results of comparing (compare.c); the mover's while it moves */
	struct slu_digest backing_digest; /* of the backing … */
	uint64_t backing_version;	  /* … of this version; 0: none */
	bool breaks_promise;		  /* a kernel changed it that promised not to */

	/* of a root: the fast path (fastpath.h) */
	/* by what it is known to be used for already: a number of the device's; 0: none */
	_Atomic uint64_t leases[_SLU_ACCESS_MAX];
	_Atomic bool lease_is_breaking; /* taken away; some may still rely on it */
	_Atomic uint64_t
		runs[SLU_FASTPATH_SLOTS]; /* stamp of the last launch there that named it; 0: none
					   */

	/* guarded by the layer's lock */
	LIST_HEAD(, slu_proxy) children; /* of a root */
	LIST_ENTRY(slu_proxy) sibling;	 /* of a child */
	struct slu_proxy_notify *notify;
	struct slu_proxy_track track;	   /* of a root */
	uint32_t n_maps;		   /* what CL_MEM_MAP_COUNT says */
	uint32_t n_holds;		   /* of a root: mappings that keep it in place */
	uint32_t n_held;		   /* of a root: n_holds as the client knows it, 0 or 1 */
	bool hold_is_changing;		   /* of a root: a thread reports to the client */
	uint32_t n_awaited;		   /* while DYING: completions that will come */
	struct slu_worker_job release_job; /* while DYING */
};

/*
 * A new proxy: LIVE, one reference, its own root, all else zero.
 *
 * Return: 0, or -ENOMEM.
 */
int slu_proxy_new(struct slu_proxy **ret_proxy);

/* Frees the slot, which must be empty. */
void slu_proxy_free(struct slu_proxy *proxy);

/* Whether @value lies in the range; nothing is read. */
bool slu_proxy_is_handle(const void *value);

/* The live proxy behind the program's handle, or NULL. */
struct slu_proxy *slu_proxy_find(const void *handle);

static inline cl_mem slu_proxy_handle(struct slu_proxy *proxy)
{
	return (cl_mem)proxy;
}

/*
 * What a kernel may do to @proxy, an argument that it reaches by @access. CL_MEM_READ_ONLY is the
 * program's promise that kernels only read it, and no driver holds it to that: a kernel that says
 * otherwise is suspect.
 */
static inline enum slu_access slu_proxy_access(const struct slu_proxy *proxy,
					       enum slu_access access)
{
	if (!(proxy->flags & CL_MEM_READ_ONLY))
		return access;
	return access == SLU_ACCESS_WRITE ? SLU_ACCESS_SUSPECT : SLU_ACCESS_READ;
}

static inline void slu_proxy_ref(struct slu_proxy *proxy)
{
	atomic_fetch_add(&proxy->n_refs, 1);
}

/* Return: true if that was the last one; it is DYING now, and the caller releases it (memory.h). */
bool slu_proxy_unref(struct slu_proxy *proxy);
