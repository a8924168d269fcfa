/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/managed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/memory.h"

#define BATCH_PAGES   8 /* neighbours that a card's many threads fault on together */
#define AHEAD_NS      SLU_NS_PER_MS
#define SHARE_DEFAULT 51
#define BOTH_ACCESSES (SLU_WINDOW_READ | SLU_WINDOW_WRITE)

struct block {
	int8_t card;	     /* whose granule it has; SLU_MANAGED_HOST: none */
	int8_t preferred;    /* a card, HOST or NONE */
	int8_t prefetched;   /* where it was sent last; as above */
	uint8_t accessed_by; /* a bit a card; bit 7 is the host */
	bool is_read_mostly;
	struct slu_card_place place;
	uint32_t resident;  /* a set bit: that page is on the card */
	uint32_t populated; /* … had been written when the first one came there */
	uint32_t remote;    /* a set bit: some kernel uses it over the bus */
};

struct managed {
	uint64_t base, bytes, mapped_bytes, id;
	struct slu_context *context;
	struct block blocks[];
};

/* all guarded by the mutex */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct slu_spans all;
static uint64_t seen_evicted[SLU_SETTINGS_DEVICES_MAX];
static uint64_t served_ns[SLU_SETTINGS_DEVICES_MAX]; /* until then faults keep the card busy */
static uint64_t last_id;
static bool has_remote;

static unsigned share = SHARE_DEFAULT; /* constant after init */
static size_t n_managed;	       /* atomic: lets programs without any pass */

int slu_managed_init(void)
{
	const char *text = secure_getenv("SLUICE_SOFTGPU_PREFETCH");
	unsigned long value;
	char *end;

	if (!text || !*text)
		return 0;
	value = strtoul(text, &end, 10);
	if (*end || value < 1 || value > 100)
		return slu_error(-EINVAL);
	share = (unsigned)value;
	return 0;
}

/* -- blocks --------------------------------------------------------------------------------- */

static uint64_t granule_bytes(void)
{
	return slu_driver.window.granule_bytes;
}

static unsigned pages_a_block(void)
{
	return (unsigned)(granule_bytes() / slu_driver.window.page_bytes);
}

static uint64_t address_of(const struct managed *m, const struct block *b)
{
	return m->base + (uint64_t)(b - m->blocks) * granule_bytes();
}

static struct managed *find_locked(uint64_t address)
{
	const struct slu_span *s = slu_spans_find(&all, address);

	return s ? s->data : NULL;
}

static struct block *block_at(struct managed *m, uint64_t address)
{
	return &m->blocks[(address - m->base) / granule_bytes()];
}

static size_t count_blocks(const struct managed *m)
{
	return m->mapped_bytes / granule_bytes();
}

static void set_access(const struct managed *m, const struct block *b, unsigned card,
		       uint32_t pages, uint8_t access)
{
	uint64_t page_bytes = slu_driver.window.page_bytes;

	for (unsigned i = 0; i < pages_a_block(); i++)
		if (pages >> i & 1)
			slu_window_set_pages(&slu_driver.window, card,
					     address_of(m, b) + i * page_bytes, page_bytes, access);
}

/* The card has nothing of it any more; its granule is somebody else's, or given back. */
static void forget_locked(const struct managed *m, struct block *b)
{
	if (b->card != SLU_MANAGED_HOST)
		set_access(m, b, (unsigned)b->card, b->resident, 0);
	b->resident = 0;
	b->card = SLU_MANAGED_HOST;
}

/* Looks which of our granules were taken away. */
static void notice_evictions_locked(struct slu_card *card)
{
	uint64_t n = __atomic_load_n(&card->shared->n_evicted, __ATOMIC_ACQUIRE);

	if (n == seen_evicted[card->index])
		return;
	seen_evicted[card->index] = n;
	for (size_t i = 0; i < all.n; i++) {
		struct managed *m = all.array[i].data;

		for (size_t j = 0; j < count_blocks(m); j++)
			if (m->blocks[j].card == (int)card->index &&
			    !slu_card_has_managed(card, m->blocks[j].place))
				forget_locked(m, &m->blocks[j]);
	}
}

/* Which pages of the block anybody has ever written; a page of the host's may hold several. */
static uint32_t find_populated(const struct managed *m, const struct block *b)
{
	uint64_t page = slu_driver.window.page_bytes, os = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t begin = address_of(m, b);
	uint32_t populated = 0;

	for (unsigned i = 0; i < pages_a_block(); i++) {
		uint64_t end = begin + (i + 1) * page;
		unsigned char is_there = 0;

		for (uint64_t at = (begin + i * page) / os * os; at < end && !is_there; at += os)
			if (mincore((void *)(uintptr_t)at, os, &is_there) < 0)
				is_there = 1;
		populated |= (uint32_t)(is_there & 1) << i;
	}
	return populated;
}

