/* SPDX-License-Identifier: Apache-2.0 */

#include "base/fd.h"
#include "softgpu/driver/memory/phys.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/driver.h"

static struct dev_objects objects = DEV_OBJECTS_INIT(struct dev_phys);
static uint64_t last_id;
static LIST_HEAD(, dev_phys) owned = LIST_HEAD_INITIALIZER(owned);
static pthread_mutex_t owned_mutex = PTHREAD_MUTEX_INITIALIZER;

static struct dev_phys *phys_make(struct dev_card *card, uint64_t bytes)
{
	struct dev_phys *phys = dev_object_new(&objects);

	if (phys) {
		phys->n_refs = 1;
		phys->n_handle_refs = 1;
		phys->card = card;
		phys->bytes = bytes;
		phys->host_fd = -1;
		phys->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	}
	return phys;
}

static void phys_discard(struct dev_phys *phys)
{
	pthread_mutex_lock(&owned_mutex);
	if (phys->is_owned)
		LIST_REMOVE(phys, link);
	pthread_mutex_unlock(&owned_mutex);
	free(phys->granules);
	if (phys->host_fd >= 0)
		close(phys->host_fd);
	dev_object_free(&objects, phys);
}

int dev_phys_new(struct dev_card *card, uint64_t bytes, struct dev_phys **ret_phys)
{
	struct dev_phys *phys;
	int r;

	assert(bytes && bytes % card->granule_bytes == 0);
	if (bytes > card->capacity_bytes)
		return DEV_CARD_E_FULL;
	r = dev_card_attach(card);
	if (r)
		return slu_fold(r);
	phys = phys_make(card, bytes);
	if (!phys)
		return slu_error(-ENOMEM);
	phys->n_granules = (unsigned)(bytes / card->granule_bytes);
	phys->granules = calloc(phys->n_granules, sizeof(*phys->granules));
	r = phys->granules ? dev_card_take(card, phys->n_granules, phys->granules) : -ENOMEM;
	if (r) {
		phys_discard(phys);
		return slu_fold(r);
	}
	pthread_mutex_lock(&owned_mutex);
	LIST_INSERT_HEAD(&owned, phys, link);
	phys->is_owned = true;
	pthread_mutex_unlock(&owned_mutex);
	*ret_phys = phys;
	return 0;
}

struct dev_phys *dev_phys_first(void)
{
	return LIST_FIRST(&owned);
}

struct dev_phys *dev_phys_next(struct dev_phys *phys)
{
	return LIST_NEXT(phys, link);
}

int dev_phys_new_host(uint64_t bytes, bool is_lazy, struct dev_phys **ret_phys)
{
	struct dev_phys *phys = phys_make(NULL, bytes);
	int r = 0;

	if (!phys)
		return slu_error(-ENOMEM);
	phys->host_fd = slu_fd_lift(memfd_create("sluice-softgpu-host", MFD_CLOEXEC));
	if (phys->host_fd < 0)
		r = slu_error(-errno);
	else if (slu_fd_may_hold(bytes))
		r = slu_error(-ENOMEM);
	else if (is_lazy)
		r = ftruncate(phys->host_fd, (off_t)bytes) < 0 ? -errno : 0;
	else
		r = -posix_fallocate(phys->host_fd, 0, (off_t)bytes);
	if (r) {
		phys_discard(phys);
		return slu_error(r);
	}
	*ret_phys = phys;
	return 0;
}

int dev_phys_export(struct dev_phys *phys)
{
	int r = 0;

	if (!phys->is_exported)
		r = dev_card_export(phys->card, phys->n_granules, phys->granules, &phys->ticket);
	if (!r)
		phys->is_exported = true;
	return r;
}

int dev_phys_import(struct dev_card *card, const struct dev_card_ticket *ticket,
		    struct dev_phys **ret_phys)
{
	struct dev_phys *phys;
	int r;

	r = dev_card_attach(card);
	if (r)
		return slu_fold(r);
	if (!ticket->n_granules || ticket->n_granules > card->n_granules)
		return -ENOENT;
	phys = phys_make(card, ticket->n_granules * card->granule_bytes);
	if (!phys)
		return slu_error(-ENOMEM);
	phys->n_granules = ticket->n_granules;
	phys->granules = calloc(phys->n_granules, sizeof(*phys->granules));
	dev_driver_change_begin();
	r = phys->granules ? dev_card_import(card, ticket, phys->granules) : -ENOMEM;
	dev_driver_change_end();
	if (r) {
		phys_discard(phys);
		return r;
	}
	phys->is_exported = true;
	phys->ticket = *ticket;
	*ret_phys = phys;
	return 0;
}

int dev_phys_import_host(int fd, uint64_t bytes, struct dev_phys **ret_phys)
{
	struct dev_phys *phys = phys_make(NULL, bytes);

	if (!phys)
		return slu_error(-ENOMEM);
	phys->host_fd = fd;
	*ret_phys = phys;
	return 0;
}

struct dev_phys *dev_phys_get(CUmemGenericAllocationHandle handle)
{
	return dev_object_get(&objects, (const void *)(uintptr_t)handle);
}

void dev_phys_unref(struct dev_phys *phys)
{
	assert(phys->n_refs);
	if (--phys->n_refs)
		return;
	if (phys->is_exported)
		dev_card_leave(phys->card, &phys->ticket);
	else if (phys->card)
		dev_card_give(phys->card, phys->n_granules, phys->granules);
	phys_discard(phys);
}

void dev_phys_keep_mapped(struct dev_phys *phys)
{
	phys->n_handle_refs--;
	phys->is_internal = true;
	dev_phys_unref(phys);
}

static int map_piece(uint8_t *at, uint64_t bytes, int fd, uint64_t offset)
{
	void *p =
		mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);

	return p == MAP_FAILED ? slu_error(-errno) : 0;
}

int dev_phys_map(const struct dev_phys *phys, uint8_t *at)
{
	uint64_t granule;

	if (!phys->card)
		return map_piece(at, phys->bytes, phys->host_fd, 0);
	granule = phys->card->granule_bytes;
	for (unsigned i = 0, n; i < phys->n_granules; i += n) {
		int r;

		for (n = 1; i + n < phys->n_granules; n++)
			if (phys->granules[i + n] != phys->granules[i] + n)
				break;
		r = map_piece(at + i * granule, n * granule, phys->card->memory_fd,
			      phys->granules[i] * granule);
		if (r)
			return slu_fold(r);
	}
	return 0;
}
