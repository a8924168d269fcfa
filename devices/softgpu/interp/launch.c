/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch: blocks handed out in order to workers (the caller and helpers from the pool), each of
 * which holds one block, or two that wait for memory in turns, and uses it again and again.
 * A cooperative launch holds all of its blocks at once and lets them take turns.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <immintrin.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/interp/code.h"
#include "softgpu/interp/pool.h"
#include "softgpu/interp/rest.h"

/* blocks that a worker has at a time, when they wait for memory */
#define N_RESIDENT 2u
/* rounds over the warps of a block until the other one gets its turn: it may be waited for */
#define N_ROUNDS 64u

struct run {
	const struct dev_interp_launch *launch;
	struct dev_interp_code *code;
	uint32_t workspace[2];	  /* of a cooperative launch: its size, the barrier of the grid */
	uint64_t *shared_address; /* by the variable's index */
	uint64_t shared_bytes;
	uint64_t local_bytes; /* a thread */
	uint64_t n_blocks;
	uint64_t next_block; /* atomic */
	bool stop;	     /* atomic: somebody met a fault */
	struct dev_interp_rest rest;
	pthread_mutex_t lock;
	struct dev_interp_fault fault; /* guarded by lock */
};

static void launch_report(struct run *run, const struct dev_interp_fault *fault)
{
	pthread_mutex_lock(&run->lock);
	if (!run->fault.kind)
		run->fault = *fault;
	pthread_mutex_unlock(&run->lock);
	__atomic_store_n(&run->stop, true, __ATOMIC_RELEASE);
}

/* Asked by every thread between two rounds: where it may also have to rest. */
static bool is_over(struct run *run)
{
	const bool *cancel = run->launch->cancel;

	dev_interp_rest_look(&run->rest);
	if (__atomic_load_n(&run->stop, __ATOMIC_ACQUIRE))
		return true;
	if (cancel && __atomic_load_n(cancel, __ATOMIC_ACQUIRE)) {
		struct dev_interp_fault fault = { .kind = DEV_INTERP_FAULT_CANCELLED,
						  .kernel = run->launch->kernel->name };

		launch_report(run, &fault);
		return true;
	}
	return false;
}

static void block_deinit(struct dev_interp_block *b)
{
	for (unsigned i = 0; b->warps && i < b->n_warps; i++)
		dev_interp_warp_deinit(&b->warps[i]);
	free(b->warps);
	free(b->shared);
	if (b->local)
		munmap(b->local, b->local_bytes * b->n_warps * DEV_INTERP_LANES);
	*b = (struct dev_interp_block){ 0 };
}

static int block_init(struct dev_interp_block *b, struct run *run, unsigned worker, uint32_t *csr)
{
	const struct dev_interp_launch *l = run->launch;
	int r;

	*b = (struct dev_interp_block){
		.launch = l,
		.code = run->code,
		.memory = l->memory,
		.shared_address = run->shared_address,
		.shared_bytes = run->shared_bytes,
		.local_bytes = run->local_bytes,
		.n_threads = l->block[0] * l->block[1] * l->block[2],
		.worker = worker,
		.workspace = l->is_cooperative ? run->workspace : NULL,
		.csr = csr,
	};
	b->n_warps = (b->n_threads + DEV_INTERP_LANES - 1) / DEV_INTERP_LANES;
	b->warps = calloc(b->n_warps, sizeof(*b->warps));
	/* at least one byte, so that it is an address that nothing else has */
	b->shared = aligned_alloc(4096, slu_round_up(b->shared_bytes + 1, 4096));
	if (!b->warps || !b->shared)
		goto fail;
	memset(b->shared, 0, b->shared_bytes);
	if (b->local_bytes) {
		void *p = mmap(NULL, b->local_bytes * b->n_warps * DEV_INTERP_LANES,
			       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);

		if (p == MAP_FAILED)
			goto fail;
		b->local = p;
	}
	for (unsigned i = 0; i < b->n_warps; i++) {
		r = dev_interp_warp_init(&b->warps[i], b, i);
		if (r)
			goto fail;
	}
	dev_interp_team_init(b);
	return 0;

fail:
	block_deinit(b);
	return slu_error(-ENOMEM);
}

