/* SPDX-License-Identifier: Apache-2.0 */

/* The host's memory that the cards reach: allocated by us, or registered. */

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/memory/memory.h"

/* guarded by the driver's lock, both */
static struct dev_spans hosts;
static struct dev_memory_ranges *ranges;

struct dev_host *dev_memory_find_host_locked(uint64_t address)
{
	const struct dev_span *s = dev_spans_find(&hosts, address);

	return s ? s->data : NULL;
}

const struct dev_span *dev_memory_host_from_locked(uint64_t address)
{
	return dev_spans_from(&hosts, address);
}

static int rebuild_ranges_locked(void)
{
	struct dev_memory_ranges *fresh =
		calloc(1, sizeof(*fresh) + hosts.n * sizeof(fresh->ranges[0]));

	if (!fresh)
		return slu_error(-ENOMEM);
	fresh->n_refs = 1;
	fresh->n = hosts.n;
	for (size_t i = 0; i < hosts.n; i++) {
		const struct dev_host *h = hosts.array[i].data;
		bool is_read_only = !h->is_ours && (h->flags & CU_MEMHOSTREGISTER_READ_ONLY);

		fresh->ranges[i] = (struct dev_interp_range){
			.base = h->base,
			.bytes = h->bytes,
			.access =
				is_read_only ? DEV_INTERP_READ : DEV_INTERP_READ | DEV_INTERP_WRITE,
		};
	}
	dev_memory_ranges_unref(ranges);
	ranges = fresh;
	return 0;
}

struct dev_memory_ranges *dev_memory_ranges_ref(void)
{
	struct dev_memory_ranges *r;

	dev_driver_lock();
	r = ranges;
	if (r)
		__atomic_add_fetch(&r->n_refs, 1, __ATOMIC_RELAXED);
	dev_driver_unlock();
	return r;
}

void dev_memory_ranges_unref(struct dev_memory_ranges *r)
{
	if (r && !__atomic_sub_fetch(&r->n_refs, 1, __ATOMIC_ACQ_REL))
		free(r);
}

static int add_host(struct dev_context *context, void *pointer, uint64_t bytes, unsigned flags,
		    bool is_ours)
{
	struct dev_host *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return slu_error(-ENOMEM);
	*h = (struct dev_host){ .base = (uintptr_t)pointer,
				.bytes = bytes,
				.context = context,
				.flags = flags,
				.is_ours = is_ours };
	dev_driver_lock();
	h->id = dev_memory_new_id_locked();
	r = dev_spans_add(&hosts, h->base, bytes, h);
	if (!r) {
		r = rebuild_ranges_locked();
		if (r)
			dev_spans_remove(&hosts, h->base);
	}
	dev_driver_unlock();
	if (r)
		free(h);
	return r;
}

static uint64_t whole_pages(uint64_t bytes)
{
	return slu_round_up(bytes, (uint64_t)sysconf(_SC_PAGESIZE));
}

int dev_memory_host_alloc(struct dev_context *context, uint64_t bytes, unsigned flags,
			  void **ret_pointer)
{
	void *p = mmap(NULL, whole_pages(bytes), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int r;

	if (p == MAP_FAILED)
		return slu_error(-ENOMEM);
	r = add_host(context, p, bytes, flags, true);
	if (r) {
		munmap(p, whole_pages(bytes));
		return slu_error(-ENOMEM);
	}
	*ret_pointer = p;
	return 0;
}

int dev_memory_host_register(struct dev_context *context, void *pointer, uint64_t bytes,
			     unsigned flags)
{
	return add_host(context, pointer, bytes, flags, false);
}

int dev_memory_host_drop(void *pointer, bool is_ours)
{
	struct dev_host *h;

	dev_driver_lock();
	h = dev_memory_find_host_locked((uintptr_t)pointer);
	if (!h || h->base != (uintptr_t)pointer || h->is_ours != is_ours) {
		dev_driver_unlock();
		return slu_error(-EINVAL);
	}
	dev_spans_remove(&hosts, h->base);
	/* without memory for a shorter list the old one serves on, with a range that nobody uses */
	(void)rebuild_ranges_locked();
	dev_driver_unlock();
	if (is_ours)
		munmap(pointer, whole_pages(h->bytes));
	free(h);
	return 0;
}
