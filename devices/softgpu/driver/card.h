/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A card: the part of the software GPU that all processes share. Its board keeps accounts and
 * timelines, its memory is a preallocated file beside the board, and a table in the board's user
 * space says whose each granule of the file is.
 *
 *   FREE ─take─▶ OWNED by a slot ─give, or the slot's death─▶ DIRTY ─take─▶ OWNED (after a scrub)
 *
 * Granules of a dead process become DIRTY by the board's hook. A dirty granule is cleared inside
 * the call that takes it, as the genuine driver does: nobody ever reads another one's bytes.
 *
 * Compute belongs to one context at a time, in slices: see compute.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "board/board.h"
#include "softgpu/driver/bus.h"
#include "softgpu/driver/settings.h"

/* As the card's maker wrote it into the board's user space; constant after that. */
struct dev_card_traits {
	uint64_t magic;
	uint64_t in_alone, in_both, out_alone, out_both; /* bytes a second, scaled; 0: unlimited */
	uint64_t pageable; /* the same for one copy from or to pageable memory, either way */
	uint64_t fault_ns; /* what a page fault of a kernel costs beside the bytes */
	uint32_t scale;
	char profile[20];
};

/* Who computes; guarded by the board's user lock. Slots are counted from 1 here, 0 is nobody. */
struct dev_card_compute {
	uint32_t holder;
	uint32_t n_running;    /* kernels of the holder that run */
	uint32_t reserved_for; /* whose turn it is, where somebody gave it up for others */
	uint64_t since_ns;
	uint64_t waiting[DEV_BOARD_SLOTS_MAX / 64]; /* a set bit: that slot waits */
	uint32_t wake; /* a futex: changes whenever somebody should look again */
};

#define DEV_CARD_EXPORTS_MAX 64
#define DEV_CARD_HOLDERS_MAX 12
#define DEV_CARD_EVENTS_MAX  128

enum {
	DEV_CARD_OWNER_FREE = 0,
	DEV_CARD_OWNER_DIRTY = UINT16_MAX,
};

/* Granules that several processes may hold: see card-export.h. */
struct dev_card_export {
	uint32_t n_granules; /* 0: the entry is free */
	uint32_t serial;
	uint16_t holders[DEV_CARD_HOLDERS_MAX]; /* slots + 1, in any order; 0: nobody */
};

/* An event that several processes know. */
struct dev_card_event {
	uint16_t owner;	   /* slot + 1; 0: the entry is free */
	uint16_t recorder; /* slot + 1 of who recorded it last */
	uint32_t serial;
	uint64_t n_recorded, n_reached;
};

/*
 * Granules with managed memory can be taken away from whoever has them, also by other processes:
 * their bytes lie with their owner, in the host's memory, and only the granule and the time are the
 * card's. The one that came in first goes first.
 */
struct dev_card_shared {
	struct dev_card_traits traits;
	struct dev_card_compute compute;
	uint64_t n_evicted; /* granules that were taken away so; owners look whether it changes */
	uint64_t n_brought; /* counts what comes in, and so tells who came first */
	uint16_t owner[DEV_SETTINGS_GRANULES_MAX]; /* FREE, DIRTY, or slot + 1 */
	uint32_t stamp[DEV_SETTINGS_GRANULES_MAX]; /* of managed ones: when it came in; else 0 */
	uint32_t last_serial;
	struct dev_card_export exports[DEV_CARD_EXPORTS_MAX];
	uint8_t export_of[DEV_SETTINGS_GRANULES_MAX]; /* the number of its export + 1, or 0 */
	struct dev_card_event events[DEV_CARD_EVENTS_MAX];
	struct dev_bus_direction in, out;
};

struct dev_card {
	unsigned index;	 /* as this process counts the cards that it sees */
	unsigned number; /* as the machine counts them, and so all processes */
	struct dev_board *board;
	struct dev_card_shared *shared;
	int memory_fd;
	uint64_t capacity_bytes;
	uint64_t granule_bytes;
	unsigned n_granules;
	uint64_t context_bytes;
	/* guarded by the user's lock */
	uint64_t hidden_bytes;			   /* that we took and did not give */
	uint64_t evicted_ns;			   /* when what was taken away for us is out */
	unsigned n_exported[DEV_CARD_EXPORTS_MAX]; /* how often we hold each */
	uint64_t computing; /* where we are the holder: the context that computes */
	uint64_t rival;	    /* the context of ours that waits for it; 0: none; also read without */
	unsigned n_begin;   /* kernels that wait to begin */
};

enum {
	_DEV_CARD_E_SUCCESS,
	DEV_CARD_E_FULL,     /* so much is not free */
	DEV_CARD_E_MISMATCH, /* the card that is there is not the one that was asked for */
};

/* The card of that number, which is also its index until somebody gives it another one. */
int dev_card_open(struct dev_card *card, unsigned number, const struct dev_settings *settings);
void dev_card_close(struct dev_card *card);

/* This process becomes visible on the board, if it is not yet. */
int dev_card_attach(struct dev_card *card);

/* Takes bytes that are not granules: what a context needs, and what its kernels do. */
int dev_card_take_hidden(struct dev_card *card, uint64_t bytes);
void dev_card_give_hidden(struct dev_card *card, uint64_t bytes);

/* Takes @n granules, cleared, and writes their numbers. Neighbours, where that is possible. */
int dev_card_take(struct dev_card *card, unsigned n, uint16_t *ret_granules);
void dev_card_give(struct dev_card *card, unsigned n, const uint16_t *granules);

/*
 * A granule for managed memory. Its stamp tells whether it is still the same: it may have been
 * taken away, and even have come back for something else.
 */
struct dev_card_place {
	uint16_t granule;
	uint32_t stamp; /* 0: none */
};

/* Takes one, from others if need be; its bytes are not looked at. */
int dev_card_take_managed(struct dev_card *card, struct dev_card_place *ret_place);
bool dev_card_has_managed(const struct dev_card *card, struct dev_card_place place);

/* Something was brought in again. Return: false where it is not ours any more. */
bool dev_card_touch_managed(struct dev_card *card, struct dev_card_place *place);
void dev_card_give_managed(struct dev_card *card, struct dev_card_place place);

uint64_t dev_card_free_bytes(struct dev_card *card);

/*
 * Books the way of @bytes over the bus, from @earliest_ns on.
 * Return: when they will have arrived.
 */
uint64_t dev_card_book(struct dev_card *card, enum dev_board_engine engine, uint64_t bytes,
		       uint64_t earliest_ns);

/* How many bytes go over the bus in a millisecond; UINT64_MAX where it is not limited. */
uint64_t dev_card_slice_bytes(const struct dev_card *card, enum dev_board_engine engine);

/* The device's times are CLOCK_MONOTONIC's. */
void dev_card_sleep_until(uint64_t ns);
