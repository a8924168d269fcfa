/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The devices of a process as the shim knows them, and the contexts that the program made on them.
 *
 * Nothing happens in constructors, nor in cuInit(): the first allocation or gated call in a context
 * makes that context the *service context* of its device, the one in which our streams live, and
 * adds the device to the client. The streams are created then, once: creating them later would take
 * the context's lock behind running work.
 *
 *   NAMED -> STARTING -> SERVED  [slu_cuda_device_here]
 *      the first context that needs the device
 *   SERVED -> NAMED  [slu_cuda_contexts_end]
 *      the program destroys the service context, and all of its memory ends
 *   SERVED -> KEPT  [slu_cuda_contexts_end]
 *      the same, while other contexts have memory: they need our streams, so the service context
 *      stays, unseen by the program
 *   KEPT -> NAMED  [slu_cuda_contexts_end]
 *      the program destroys the last context of the device, and the shim the service context
 *   NAMED -> STARTING -> NAMED  [slu_cuda_entry_reserve_make]
 *      the driver has no memory for a first context
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "client/client.h"
#include "cuabi/cuda-min.h"
#include "cuda/compare.h"
#include "cuda/events.h"
#include "cuda/flight.h"
#include "cuda/graphmem.h"
#include "cuda/ledger.h"
#include "cuda/stream.h"
#include "cuda/waits.h"

#define SLU_CUDA_DEVICES_MAX  SLU_GATE_DEVICES_MAX
#define SLU_CUDA_CONTEXTS_MAX 64

struct slu_cuda_syncer;

struct slu_cuda_device {
	CUdevice ordinal;		  /* constant */
	unsigned index;			  /* the client's number; constant while SERVED */
	struct slu_client_device *client; /* constant while SERVED */
	uint64_t granule_bytes;		  /* constant after start */
	uint64_t slab_bytes;		  /* constant after start */
	bool can_map;  /* the MAPPED place was tried and works; constant after start */
	bool can_page; /* managed memory comes and goes by pages; constant after start */
	int numa_node; /* for it; constant after start */

	CUcontext service;		      /* guarded by the front lock; NULL if NAMED */
	bool is_service_kept;		      /* guarded by the front lock: KEPT */
	bool is_starting;		      /* guarded by the front lock: STARTING */
	bool is_making_slab;		      /* guarded by the front lock */
	CUstream streams[_SLU_DIRECTION_MAX]; /* in the service context; non-blocking */
	struct slu_cuda_events events;	      /* for copies there */
	struct slu_cuda_comparer comparer;    /* of extents there with their host copies */
	struct slu_cuda_syncer *syncer;	      /* waits for the device on a thread of its own */

	struct slu_cuda_flight flight;	     /* what is queued there; while SERVED */
	struct slu_cuda_streams stream_uses; /* and where; while SERVED */
	struct slu_cuda_waits waits;	     /* and what waits there */
	struct slu_cuda_graphmem graphmem;   /* what its graphs own */

	_Atomic uint32_t n_capturing; /* streams that the program is capturing */
	_Atomic uint32_t n_passing;   /* threads that went by the gate, in a capture (gate.h) */
	_Atomic uint64_t n_passed;    /* how often that was */
	_Atomic bool passes_by;	      /* work that we never saw was met (bypass.h) */
};

struct slu_cuda {
	struct slu_lock lock;	/* SLU_LOCK_FRONT: the ledger, the contexts */
	pthread_cond_t changed; /* what a thread waits for under the lock may have come */
	struct slu_ledger *ledger;
	unsigned n_devices; /* constant after start */
	struct {
		CUcontext context;
		CUdevice ordinal;
		unsigned n_attached; /* by cuCtxAttach(): so many cuCtxDetach() do not end it */
	} contexts[SLU_CUDA_CONTEXTS_MAX]; /* guarded by lock: the program's, alive */
	unsigned n_contexts;
	struct slu_cuda_device devices[SLU_CUDA_DEVICES_MAX];
};

extern struct slu_cuda slu_cuda;

/*
 * The device of the calling thread's current context, SERVED. NULL when the thread has no context,
 * or the shim could not start: then the caller makes the genuine call and returns its answer.
 */
struct slu_cuda_device *slu_cuda_device_here_slow(void);

extern _Atomic(struct slu_cuda_device *) slu_cuda_only_device;

/* Most processes use one device: then no driver call is needed to know which. */
static inline struct slu_cuda_device *slu_cuda_device_here(void)
{
	struct slu_cuda_device *only =
		atomic_load_explicit(&slu_cuda_only_device, memory_order_acquire);

	return only ? only : slu_cuda_device_here_slow();
}

/* The device with this ordinal in any state, or NULL. */
struct slu_cuda_device *slu_cuda_device_find(CUdevice ordinal);

/* The same without a start of the shim, and so without a driver call. */
struct slu_cuda_device *slu_cuda_device_find_started(CUdevice ordinal);

/* What the device tells of itself, and how it is shared. */
void slu_cuda_device_identify(CUdevice ordinal, struct slu_hello_device *ret_identity);
enum slu_mode slu_cuda_device_mode(const struct slu_cuda_device *device);

/*
 * NAMED -> STARTING, after other threads have ended theirs.
 * Return: whether it is STARTING, by this thread; else it is SERVED.
 */
bool slu_cuda_device_begin_start(struct slu_cuda_device *device);
void slu_cuda_device_end_start(struct slu_cuda_device *device);

/* SERVED, KEPT -> NAMED: the service context is about to end. The device has no memory any more. */
void slu_cuda_device_end_service(struct slu_cuda_device *device);