/* -- moving --------------------------------------------------------------------------------- */

static uint64_t put_out_locked(const struct managed *m, struct block *b, uint64_t start_ns)
{
	struct slu_card *card = &slu_driver.cards[b->card];
	uint64_t end_ns = start_ns, page = slu_driver.window.page_bytes;

	if (!b->is_read_mostly && b->resident)
		end_ns = slu_card_book(card, SLU_BOARD_ENGINE_OUT,
				       (uint64_t)__builtin_popcount(b->resident) * page, start_ns);
	slu_card_give_managed(card, b->place);
	forget_locked(m, b);
	return end_ns;
}

/* Makes room for the block on @card. Return: whether there is some; *ns: when. */
static bool settle_locked(const struct managed *m, struct block *b, struct slu_card *card,
			  uint64_t *ns)
{
	if (b->card == (int)card->index && slu_card_touch_managed(card, &b->place))
		return true;
	if (b->card != SLU_MANAGED_HOST && b->card != (int)card->index)
		*ns = put_out_locked(m, b, *ns);
	forget_locked(m, b);
	if (slu_card_attach(card) || slu_card_take_managed(card, &b->place))
		return false;
	b->card = (int8_t)card->index;
	notice_evictions_locked(card);
	*ns = SLU_MAX(*ns, card->evicted_ns);
	return true;
}

static uint64_t bring_in_locked(const struct managed *m, struct block *b, struct slu_card *card,
				uint32_t pages, uint8_t access, uint64_t start_ns)
{
	uint64_t end_ns = start_ns, bytes;

	/* what was never written need not be moved; from then on the card writes as well */
	if (!b->resident)
		b->populated = find_populated(m, b);
	bytes = (uint64_t)__builtin_popcount(pages & b->populated & ~b->resident) *
		slu_driver.window.page_bytes;
	if (bytes)
		end_ns = slu_card_book(card, SLU_BOARD_ENGINE_IN, bytes, start_ns);
	b->resident |= pages;
	set_access(m, b, card->index, pages, access);
	return end_ns;
}

/* What a fault on @page brings: its batch, then larger halves of the block while enough is there.
 */
static uint32_t choose_pages(const struct block *b, unsigned page)
{
	unsigned n = pages_a_block(), last = SLU_MIN(page + BATCH_PAGES, n) - 1;
	uint32_t whole = n == 32 ? UINT32_MAX : (1u << n) - 1, chosen = 0;

	if (share == 100)
		return 1u << page;
	for (unsigned i = page; i <= last; i++)
		chosen |= 1u << i;
	for (unsigned size = 2; size <= n; size *= 2) {
		uint32_t half = size == 32 ? UINT32_MAX : ((1u << size) - 1) << page / size * size;
		unsigned there = (unsigned)__builtin_popcount((b->resident | chosen) & half);

		if (there * 100 > share * size)
			chosen |= half;
	}
	return chosen & whole;
}

static void fault_locked(struct managed *m, struct slu_card *card, uint64_t address, uint8_t want)
{
	struct block *b = block_at(m, address);
	unsigned page = (unsigned)((address - address_of(m, b)) / slu_driver.window.page_bytes);
	uint64_t ns = SLU_MAX(slu_clock_now_ns(), served_ns[card->index]);
	bool is_over_bus = b->preferred == SLU_MANAGED_HOST;
	uint8_t access = BOTH_ACCESSES;

	/* who is told beforehand that a card will come has its mappings ready */
	if (!(b->accessed_by >> card->index & 1))
		ns += card->shared->traits.fault_ns;
	if (b->is_read_mostly && want == SLU_WINDOW_READ)
		access = SLU_WINDOW_READ;
	if (!is_over_bus && settle_locked(m, b, card, &ns)) {
		ns = bring_in_locked(m, b, card, choose_pages(b, page), access, ns);
	} else {
		ns = slu_card_book(card, SLU_BOARD_ENGINE_IN, slu_driver.window.page_bytes, ns);
		b->remote |= 1u << page;
		has_remote = true;
		set_access(m, b, card->index, 1u << page, access);
	}
	/* a little ahead of the real time, so that threads that wake up late cost nothing */
	served_ns[card->index] = ns;
	slu_card_sleep_until(slu_sub_floor(ns, AHEAD_NS));
}

