/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/memory/window.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/util.h"

#define WINDOW_BYTES	(UINT64_C(256) << 30)
#define PAGES_A_GRANULE 32
#define PAGE_BYTES_MIN	UINT64_C(256)

static void *as_pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static uint8_t *access_of(const struct dev_window *window, unsigned card, uint64_t address)
{
	return &window->access[card][(address - window->base) >> window->shift];
}

/* Addresses with nothing there. Return: MAP_FAILED where there are not so many. */
static uint8_t *reserve_addresses(uint64_t granule_bytes)
{
	uint8_t *p = mmap(NULL, WINDOW_BYTES + granule_bytes, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? p : as_pointer(slu_round_up((uintptr_t)p, granule_bytes));
}

int dev_window_init(struct dev_window *window, uint64_t granule_bytes, unsigned n_cards)
{
	uint8_t *p;

	*window = (struct dev_window){ .granule_bytes = granule_bytes, .n_cards = n_cards };
	window->page_bytes = SLU_MAX(granule_bytes / PAGES_A_GRANULE, PAGE_BYTES_MIN);
	window->shift = (unsigned)__builtin_ctzll(window->page_bytes);
	for (unsigned i = 0; i < n_cards; i++) {
		p = mmap(NULL, WINDOW_BYTES / window->page_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return slu_error(-errno);
		window->access[i] = p;
	}
	p = reserve_addresses(granule_bytes);
	window->view = reserve_addresses(granule_bytes);
	if (p == MAP_FAILED || window->view == MAP_FAILED)
		return slu_error(-errno);
	window->base = (uintptr_t)p;
	window->bytes = WINDOW_BYTES;
	return 0;
}

static int put_nothing(void *at, uint64_t bytes, int protection)
{
	void *p = mmap(at, bytes, protection,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

	return p == MAP_FAILED ? slu_error(-errno) : 0;
}

/* What cards see of a range of addresses when its memory is taken away. */
static int make_empty(struct dev_window *window, uint64_t address, uint64_t bytes)
{
	bool somebody = __atomic_load_n(&window->n_inside, __ATOMIC_SEQ_CST) != 0;

	return put_nothing(dev_window_place(window, address), bytes,
			   somebody ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* Makes the memory visible: to cards always, to the program if it is the host's. */
static int mapping_show(struct dev_window *window, uint64_t address, const struct dev_phys *phys)
{
	int r = dev_phys_map(phys, dev_window_place(window, address));

	if (!r && !phys->card)
		r = dev_phys_map(phys, as_pointer(address));
	return slu_fold(r);
}

/* The program finds nothing there any more. */
static void mapping_hide(uint64_t address, const struct dev_phys *phys)
{
	if (!phys->card)
		put_nothing(as_pointer(address), phys->bytes, PROT_NONE);
}

int dev_window_reserve(struct dev_window *window, uint64_t bytes, uint64_t align, uint64_t hint,
		       uint64_t *ret_address)
{
	uint64_t end = window->base + window->bytes, address = 0;
	int r;

	align = SLU_MAX(align, window->granule_bytes);
	if (!bytes || bytes % window->granule_bytes || (align & (align - 1)))
		return DEV_WINDOW_E_INVALID;
	if (bytes > window->bytes)
		return DEV_WINDOW_E_FULL;
	if (hint && hint % align == 0 && dev_window_has(window, hint)) {
		address = dev_spans_find_free(&window->reservations, hint, end, bytes, align);
		if (address != hint)
			address = 0;
	}
	if (!address)
		address =
			dev_spans_find_free(&window->reservations, window->base, end, bytes, align);
	if (!address)
		return DEV_WINDOW_E_FULL;
	r = dev_spans_add(&window->reservations, address, bytes, as_pointer(address));
	if (r)
		return slu_fold(r);
	*ret_address = address;
	return 0;
}

int dev_window_release(struct dev_window *window, uint64_t address, uint64_t bytes)
{
	const struct dev_span *s = dev_spans_find(&window->reservations, address);
	const struct dev_span *m = dev_spans_from(&window->mappings, address);

	if (!s || s->base != address || s->bytes != bytes)
		return DEV_WINDOW_E_INVALID;
	if (m && m->base < address + bytes)
		return DEV_WINDOW_E_INVALID;
	make_empty(window, address, bytes);
	dev_spans_remove(&window->reservations, address);
	return 0;
}

static bool is_reserved(const struct dev_window *window, uint64_t address, uint64_t bytes)
{
	const struct dev_span *s = dev_spans_find(&window->reservations, address);

	return s && bytes <= s->base + s->bytes - address;
}

int dev_window_map(struct dev_window *window, uint64_t address, struct dev_phys *phys)
{
	struct dev_mapping *m;
	int r;

	if (address % window->granule_bytes || !is_reserved(window, address, phys->bytes))
		return DEV_WINDOW_E_INVALID;
	m = calloc(1, sizeof(*m));
	if (!m)
		return slu_error(-ENOMEM);
	m->base = address;
	m->phys = phys;
	r = dev_spans_add(&window->mappings, address, phys->bytes, m);
	if (r) {
		free(m);
		return r == -EEXIST ? DEV_WINDOW_E_INVALID : slu_fold(r);
	}
	r = mapping_show(window, address, phys);
	if (r) {
		make_empty(window, address, phys->bytes);
		mapping_hide(address, phys);
		dev_spans_remove(&window->mappings, address);
		free(m);
		return slu_fold(r);
	}
	phys->n_refs++;
	return 0;
}

/* Whether the range is made of whole mappings without a gap. Return: the first, or NULL. */
static struct dev_span *whole_mappings(const struct dev_window *window, uint64_t address,
				       uint64_t bytes)
{
	struct dev_span *first = dev_spans_find(&window->mappings, address);
	uint64_t at = address;

	if (!bytes || !first || first->base != address)
		return NULL;
	for (const struct dev_span *s = first; at < address + bytes; s++) {
		if (s == dev_spans_end(&window->mappings) || s->base != at)
			return NULL;
		at += s->bytes;
	}
	return at == address + bytes ? first : NULL;
}

static void write_access(struct dev_window *window, unsigned card, uint64_t address, uint64_t bytes,
			 uint8_t access)
{
	uint8_t *p = access_of(window, card, address);

	for (uint64_t i = 0; i < bytes >> window->shift; i++)
		__atomic_store_n(&p[i], access, __ATOMIC_SEQ_CST);
}

void dev_window_set_pages(struct dev_window *window, unsigned card, uint64_t address,
			  uint64_t bytes, uint8_t access)
{
	write_access(window, card, address, bytes, access);
}

/* Whether some card may use a mapping of the host's memory. */
static bool is_used_from_cards(const struct dev_mapping *m)
{
	for (unsigned i = 0; i < DEV_SETTINGS_DEVICES_MAX; i++)
		if (!m->phys->card && m->access[i])
			return true;
	return false;
}

int dev_window_unmap(struct dev_window *window, uint64_t address, uint64_t bytes)
{
	uint64_t at = address;
	int r;

	if (!whole_mappings(window, address, bytes))
		return DEV_WINDOW_E_INVALID;
	for (unsigned i = 0; i < window->n_cards; i++)
		write_access(window, i, address, bytes, 0);
	r = make_empty(window, address, bytes);
	if (r)
		return slu_fold(r);
	while (at < address + bytes) {
		struct dev_mapping *m = dev_spans_remove(&window->mappings, at);

		mapping_hide(at, m->phys);
		at += m->phys->bytes;
		window->n_host -= is_used_from_cards(m);
		dev_phys_unref(m->phys);
		free(m);
	}
	return 0;
}

int dev_window_set_access(struct dev_window *window, uint64_t address, uint64_t bytes, int card,
			  uint8_t access)
{
	struct dev_span *s = whole_mappings(window, address, bytes);

	if (!s)
		return DEV_WINDOW_E_INVALID;
	if (card < 0) {
		/* the host may be given what lies in its own memory, and nothing else */
		for (struct dev_span *i = s; i->base < address + bytes; i++) {
			if (((struct dev_mapping *)i->data)->phys->card)
				return DEV_WINDOW_E_INVALID;
			if (i + 1 == dev_spans_end(&window->mappings))
				break;
		}
	}
	for (uint64_t at = address; at < address + bytes; at += s->bytes, s++) {
		struct dev_mapping *m = s->data;

		if (card < 0) {
			m->is_host_readable = access & DEV_WINDOW_READ;
			m->is_host_writable = access & DEV_WINDOW_WRITE;
		} else {
			window->n_host -= is_used_from_cards(m);
			m->access[card] = access;
			window->n_host += is_used_from_cards(m);
			write_access(window, (unsigned)card, s->base, s->bytes, access);
		}
	}
	return 0;
}

bool dev_window_may(const struct dev_window *window, unsigned card, uint64_t address,
		    uint64_t bytes, uint8_t access)
{
	const uint8_t *p;
	uint64_t first, last;

	if (!bytes)
		return true;
	if (!dev_window_has(window, address) || bytes > window->base + window->bytes - address)
		return false;
	p = window->access[card];
	first = (address - window->base) >> window->shift;
	last = (address + bytes - 1 - window->base) >> window->shift;
	for (uint64_t i = first; i <= last; i++)
		if ((__atomic_load_n(&p[i], __ATOMIC_ACQUIRE) & access) != access)
			return false;
	return true;
}

struct dev_mapping *dev_window_mapping(const struct dev_window *window, uint64_t address)
{
	const struct dev_span *s = dev_spans_find(&window->mappings, address);

	return s ? s->data : NULL;
}

int dev_window_blank(struct dev_window *window)
{
	int r = 0;

	for (const struct dev_span *s = window->mappings.array;
	     s != dev_spans_end(&window->mappings) && !r; s++)
		if (((const struct dev_mapping *)s->data)->phys->card)
			r = put_nothing(dev_window_place(window, s->base), s->bytes, PROT_NONE);
	return slu_fold(r);
}

int dev_window_show(struct dev_window *window)
{
	int r = 0;

	for (const struct dev_span *s = window->mappings.array;
	     s != dev_spans_end(&window->mappings) && !r; s++)
		if (((const struct dev_mapping *)s->data)->phys->card)
			r = mapping_show(window, s->base,
					 ((const struct dev_mapping *)s->data)->phys);
	return slu_fold(r);
}

void dev_window_enter(struct dev_window *window)
{
	__atomic_add_fetch(&window->n_inside, 1, __ATOMIC_SEQ_CST);
}

void dev_window_leave(struct dev_window *window)
{
	__atomic_sub_fetch(&window->n_inside, 1, __ATOMIC_SEQ_CST);
}
