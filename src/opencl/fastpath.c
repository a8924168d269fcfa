/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <time.h>

#include "base/error.h"
#include "base/util.h"
#include "opencl/command.h"
#include "opencl/context.h"
#include "opencl/fastpath.h"

#define STALE_NS     (100 * SLU_NS_PER_MS)
#define REPORTED_MAX 64

/* The queues with a fast path. A slot's stamps go on with the next queue, so old ones stay old. */
static struct {
	struct slu_queue *queue;
	uint64_t last;	     /* stamp of the last queue that had it */
} slots[SLU_FASTPATH_SLOTS]; /* guarded by the layer's lock */

/* Counts up to @value; nearly always the number has it already. */
static void number_raise_to(_Atomic uint64_t *number, uint64_t value)
{
	uint64_t now = atomic_load_explicit(number, memory_order_relaxed);

	while (now < value && !atomic_compare_exchange_weak(number, &now, value))
		;
}

/* -- the path ---------------------------------------------------------------------------------- */

bool slu_fastpath_enter(struct slu_queue *queue)
{
	return queue->slot != SLU_FASTPATH_NONE && !slu_blockers_exist() &&
	       atomic_load_explicit(&queue->n_run, memory_order_relaxed) <
		       atomic_load_explicit(&queue->flight.run_max, memory_order_relaxed) &&
	       slu_gate_try_enter(queue->device->index);
}

static void run_count(struct slu_queue *queue, uint64_t stamp)
{
	unsigned n = atomic_load_explicit(&queue->n_run, memory_order_relaxed);

	number_raise_to(&queue->run, stamp);
	atomic_store_explicit(&queue->n_run, n + 1, memory_order_relaxed);
}

/* Inside the gate, so that no thread frees the objects. Reports REPORTED_MAX of them at most. */
static void run_report(struct slu_queue *queue, struct slu_proxy *const *roots, size_t n_roots)
{
	struct slu_unit *units[REPORTED_MAX];
	size_t n = 0;

	for (size_t i = 0; i < n_roots && n < REPORTED_MAX; i++)
		if (roots[i]->unit)
			units[n++] = roots[i]->unit;
	slu_client_command_passed(queue->device->client, units, n);
}

static bool queue_is_crowded(const struct slu_queue *queue)
{
	return atomic_load_explicit(&queue->device->is_crowded, memory_order_relaxed);
}

void slu_fastpath_leave(struct slu_queue *queue, struct slu_proxy *const *roots, size_t n_roots,
			bool was_submitted)
{
	uint64_t stamp = atomic_load(&queue->stamp);

	if (was_submitted) {
		for (size_t i = 0; i < n_roots; i++)
			number_raise_to(&roots[i]->runs[queue->slot], stamp);
		run_count(queue, stamp);
		if (queue_is_crowded(queue))
			run_report(queue, roots, n_roots);
	}
	slu_gate_leave();
}

/* -- leases ----------------------------------------------------------------------------------- */

void slu_fastpath_lease(struct slu_proxy *root, struct slu_device *device, enum slu_access access)
{
	uint64_t lease = atomic_load(&device->lease);

	for (int i = access; i >= 0; i--)
		if (atomic_load_explicit(&root->leases[i], memory_order_relaxed) != lease)
			atomic_store(&root->leases[i], lease);
}

/* An object of several devices may have been leased to any of them. */
static bool root_is_past(const struct slu_proxy *root, const struct slu_device *device)
{
	const struct slu_context *context = root->context;

	if (!context || context->n_places < 2)
		return slu_gate_is_past(device->index);
	for (unsigned i = 0; i < context->n_places; i++)
		if (!slu_gate_is_past(context->places[i].device->index))
			return false;
	return true;
}

/* Two threads may break one lease: the one that finds it broken waits all the same. */
bool slu_fastpath_break_lease(struct slu_proxy *root, struct slu_device *device)
{
	if (atomic_load(&root->leases[SLU_ACCESS_READ])) {
		atomic_store(&root->lease_is_breaking, true);
		for (unsigned i = 0; i < _SLU_ACCESS_MAX; i++)
			atomic_store(&root->leases[i], 0);
	}
	if (!atomic_load(&root->lease_is_breaking))
		return true;
	slu_gate_fence();
	if (!root_is_past(root, device))
		return false;
	atomic_store(&root->lease_is_breaking, false);
	return true;
}

void slu_fastpath_note_crowd(struct slu_device *device)
{
	atomic_store_explicit(&device->is_crowded, slu_client_device_is_crowded(device->client),
			      memory_order_relaxed);
}

/* Some milliseconds old, at a tenth of the price. */
static uint64_t rough_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * SLU_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Numbers of different devices never meet: an object may be used on several. */
void slu_fastpath_tick(struct slu_device *device)
{
	uint64_t now_ns = rough_now_ns(), aged_ns = atomic_load(&device->aged_ns), n;

	if (now_ns < aged_ns + STALE_NS ||
	    !atomic_compare_exchange_strong(&device->aged_ns, &aged_ns, now_ns))
		return;
	atomic_fetch_add(&device->lease, SLU_WIRE_DEVICES_MAX);
	n = atomic_exchange(&device->n_fast, 0);
	if (!device->client)
		return;
	if (n)
		slu_client_command_count(device->client, n);
	atomic_store(&device->is_managed, slu_client_device_has_daemon(device->client));
}