static void block_begin(struct dev_interp_block *b, uint64_t number)
{
	const unsigned *grid = b->launch->grid;

	b->id[0] = (unsigned)(number % grid[0]);
	b->id[1] = (unsigned)(number / grid[0] % grid[1]);
	b->id[2] = (unsigned)(number / grid[0] / grid[1]);
	b->n_live = b->n_threads;
	b->met = 0;
	memset(b->barriers, 0, sizeof(b->barriers));
	dev_interp_team_begin(b);
	for (unsigned i = 0; i < b->n_warps; i++)
		dev_interp_warp_begin(&b->warps[i]);
}

/* One round over the warps. Return: false if the block cannot go on. */
static bool block_step(struct dev_interp_block *b)
{
	bool has_run = false;

	for (unsigned i = 0; i < b->n_warps; i++) {
		struct dev_interp_warp *w = &b->warps[i];

		if (!w->n_groups || dev_interp_warp_is_waiting(w))
			continue;
		has_run = true;
		if (b->may_team && w->team == 1)
			dev_interp_team_form(w);
		if (!dev_interp_warp_run(w))
			return false;
	}
	if (!has_run && b->n_live) {
		struct dev_interp_insn none = { 0 };

		dev_interp_fault(&b->warps[0], &none, DEV_INTERP_FAULT_BARRIER, 0, 0, 0, false);
		return false;
	}
	return true;
}

static bool has_blocks(const struct run *run)
{
	return __atomic_load_n(&run->next_block, __ATOMIC_RELAXED) < run->n_blocks;
}

/* It reached far away, and has not ended. */
static bool is_waiting(const struct dev_interp_block *b)
{
	return b->is_far && b->n_live;
}

/* The next block that nobody has, if there is one. */
static bool take_block(struct run *run, struct dev_interp_block *b)
{
	uint64_t number = __atomic_fetch_add(&run->next_block, 1, __ATOMIC_RELAXED);

	if (number >= run->n_blocks)
		return false;
	block_begin(b, number);
	return true;
}

/* Until the block has ended, has reached far away and may as well wait for it, or ran for long. */
static void block_run(struct dev_interp_block *b, struct run *run)
{
	unsigned n_rounds = 0;

	do {
		b->is_far = false;
		if (!block_step(b))
			launch_report(run, &b->fault);
	} while (b->n_live && !b->is_far && ++n_rounds < N_ROUNDS && !is_over(run));
}

static void launch_work(void *userdata, unsigned index)
{
	struct run *run = userdata;
	struct dev_interp_block blocks[N_RESIDENT];
	struct dev_interp_fault no_memory = { .kind = DEV_INTERP_FAULT_NO_MEMORY,
					      .kernel = run->launch->kernel->name };
	unsigned csr = _mm_getcsr(), n = 0, n_resident;
	uint32_t current = csr;

	dev_interp_rest_join(&run->rest);
	do {
		n_resident = 0;
		for (unsigned i = 0; i < N_RESIDENT && !is_over(run); i++) {
			bool is_new = i == n;

			/* another one only where the first has to wait; and a helper may come when
			 * everything is handed out */
			if (is_new && ((i && !is_waiting(&blocks[0])) || !has_blocks(run)))
				break;
			if (is_new && block_init(&blocks[i], run, index, &current)) {
				launch_report(run, &no_memory);
				break;
			}
			n += is_new;
			if (!blocks[i].n_live && !take_block(run, &blocks[i]))
				continue;
			block_run(&blocks[i], run);
			n_resident++;
		}
	} while (n_resident && !is_over(run));
	dev_interp_rest_leave(&run->rest);
	for (unsigned i = 0; i < n; i++)
		block_deinit(&blocks[i]);
	_mm_setcsr(csr);
}

