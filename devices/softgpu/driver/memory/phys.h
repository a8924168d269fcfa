/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Physical memory: granules of a card, or pinned memory of the host. It has no address; a mapping
 * gives it one. Lives as long as its handle or one of its mappings does.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "cuabi/cuda-min.h"
#include "softgpu/driver/card-export.h"
#include "softgpu/driver/object.h"

struct dev_phys {
	struct dev_object object;
	LIST_ENTRY(dev_phys) link; /* of all with granules of our own; guarded by their mutex */
	bool is_owned;		   /* … it is one of them */
	unsigned n_refs;	/* the handle's and one a mapping; guarded by the driver's lock */
	unsigned n_handle_refs; /* of them, those that the program holds; guarded as above */
	bool is_internal;	/* under an allocation: the program may not unmap it */
	struct dev_card *card;	/* NULL: host memory */
	uint64_t bytes;
	unsigned n_granules;
	uint16_t *granules;
	int host_fd;
	void *saved;		  /* its bytes, while a snapshot has them; guarded as the counts */
	CUmemAllocationProp prop; /* as asked for */
	uint64_t id;		  /* never used again */
	bool is_exported;	  /* other processes may have it, too; guarded as the counts */
	struct dev_card_ticket ticket; /* then: how they name it */
};

/* Return: 0, DEV_CARD_E_FULL, -errno. */
int dev_phys_new(struct dev_card *card, uint64_t bytes, struct dev_phys **ret_phys);
/* @is_lazy: its pages are made when somebody writes to them. */
int dev_phys_new_host(uint64_t bytes, bool is_lazy, struct dev_phys **ret_phys);

/*
 * Makes it known to other processes, if it is not; called with the driver's lock held.
 * Return: 0, -EUSERS.
 */
int dev_phys_export(struct dev_phys *phys);

/*
 * What another process has exported; without the driver's lock. Return: 0, -ENOENT where it is
 * gone, -errno.
 */
int dev_phys_import(struct dev_card *card, const struct dev_card_ticket *ticket,
		    struct dev_phys **ret_phys);

/* Memory of the host that another process has made; takes over @fd. */
int dev_phys_import_host(int fd, uint64_t bytes, struct dev_phys **ret_phys);

/* Return: the physical memory of @handle where it is one, else NULL. */
struct dev_phys *dev_phys_get(CUmemGenericAllocationHandle handle);

/* The last reference gives the memory back; called with the driver's lock held. */
void dev_phys_unref(struct dev_phys *phys);

/* Lives by its mappings alone from now on; called with the driver's lock held. */
void dev_phys_keep_mapped(struct dev_phys *phys);

/* All with granules of our own; with the driver's lock held while nothing changes (driver.h). */
struct dev_phys *dev_phys_first(void);
struct dev_phys *dev_phys_next(struct dev_phys *phys);

/* Maps it there, which must be reserved. Return: 0 or -errno. */
int dev_phys_map(const struct dev_phys *phys, uint8_t *at);
