/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/managed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/memory/managed-block.h"
#include "softgpu/driver/memory/memory.h"
#include "softgpu/driver/memory/watch.h"

#define AHEAD_NS      SLU_NS_PER_MS
#define BOTH_ACCESSES (DEV_WINDOW_READ | DEV_WINDOW_WRITE)

/* all guarded by the mutex */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct dev_spans all;
static uint64_t seen_evicted[DEV_SETTINGS_DEVICES_MAX];
static uint64_t served_ns[DEV_SETTINGS_DEVICES_MAX]; /* until then faults keep the card busy */
static uint64_t last_id;
static bool has_remote;
static uint64_t n_faults;	 /* of this process, when its accesses were looked for last */
static uint64_t n_kernel_faults; /* not yet written to the log */

static size_t n_managed; /* atomic: lets programs without any pass */

void dev_managed_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void dev_managed_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

struct dev_managed *dev_managed_find_locked(uint64_t address)
{
	const struct dev_span *s = dev_spans_find(&all, address);

	return s ? s->data : NULL;
}

static size_t count_blocks(const struct dev_managed *m)
{
	return m->mapped_bytes / dev_managed_block_bytes();
}

/* -- moving --------------------------------------------------------------------------------- */

/* Looks which of our granules were taken away. */
static void notice_evictions_locked(struct dev_card *card)
{
	uint64_t n = __atomic_load_n(&card->shared->n_evicted, __ATOMIC_ACQUIRE);

	if (n == seen_evicted[card->index])
		return;
	seen_evicted[card->index] = n;
	for (size_t i = 0; i < all.n; i++) {
		struct dev_managed *m = all.array[i].data;

		for (size_t j = 0; j < count_blocks(m); j++)
			if (m->blocks[j].card == (int)card->index &&
			    !dev_card_has_managed(card, m->blocks[j].place))
				dev_managed_block_forget(m, &m->blocks[j]);
	}
}

/* Takes a granule of @card for the block. Return: whether there was one; *ns: when it is free. */
static bool place_block_locked(const struct dev_managed *m, struct dev_managed_block *b,
			       struct dev_card *card, uint64_t *ns)
{
	if (b->card == (int)card->index && dev_card_touch_managed(card, &b->place))
		return true;
	if (b->card != DEV_MANAGED_HOST && b->card != (int)card->index)
		*ns = dev_managed_block_put_out(m, b, *ns);
	dev_managed_block_forget(m, b);
	if (dev_card_attach(card) || dev_card_take_managed(card, &b->place))
		return false;
	b->card = (int8_t)card->index;
	notice_evictions_locked(card);
	*ns = SLU_MAX(*ns, card->evicted_ns);
	return true;
}

static void fault_locked(struct dev_managed *m, struct dev_card *card, uint64_t address,
			 uint8_t want)
{
	struct dev_managed_block *b = dev_managed_block_at(m, address);
	unsigned page = (unsigned)((address - dev_managed_block_address(m, b)) /
				   dev_driver.window.page_bytes);
	uint64_t ns = SLU_MAX(slu_clock_now_ns(), served_ns[card->index]);
	bool is_over_bus = b->preferred == DEV_MANAGED_HOST;
	uint8_t access = BOTH_ACCESSES;

	n_kernel_faults++;
	/* who is told beforehand that a card will come has its mappings ready */
	if (!(b->accessed_by >> card->index & 1))
		ns += card->shared->traits.fault_ns;
	if (b->is_read_mostly && want == DEV_WINDOW_READ)
		access = DEV_WINDOW_READ;
	if (!is_over_bus && place_block_locked(m, b, card, &ns)) {
		ns = dev_managed_block_bring_in(
			m, b,
			dev_managed_block_choose(b, page, dev_driver.settings.prefetch_percent),
			access, ns);
	} else {
		ns = dev_card_book(card, DEV_BOARD_ENGINE_IN, dev_driver.window.page_bytes, ns);
		b->remote |= 1u << page;
		has_remote = true;
		dev_managed_block_set_access(m, b, card->index, 1u << page, access);
	}
	/* a little ahead of the real time, so that threads that wake up late cost nothing */
	served_ns[card->index] = ns;
	dev_card_sleep_until(slu_sub_floor(ns, AHEAD_NS));
}

bool dev_managed_admit(void *data, uint64_t page, uint8_t want)
{
	struct dev_window *window = &dev_driver.window;
	uint64_t address = window->base + (page << window->shift);
	struct dev_card *card = data;
	struct dev_managed *m;

	dev_managed_lock();
	m = dev_managed_find_locked(address);
	/* somebody else's fault may have brought it meanwhile */
	if (m && !dev_window_may(window, card->index, address, 1, want))
		fault_locked(m, card, address, want);
	dev_managed_unlock();
	return m != NULL;
}

