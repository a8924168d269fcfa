/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Granules that several processes hold, and events that several processes know. Both live in the
 * card's shared space.
 *
 * Exported granules belong to one of their holders, in whose account they are. When that one lets
 * go of them, or dies, they go over to another; the last one makes them dirty. A process counts
 * once, however often it has them.
 *
 *   OWNED ─export─▶ held by one ─import─▶ held by several ─leave, death─▶ … held by nobody: DIRTY
 */

#include "softgpu/driver/card.h"

/* What names an export outside of its process. */
struct dev_card_ticket {
	uint32_t magic;
	uint8_t card;
	uint8_t number; /* of the entry */
	uint16_t reserved;
	uint32_t serial; /* of what the entry holds: entries are used again */
	uint32_t n_granules;
	uint8_t uuid[16]; /* of the card */
};

/* Exports granules that are ours, once. Return: 0, -EUSERS where no entry is free. */
int dev_card_export(struct dev_card *card, unsigned n, const uint16_t *granules,
		    struct dev_card_ticket *ret_ticket);

/* Joins the holders; @ret_granules takes all of them. Return: 0, -ENOENT (gone), -EUSERS. */
int dev_card_import(struct dev_card *card, const struct dev_card_ticket *ticket,
		    uint16_t *ret_granules);

/* Lets go of one import, or of the export. */
void dev_card_leave(struct dev_card *card, const struct dev_card_ticket *ticket);

/* The part of a death that has to do with exports and events; with the board's lock held. */
void dev_card_export_reclaim(struct dev_board *board, struct dev_card_shared *shared,
			     unsigned slot);

/* -- events --------------------------------------------------------------------------------- */

/* Return: 0 with a new entry of ours, -EUSERS. */
int dev_card_event_new(struct dev_card *card, struct dev_card_ticket *ret_ticket);
void dev_card_event_free(struct dev_card *card, const struct dev_card_ticket *ticket);
bool dev_card_event_exists(struct dev_card *card, const struct dev_card_ticket *ticket);

/* Begins to record. Return: the number that dev_card_event_reach() is told. */
uint64_t dev_card_event_record(struct dev_card *card, const struct dev_card_ticket *ticket);
void dev_card_event_reach(struct dev_card *card, const struct dev_card_ticket *ticket,
			  uint64_t number);

/* The newest recording. */
uint64_t dev_card_event_newest(struct dev_card *card, const struct dev_card_ticket *ticket);

/* Whether a recording was reached, or never will be: its process or the event is gone. */
bool dev_card_event_is_reached(struct dev_card *card, const struct dev_card_ticket *ticket,
			       uint64_t number);