/* -- runs ------------------------------------------------------------------------------------- */

void slu_fastpath_open_locked(struct slu_queue *queue)
{
	queue->slot = SLU_FASTPATH_NONE;
	atomic_store(&queue->stamp, 1);
	if (queue->is_out_of_order || !queue->device || !queue->device->client ||
	    !slu_layer_table.clEnqueueMarkerWithWaitList)
		return;
	for (unsigned i = 0; i < SLU_FASTPATH_SLOTS; i++)
		if (!slots[i].queue) {
			slots[i].queue = queue;
			queue->slot = i;
			queue->ended = slots[i].last;
			atomic_store(&queue->stamp, slots[i].last + 1);
			return;
		}
}

void slu_fastpath_shut_locked(struct slu_queue *queue)
{
	if (queue->slot == SLU_FASTPATH_NONE)
		return;
	slots[queue->slot].queue = NULL;
	slots[queue->slot].last = atomic_load(&queue->stamp);
	queue->slot = SLU_FASTPATH_NONE;
}

uint64_t slu_fastpath_close_run(struct slu_queue *queue)
{
	unsigned n;

	if (queue->is_out_of_order)
		return 0;
	n = atomic_load_explicit(&queue->n_run, memory_order_relaxed);
	if (n) {
		atomic_store_explicit(&queue->n_run, 0, memory_order_relaxed);
		if (!queue_is_crowded(queue)) /* else each was reported */
			atomic_fetch_add_explicit(&queue->device->n_fast, n, memory_order_relaxed);
		atomic_fetch_add_explicit(&queue->flight.n_closed, n, memory_order_relaxed);
	}
	return atomic_fetch_add(&queue->stamp, 1);
}

void slu_fastpath_end_runs_locked(struct slu_queue *queue, uint64_t covers)
{
	queue->ended = covers > queue->ended ? covers : queue->ended;
}

static struct slu_command *command_covering_locked(struct slu_queue *queue, uint64_t stamp)
{
	struct slu_command *command;

	TAILQ_FOREACH (command, &queue->commands, link)
		if (command->covers >= stamp)
			return command;
	return NULL;
}

/* The program does not give the queue up meanwhile: clReleaseCommandQueue() waits. */
static int queue_mark(struct slu_queue *queue)
{
	cl_command_queue handle;
	cl_event event = NULL;
	uint64_t covers;
	cl_int r;

	slu_layer_take();
	handle = queue->handle;
	if (handle) {
		queue->n_marking++;
		queue->n_refs++; /* the command's */
	}
	slu_layer_give();
	if (!handle)
		return slu_error(-EBUSY);
	covers = slu_fastpath_close_run(queue);
	r = slu_layer_next.clEnqueueMarkerWithWaitList(handle, 0, NULL, &event);
	if (r == CL_SUCCESS)
		slu_command_add(queue, event, covers, 0, NULL, NULL, 0);
	slu_layer_take();
	if (--queue->n_marking == 0)
		pthread_cond_broadcast(&slu_layer_changed);
	if (r != CL_SUCCESS)
		slu_queue_unref_locked(queue);
	slu_layer_give();
	return r == CL_SUCCESS ? 0 : slu_error(-EBUSY);
}

int slu_fastpath_cover(struct slu_queue *queue)
{
	uint64_t run = atomic_load(&queue->run);
	bool is_covered;

	slu_layer_take();
	is_covered = run <= queue->ended || command_covering_locked(queue, run);
	slu_layer_give();
	return is_covered ? 0 : queue_mark(queue);
}

static struct slu_queue *slot_queue_ref(unsigned slot)
{
	struct slu_queue *queue;

	slu_layer_take();
	queue = slots[slot].queue;
	if (queue)
		queue->n_refs++;
	slu_layer_give();
	return queue;
}

void slu_fastpath_cover_all(void)
{
	for (unsigned i = 0; i < SLU_FASTPATH_SLOTS; i++) {
		struct slu_queue *queue = slot_queue_ref(i);

		if (queue) {
			slu_fastpath_cover(queue);
			slu_queue_unref(queue);
		}
	}
}

/* Return: whether the run of @root in that slot is known to have ended, or is noted at it. */
static bool run_adopt(struct slu_proxy *root, unsigned slot, uint64_t stamp)
{
	struct slu_command *command = NULL;
	struct slu_queue *queue;
	bool is_done;

	slu_layer_take();
	queue = slots[slot].queue;
	is_done = !queue || stamp <= queue->ended;
	if (!is_done)
		command = command_covering_locked(queue, stamp);
	if (command)
		is_done = slu_command_name_locked(command, root);
	slu_layer_give();
	if (is_done)
		atomic_compare_exchange_strong(&root->runs[slot], &stamp, 0);
	return is_done;
}

int slu_fastpath_gather(struct slu_proxy *root)
{
	for (unsigned i = 0; i < SLU_FASTPATH_SLOTS; i++) {
		uint64_t stamp = atomic_load(&root->runs[i]);
		struct slu_queue *queue;
		int r = 0;

		if (!stamp || run_adopt(root, i, stamp))
			continue;
		queue = slot_queue_ref(i);
		if (queue) {
			r = queue_mark(queue);
			slu_queue_unref(queue);
		}
		if (r || !run_adopt(root, i, stamp))
			return slu_error(-EBUSY);
	}
	return 0;
}
