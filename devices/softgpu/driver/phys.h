/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Physical memory: granules of a card, or pinned memory of the host. It has no address; a mapping
 * gives it one. Lives as long as its handle or one of its mappings does.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cuabi/cuda-min.h"
#include "softgpu/driver/card-export.h"
#include "softgpu/driver/object.h"

struct slu_phys {
	struct slu_object object;
	unsigned n_refs;	/* the handle's and one a mapping; guarded by the driver's lock */
	unsigned n_handle_refs; /* of them, those that the program holds; guarded as above */
	bool is_internal;	/* under an allocation: the program may not unmap it */
	struct slu_card *card;	/* NULL: host memory */
	uint64_t bytes;
	unsigned n_granules;
	uint16_t *granules;
	int host_fd;
	CUmemAllocationProp prop;      /* as asked for */
	uint64_t id;		       /* never used again */
	bool is_exported;	       /* other processes may have it, too; guarded as the counts */
	struct slu_card_ticket ticket; /* then: how they name it */
};

/* Return: 0, SLU_CARD_E_FULL, -errno. */
int slu_phys_new(struct slu_card *card, uint64_t bytes, struct slu_phys **ret_phys);
/* @is_lazy: its pages are made when somebody writes to them. */
int slu_phys_new_host(uint64_t bytes, bool is_lazy, struct slu_phys **ret_phys);

/*
 * Makes it known to other processes, if it is not; called with the driver's lock held.
 * Return: 0, -EUSERS.
 */
int slu_phys_export(struct slu_phys *phys);

/* What another process has exported. Return: 0, -ENOENT where it is gone, -errno. */
int slu_phys_import(struct slu_card *card, const struct slu_card_ticket *ticket,
		    struct slu_phys **ret_phys);

/* Memory of the host that another process has made; takes over @fd. */
int slu_phys_import_host(int fd, uint64_t bytes, struct slu_phys **ret_phys);

/* Return: the physical memory of @handle where it is one, else NULL. */
struct slu_phys *slu_phys_get(CUmemGenericAllocationHandle handle);

/* The last reference gives the memory back; called with the driver's lock held. */
void slu_phys_unref(struct slu_phys *phys);

/* Lives by its mappings alone from now on; called with the driver's lock held. */
void slu_phys_keep_mapped(struct slu_phys *phys);

/* Maps it there, which must be reserved. Return: 0 or -errno. */
int slu_phys_map(const struct slu_phys *phys, uint8_t *at);