bool slu_managed_admit(void *data, uint64_t page, uint8_t want)
{
	struct slu_window *window = &slu_driver.window;
	uint64_t address = window->base + (page << window->shift);
	struct slu_card *card = data;
	struct managed *m;

	pthread_mutex_lock(&mutex);
	m = find_locked(address);
	/* somebody else's fault may have brought it meanwhile */
	if (m && !slu_window_may(window, card->index, address, 1, want))
		fault_locked(m, card, address, want);
	pthread_mutex_unlock(&mutex);
	return m != NULL;
}

void slu_managed_begin(struct slu_card *card)
{
	if (!__atomic_load_n(&n_managed, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&mutex);
	notice_evictions_locked(card);
	for (size_t i = 0; has_remote && i < all.n; i++) {
		struct managed *m = all.array[i].data;

		for (size_t j = 0; j < count_blocks(m); j++) {
			set_access(m, &m->blocks[j], card->index,
				   m->blocks[j].remote & ~m->blocks[j].resident, 0);
			m->blocks[j].remote = 0;
		}
	}
	has_remote = false;
	pthread_mutex_unlock(&mutex);
}

uint64_t slu_managed_end(struct slu_card *card)
{
	uint64_t ns;

	if (!__atomic_load_n(&n_managed, __ATOMIC_ACQUIRE))
		return 0;
	pthread_mutex_lock(&mutex);
	ns = served_ns[card->index];
	pthread_mutex_unlock(&mutex);
	return ns;
}

/* The blocks of [@address, +@bytes) one after the other. */
#define EACH_BLOCK(m, b, address, bytes)                                     \
	for (uint64_t _at = (address), _end = (address) + (bytes);           \
	     _at < _end && (m = find_locked(_at)) && (b = block_at(m, _at)); \
	     _at = address_of(m, b) + granule_bytes())

uint64_t slu_managed_prefetch(uint64_t address, uint64_t bytes, int where, uint64_t start_ns)
{
	uint64_t page_bytes = slu_driver.window.page_bytes, ns = start_ns;
	struct managed *m;
	struct block *b;

	pthread_mutex_lock(&mutex);
	EACH_BLOCK(m, b, address, bytes)
	{
		uint32_t pages = 0;

		b->prefetched = (int8_t)where;
		if (where < 0) {
			if (b->card != SLU_MANAGED_HOST)
				ns = put_out_locked(m, b, ns);
			continue;
		}
		for (unsigned i = 0; i < pages_a_block(); i++) {
			uint64_t page = address_of(m, b) + i * page_bytes;

			if (page < _end && page + page_bytes > address)
				pages |= 1u << i;
		}
		/* without room it is left for the faults */
		if (settle_locked(m, b, &slu_driver.cards[where], &ns))
			ns = bring_in_locked(m, b, &slu_driver.cards[where], pages, BOTH_ACCESSES,
					     ns);
	}
	pthread_mutex_unlock(&mutex);
	slu_card_sleep_until(ns);
	return ns;
}

/* -- allocations ---------------------------------------------------------------------------- */

int slu_managed_alloc(struct slu_context *context, uint64_t bytes, unsigned flags,
		      uint64_t *ret_address)
{
	uint64_t mapped = slu_round_up(bytes, granule_bytes());
	size_t n = mapped / granule_bytes();
	struct managed *m;
	uint64_t base;
	int r;

	(void)flags;
	if (mapped < bytes)
		return slu_error(-ENOMEM);
	/* the addresses first: a size that nobody has is refused before anything is made for it */
	r = slu_memory_map_host(mapped, &base);
	if (r)
		return slu_fold(r);
	m = calloc(1, sizeof(*m) + n * sizeof(m->blocks[0]));
	if (!m) {
		slu_memory_unmap(base, mapped);
		return slu_error(-ENOMEM);
	}
	m->base = base;
	m->bytes = bytes;
	m->mapped_bytes = mapped;
	m->context = context;
	for (size_t i = 0; i < n; i++) {
		m->blocks[i].card = SLU_MANAGED_HOST;
		m->blocks[i].preferred = m->blocks[i].prefetched = SLU_MANAGED_NONE;
	}
	pthread_mutex_lock(&mutex);
	m->id = ++last_id;
	r = slu_spans_add(&all, m->base, mapped, m);
	__atomic_store_n(&n_managed, all.n, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&mutex);
	if (r) {
		slu_memory_unmap(m->base, mapped);
		free(m);
		return slu_fold(r);
	}
	*ret_address = m->base;
	return 0;
}

static void drop_locked(struct managed *m)
{
	slu_spans_remove(&all, m->base);
	__atomic_store_n(&n_managed, all.n, __ATOMIC_RELEASE);
	for (size_t i = 0; i < count_blocks(m); i++) {
		struct block *b = &m->blocks[i];

		if (b->card != SLU_MANAGED_HOST)
			slu_card_give_managed(&slu_driver.cards[b->card], b->place);
	}
	/* what pages of it say is cleared with the mapping */
	slu_memory_unmap(m->base, m->mapped_bytes);
	free(m);
}

int slu_managed_free(uint64_t address)
{
	struct managed *m;

	pthread_mutex_lock(&mutex);
	m = find_locked(address);
	if (m && m->base == address)
		drop_locked(m);
	else
		m = NULL;
	pthread_mutex_unlock(&mutex);
	return m ? 0 : -ENOENT;
}

void slu_managed_drop_context(struct slu_context *context)
{
	pthread_mutex_lock(&mutex);
	for (size_t i = all.n; i-- > 0;) {
		struct managed *m = all.array[i].data;

		if (m->context == context)
			drop_locked(m);
	}
	pthread_mutex_unlock(&mutex);
}

bool slu_managed_look(uint64_t address, struct slu_managed_view *ret_view)
{
	uint64_t page_bytes = slu_driver.window.page_bytes;
	struct managed *m = NULL;

	if (!__atomic_load_n(&n_managed, __ATOMIC_ACQUIRE))
		return false;
	pthread_mutex_lock(&mutex);
	m = find_locked(address);
	if (m) {
		const struct block *b = block_at(m, address);
		unsigned page = (unsigned)((address - address_of(m, b)) / page_bytes);

		*ret_view = (struct slu_managed_view){
			.base = m->base,
			.bytes = m->bytes,
			.id = m->id | UINT64_C(1) << 48,
			.context = m->context,
			.card = b->resident >> page & 1 ? b->card : SLU_MANAGED_HOST,
			.page_bytes = page_bytes - address % page_bytes,
		};
	}
	pthread_mutex_unlock(&mutex);
	return m != NULL;
}

bool slu_managed_has(uint64_t address, uint64_t bytes)
{
	struct managed *m;
	struct block *b;
	uint64_t end = address;

	pthread_mutex_lock(&mutex);
	EACH_BLOCK(m, b, address, bytes)
	end = address_of(m, b) + granule_bytes();
	pthread_mutex_unlock(&mutex);
	return bytes && end >= address + bytes;
}

/* -- advice --------------------------------------------------------------------------------- */

static uint8_t bit_of(int where)
{
	return (uint8_t)(1u << (where < 0 ? 7 : where));
}

CUresult slu_managed_advise(uint64_t address, uint64_t bytes, CUmem_advise advice, int where)
{
	struct managed *m;
	struct block *b;

	pthread_mutex_lock(&mutex);
	EACH_BLOCK(m, b, address, bytes)
	{
		switch (advice) {
		case CU_MEM_ADVISE_SET_READ_MOSTLY:
		case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
			b->is_read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
			break;
		case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
			b->preferred = (int8_t)where;
			break;
		case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
			b->preferred = SLU_MANAGED_NONE;
			break;
		case CU_MEM_ADVISE_SET_ACCESSED_BY:
			b->accessed_by |= bit_of(where);
			break;
		default:
			b->accessed_by &= (uint8_t)~bit_of(where);
			break;
		}
	}
	pthread_mutex_unlock(&mutex);
	return CUDA_SUCCESS;
}

static int value_of(const struct block *b, CUmem_range_attribute which)
{
	switch (which) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		return b->is_read_mostly;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		return b->prefetched;
	default:
		return b->preferred;
	}
}

int slu_managed_attribute(uint64_t address, uint64_t bytes, CUmem_range_attribute which)
{
	int value = SLU_MANAGED_NONE;
	struct managed *m;
	struct block *b;
	bool is_first = true;

	pthread_mutex_lock(&mutex);
	EACH_BLOCK(m, b, address, bytes)
	{
		if (is_first)
			value = value_of(b, which);
		else if (value != value_of(b, which))
			value = which == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? 0 : SLU_MANAGED_NONE;
		is_first = false;
	}
	pthread_mutex_unlock(&mutex);
	return value;
}

bool slu_managed_accessed_by(uint64_t address, uint64_t bytes, int where)
{
	struct managed *m;
	struct block *b;
	bool by = true;

	pthread_mutex_lock(&mutex);
	EACH_BLOCK(m, b, address, bytes)
	by = by && b->accessed_by & bit_of(where);
	pthread_mutex_unlock(&mutex);
	return by;
}