static uint64_t send_to_host_locked(void)
{
	uint64_t now_ns = slu_clock_now_ns(), last_ns = 0;
	struct dev_watch watch = { 0 };

	for (size_t i = 0; i < all.n; i++) {
		struct dev_managed *m = all.array[i].data;

		for (size_t j = 0; j < count_blocks(m); j++) {
			struct dev_managed_block *b = &m->blocks[j];
			uint64_t *served;
			uint32_t touched;

			/* of what is mostly read the host has a copy of its own */
			if (b->card == DEV_MANAGED_HOST || b->is_read_mostly)
				continue;
			touched = dev_managed_block_touched(m, b, &watch);
			if (!touched)
				continue;
			served = &served_ns[b->card];
			*served = dev_managed_block_to_host(m, b, touched,
							    dev_driver.settings.prefetch_percent,
							    SLU_MAX(now_ns, *served));
			last_ns = SLU_MAX(last_ns, *served);
		}
	}
	return last_ns;
}

void dev_managed_notice(void)
{
	uint64_t ns = 0;

	if (!__atomic_load_n(&n_managed, __ATOMIC_ACQUIRE))
		return;
	dev_managed_lock();
	if (dev_watch_has_news(&n_faults)) {
		for (unsigned i = 0; i < dev_driver.n_cards; i++)
			notice_evictions_locked(&dev_driver.cards[i]);
		ns = send_to_host_locked();
	}
	dev_managed_unlock();
	dev_card_sleep_until(ns);
}

void dev_managed_begin(struct dev_card *card)
{
	if (!__atomic_load_n(&n_managed, __ATOMIC_ACQUIRE))
		return;
	dev_managed_lock();
	notice_evictions_locked(card);
	for (size_t i = 0; has_remote && i < all.n; i++) {
		struct dev_managed *m = all.array[i].data;

		for (size_t j = 0; j < count_blocks(m); j++) {
			dev_managed_block_set_access(m, &m->blocks[j], card->index,
						     m->blocks[j].remote & ~m->blocks[j].resident,
						     0);
			m->blocks[j].remote = 0;
		}
	}
	has_remote = false;
	dev_managed_unlock();
}

static void log_faults_locked(void)
{
	const char *path = n_kernel_faults ? secure_getenv("SLUICE_SOFTGPU_PAGING_LOG") : NULL;
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd >= 0) {
		dprintf(fd, "%d %llu\n", (int)getpid(), (unsigned long long)n_kernel_faults);
		close(fd);
	}
	n_kernel_faults = 0;
}

uint64_t dev_managed_end(struct dev_card *card)
{
	uint64_t ns;

	if (!__atomic_load_n(&n_managed, __ATOMIC_ACQUIRE))
		return 0;
	dev_managed_lock();
	ns = served_ns[card->index];
	log_faults_locked();
	dev_managed_unlock();
	return ns;
}

uint64_t dev_managed_prefetch(uint64_t address, uint64_t bytes, int where, uint64_t start_ns)
{
	uint64_t page_bytes = dev_driver.window.page_bytes, ns = start_ns;
	struct dev_managed *m;
	struct dev_managed_block *b;

	dev_managed_notice();
	dev_managed_lock();
	DEV_MANAGED_EACH_BLOCK(m, b, address, bytes)
	{
		uint32_t pages = 0;

		b->prefetched = (int8_t)where;
		if (where < 0) {
			if (b->card != DEV_MANAGED_HOST)
				ns = dev_managed_block_put_out(m, b, ns);
			continue;
		}
		for (unsigned i = 0; i < dev_managed_block_pages(); i++) {
			uint64_t page = dev_managed_block_address(m, b) + i * page_bytes;

			if (page < _end && page + page_bytes > address)
				pages |= 1u << i;
		}
		/* on a full card the faults bring it */
		if (place_block_locked(m, b, &dev_driver.cards[where], &ns))
			ns = dev_managed_block_bring_in(m, b, pages, BOTH_ACCESSES, ns);
	}
	dev_managed_unlock();
	dev_card_sleep_until(ns);
	return ns;
}