/* All blocks at once; they share the caller's thread, so that each of them comes on. */
static void work_cooperatively(struct run *run)
{
	struct dev_interp_block *blocks = calloc(run->n_blocks, sizeof(*blocks));
	struct dev_interp_fault no_memory = { .kind = DEV_INTERP_FAULT_NO_MEMORY,
					      .kernel = run->launch->kernel->name };
	unsigned csr = _mm_getcsr();
	uint32_t current = csr;
	uint64_t n = 0, n_resident;

	while (blocks && n < run->n_blocks && !block_init(&blocks[n], run, 0, &current)) {
		block_begin(&blocks[n], n);
		n++;
	}
	if (n < run->n_blocks)
		launch_report(run, &no_memory);
	dev_interp_rest_join(&run->rest);
	do {
		n_resident = 0;
		for (uint64_t i = 0; i < n && !is_over(run); i++) {
			if (!blocks[i].n_live)
				continue;
			n_resident++;
			if (!block_step(&blocks[i]))
				launch_report(run, &blocks[i].fault);
		}
	} while (n_resident && !is_over(run));
	dev_interp_rest_leave(&run->rest);
	for (uint64_t i = 0; i < n; i++)
		block_deinit(&blocks[i]);
	free(blocks);
	_mm_setcsr(csr);
}

/* Not more than there are blocks for. */
static unsigned count_helpers(const struct run *run)
{
	uint64_t n = SLU_MIN((uint64_t)run->launch->n_workers, run->n_blocks);

	return n > 1 ? (unsigned)n - 1 : 0;
}

static bool is_runnable(const struct dev_interp_launch *l)
{
	uint64_t threads = 1;

	for (unsigned i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i] || l->block[i] > DEV_INTERP_MAX_THREADS)
			return false;
		threads *= l->block[i];
	}
	return threads <= DEV_INTERP_MAX_THREADS && l->grid[1] <= 65535 && l->grid[2] <= 65535 &&
	       l->dynamic_shared_bytes <= UINT32_MAX && l->kernel->is_kernel &&
	       dev_interp_module_code(l->module, l->kernel);
}

static int place_shared(struct run *run)
{
	const struct dev_interp_launch *l = run->launch;
	const struct slu_ptx_function *k = l->kernel;
	const struct slu_ptx_module *ptx = l->module->ptx;
	uint64_t dynamic = slu_round_up(k->shared_bytes, k->dynamic_shared_align);

	run->shared_address = calloc(ptx->n_variables + 1, sizeof(*run->shared_address));
	if (!run->shared_address)
		return slu_error(-ENOMEM);
	for (unsigned i = 0; i < ptx->n_variables; i++)
		run->shared_address[i] = dynamic;
	for (unsigned i = 0; i < k->n_shared; i++)
		run->shared_address[k->shared[i]->index] = k->shared_offsets[i];
	run->shared_bytes =
		l->dynamic_shared_bytes ? dynamic + l->dynamic_shared_bytes : k->shared_bytes;
	return 0;
}

int dev_interp_launch(const struct dev_interp_launch *launch, struct dev_interp_fault *ret_fault)
{
	struct run run = { .launch = launch };
	int r;

	if (!is_runnable(launch))
		return slu_error(-EINVAL);
	r = place_shared(&run);
	if (r)
		return r;
	run.workspace[0] = sizeof(run.workspace);
	run.code = dev_interp_module_code(launch->module, launch->kernel);
	run.n_blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
	run.local_bytes = slu_round_up(launch->kernel->local_bytes, 16) +
			  (run.code->has_calls ? DEV_INTERP_STACK_BYTES : 0);
	pthread_mutex_init(&run.lock, NULL);
	dev_interp_rest_init(&run.rest, launch);
	if (launch->is_cooperative && run.n_blocks > 1)
		work_cooperatively(&run);
	else
		dev_interp_pool_run(count_helpers(&run), launch_work, &run);
	dev_interp_rest_deinit(&run.rest);
	pthread_mutex_destroy(&run.lock);
	free(run.shared_address);
	if (run.fault.kind) {
		*ret_fault = run.fault;
		return DEV_INTERP_E_FAULT;
	}
	return 0;
}