void dev_managed_leave_cards_locked(void)
{
	uint64_t ns = slu_clock_now_ns();

	for (unsigned i = 0; i < dev_driver.n_cards; i++)
		notice_evictions_locked(&dev_driver.cards[i]);
	for (size_t i = 0; i < all.n; i++) {
		struct dev_managed *m = all.array[i].data;

		for (size_t j = 0; j < count_blocks(m); j++)
			if (m->blocks[j].card != DEV_MANAGED_HOST)
				ns = dev_managed_block_put_out(m, &m->blocks[j], ns);
	}
	dev_card_sleep_until(ns);
}

/* -- allocations ---------------------------------------------------------------------------- */

int dev_managed_alloc(struct dev_context *context, uint64_t bytes, unsigned flags,
		      uint64_t *ret_address)
{
	uint64_t mapped = slu_round_up(bytes, dev_managed_block_bytes());
	size_t n = mapped / dev_managed_block_bytes();
	struct dev_managed *m;
	uint64_t base;
	int r;

	(void)flags;
	if (mapped < bytes)
		return slu_error(-ENOMEM);
	/* the addresses first: a size that nobody has is refused before anything is made for it */
	r = dev_memory_map_host(mapped, &base);
	if (r)
		return slu_fold(r);
	m = calloc(1, sizeof(*m) + n * sizeof(m->blocks[0]));
	if (!m) {
		dev_memory_unmap(base, mapped);
		return slu_error(-ENOMEM);
	}
	m->base = base;
	m->bytes = bytes;
	m->mapped_bytes = mapped;
	m->context = context;
	for (size_t i = 0; i < n; i++) {
		m->blocks[i].card = DEV_MANAGED_HOST;
		m->blocks[i].preferred = m->blocks[i].prefetched = DEV_MANAGED_NONE;
	}
	dev_managed_lock();
	m->id = ++last_id;
	r = dev_spans_add(&all, m->base, mapped, m);
	__atomic_store_n(&n_managed, all.n, __ATOMIC_RELEASE);
	dev_managed_unlock();
	if (r) {
		dev_memory_unmap(m->base, mapped);
		free(m);
		return slu_fold(r);
	}
	*ret_address = m->base;
	return 0;
}

static void drop_locked(struct dev_managed *m)
{
	dev_spans_remove(&all, m->base);
	__atomic_store_n(&n_managed, all.n, __ATOMIC_RELEASE);
	for (size_t i = 0; i < count_blocks(m); i++) {
		struct dev_managed_block *b = &m->blocks[i];

		if (b->card != DEV_MANAGED_HOST)
			dev_card_give_managed(&dev_driver.cards[b->card], b->place);
	}
	/* what pages of it say is cleared with the mapping */
	dev_memory_unmap(m->base, m->mapped_bytes);
	free(m);
}

int dev_managed_free(uint64_t address)
{
	struct dev_managed *m;

	dev_managed_lock();
	m = dev_managed_find_locked(address);
	if (m && m->base == address)
		drop_locked(m);
	else
		m = NULL;
	dev_managed_unlock();
	return m ? 0 : -ENOENT;
}

void dev_managed_drop_context(struct dev_context *context)
{
	dev_managed_lock();
	for (size_t i = all.n; i-- > 0;) {
		struct dev_managed *m = all.array[i].data;

		if (m->context == context)
			drop_locked(m);
	}
	dev_managed_unlock();
}

bool dev_managed_look(uint64_t address, struct dev_managed_view *ret_view)
{
	uint64_t page_bytes = dev_driver.window.page_bytes;
	struct dev_managed *m = NULL;

	if (!__atomic_load_n(&n_managed, __ATOMIC_ACQUIRE))
		return false;
	dev_managed_lock();
	m = dev_managed_find_locked(address);
	if (m) {
		const struct dev_managed_block *b = dev_managed_block_at(m, address);
		unsigned page =
			(unsigned)((address - dev_managed_block_address(m, b)) / page_bytes);

		*ret_view = (struct dev_managed_view){
			.base = m->base,
			.bytes = m->bytes,
			.id = m->id | UINT64_C(1) << 48,
			.context = m->context,
			.card = b->resident >> page & 1 ? b->card : DEV_MANAGED_HOST,
			.page_bytes = page_bytes - address % page_bytes,
		};
	}
	dev_managed_unlock();
	return m != NULL;
}

bool dev_managed_has(uint64_t address, uint64_t bytes)
{
	struct dev_managed *m;
	struct dev_managed_block *b;
	uint64_t end = address;

	dev_managed_lock();
	DEV_MANAGED_EACH_BLOCK(m, b, address, bytes)
	end = dev_managed_block_address(m, b) + dev_managed_block_bytes();
	dev_managed_unlock();
	return bytes && end >= address + bytes;
}
