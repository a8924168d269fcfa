/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/card-export.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"

#define TICKET_MAGIC 0x54676c53u

static uint16_t export_me(const struct dev_card *card)
{
	return (uint16_t)(dev_board_slot(card->board) + 1);
}

static void fill_ticket(const struct dev_card *card, unsigned number, uint32_t serial,
			struct dev_card_ticket *ret_ticket)
{
	*ret_ticket = (struct dev_card_ticket){
		.magic = TICKET_MAGIC,
		.card = (uint8_t)card->number,
		.number = (uint8_t)number,
		.serial = serial,
	};
	memcpy(ret_ticket->uuid, dev_board_identity(card->board)->uuid, sizeof(ret_ticket->uuid));
}

static bool is_of(const struct dev_card *card, const struct dev_card_ticket *ticket)
{
	return ticket->magic == TICKET_MAGIC && ticket->card == card->number &&
	       !memcmp(ticket->uuid, dev_board_identity(card->board)->uuid, sizeof(ticket->uuid));
}

/* -- granules ------------------------------------------------------------------------------- */

static struct dev_card_export *find_locked(struct dev_card *card,
					   const struct dev_card_ticket *ticket)
{
	struct dev_card_export *e;

	if (!is_of(card, ticket) || ticket->number >= DEV_CARD_EXPORTS_MAX)
		return NULL;
	e = &card->shared->exports[ticket->number];
	return e->n_granules && e->serial == ticket->serial && e->n_granules == ticket->n_granules
		       ? e
		       : NULL;
}

int dev_card_export(struct dev_card *card, unsigned n, const uint16_t *granules,
		    struct dev_card_ticket *ret_ticket)
{
	struct dev_card_shared *shared = card->shared;
	unsigned number = 0;
	int r = 0;

	dev_board_user_lock(card->board);
	while (number < DEV_CARD_EXPORTS_MAX && shared->exports[number].n_granules)
		number++;
	if (number == DEV_CARD_EXPORTS_MAX) {
		r = slu_error(-EUSERS);
	} else {
		struct dev_card_export *e = &shared->exports[number];

		*e = (struct dev_card_export){ .n_granules = n,
					       .serial = ++shared->last_serial,
					       .holders = { export_me(card) } };
		for (unsigned i = 0; i < n; i++)
			shared->export_of[granules[i]] = (uint8_t)(number + 1);
		card->n_exported[number] = 1;
		fill_ticket(card, number, e->serial, ret_ticket);
		ret_ticket->n_granules = n;
	}
	dev_board_user_unlock(card->board);
	return r;
}

/* Return: the place of @who among the holders; with 0 a free one; -1 where there is none. */
static int find_holder(const struct dev_card_export *e, uint16_t who)
{
	for (int i = 0; i < DEV_CARD_HOLDERS_MAX; i++)
		if (e->holders[i] == who)
			return i;
	return -1;
}

int dev_card_import(struct dev_card *card, const struct dev_card_ticket *ticket,
		    uint16_t *ret_granules)
{
	struct dev_card_shared *shared = card->shared;
	struct dev_card_export *e;
	unsigned n = 0;
	int place, r = 0;

	dev_board_user_lock(card->board);
	e = find_locked(card, ticket);
	place = e ? find_holder(e, export_me(card)) : -1;
	if (e && place < 0)
		place = find_holder(e, 0);
	if (!e) {
		r = -ENOENT;
	} else if (place < 0) {
		r = slu_error(-EUSERS);
	} else {
		e->holders[place] = export_me(card);
		card->n_exported[ticket->number]++;
		for (unsigned i = 0; i < card->n_granules && n < e->n_granules; i++)
			if (shared->export_of[i] == ticket->number + 1)
				ret_granules[n++] = (uint16_t)i;
	}
	dev_board_user_unlock(card->board);
	return r;
}

/* @who holds it no more. The bytes of a dead one's account are swept by the board. */
static void leave_locked(struct dev_board *board, struct dev_card_shared *shared, unsigned number,
			 uint16_t who, bool is_dead)
{
	struct dev_card_export *e = &shared->exports[number];
	int place = find_holder(e, who);
	uint64_t granule_bytes = dev_board_identity(board)->granule_bytes, n_owned = 0;
	uint16_t heir = 0;

	if (place < 0)
		return;
	e->holders[place] = 0;
	for (unsigned i = 0; i < DEV_CARD_HOLDERS_MAX && !heir; i++)
		heir = e->holders[i];
	for (unsigned i = 0; i < DEV_SETTINGS_GRANULES_MAX; i++) {
		if (shared->export_of[i] != number + 1)
			continue;
		n_owned += shared->owner[i] == who;
		if (shared->owner[i] == who)
			shared->owner[i] = heir ? heir : DEV_CARD_OWNER_DIRTY;
		if (!heir)
			shared->export_of[i] = 0;
	}
	if (!heir)
		e->n_granules = 0;
	if (heir && n_owned)
		dev_board_shift(board, who - 1u, heir - 1u, n_owned * granule_bytes);
	else if (n_owned && !is_dead)
		dev_board_give(board, n_owned * granule_bytes, 0, 0);
}

void dev_card_leave(struct dev_card *card, const struct dev_card_ticket *ticket)
{
	dev_board_user_lock(card->board);
	if (find_locked(card, ticket) && !--card->n_exported[ticket->number])
		leave_locked(card->board, card->shared, ticket->number, export_me(card), false);
	dev_board_user_unlock(card->board);
}

void dev_card_export_reclaim(struct dev_board *board, struct dev_card_shared *shared, unsigned slot)
{
	for (unsigned i = 0; i < DEV_CARD_EXPORTS_MAX; i++)
		if (shared->exports[i].n_granules)
			leave_locked(board, shared, i, (uint16_t)(slot + 1), true);
	for (unsigned i = 0; i < DEV_CARD_EVENTS_MAX; i++)
		if (shared->events[i].owner == slot + 1)
			shared->events[i].owner = 0;
}

/* -- events --------------------------------------------------------------------------------- */

static struct dev_card_event *find_event_locked(struct dev_card *card,
						const struct dev_card_ticket *ticket)
{
	struct dev_card_event *e;

	if (!is_of(card, ticket) || ticket->number >= DEV_CARD_EVENTS_MAX)
		return NULL;
	e = &card->shared->events[ticket->number];
	return e->owner && e->serial == ticket->serial ? e : NULL;
}

int dev_card_event_new(struct dev_card *card, struct dev_card_ticket *ret_ticket)
{
	struct dev_card_shared *shared = card->shared;
	unsigned number = 0;
	int r = 0;

	dev_board_user_lock(card->board);
	while (number < DEV_CARD_EVENTS_MAX && shared->events[number].owner)
		number++;
	if (number == DEV_CARD_EVENTS_MAX) {
		r = slu_error(-EUSERS);
	} else {
		shared->events[number] = (struct dev_card_event){ .owner = export_me(card),
								  .serial = ++shared->last_serial };
		fill_ticket(card, number, shared->last_serial, ret_ticket);
	}
	dev_board_user_unlock(card->board);
	return r;
}

void dev_card_event_free(struct dev_card *card, const struct dev_card_ticket *ticket)
{
	struct dev_card_event *e;

	dev_board_user_lock(card->board);
	e = find_event_locked(card, ticket);
	if (e && e->owner == export_me(card))
		e->owner = 0;
	dev_board_user_unlock(card->board);
}

bool dev_card_event_exists(struct dev_card *card, const struct dev_card_ticket *ticket)
{
	bool exists;

	dev_board_user_lock(card->board);
	exists = find_event_locked(card, ticket) != NULL;
	dev_board_user_unlock(card->board);
	return exists;
}

uint64_t dev_card_event_record(struct dev_card *card, const struct dev_card_ticket *ticket)
{
	struct dev_card_event *e;
	uint64_t number = 0;

	dev_board_user_lock(card->board);
	e = find_event_locked(card, ticket);
	if (e) {
		number = ++e->n_recorded;
		e->recorder = export_me(card);
	}
	dev_board_user_unlock(card->board);
	return number;
}

void dev_card_event_reach(struct dev_card *card, const struct dev_card_ticket *ticket,
			  uint64_t number)
{
	struct dev_card_event *e;

	dev_board_user_lock(card->board);
	e = find_event_locked(card, ticket);
	if (e)
		e->n_reached = SLU_MAX(e->n_reached, number);
	dev_board_user_unlock(card->board);
}

uint64_t dev_card_event_newest(struct dev_card *card, const struct dev_card_ticket *ticket)
{
	struct dev_card_event *e;
	uint64_t number = 0;

	dev_board_user_lock(card->board);
	e = find_event_locked(card, ticket);
	if (e)
		number = e->n_recorded;
	dev_board_user_unlock(card->board);
	return number;
}

bool dev_card_event_is_reached(struct dev_card *card, const struct dev_card_ticket *ticket,
			       uint64_t number)
{
	struct dev_card_event *e;
	bool is_reached;

	dev_board_user_lock(card->board);
	e = find_event_locked(card, ticket);
	is_reached = !e || e->n_reached >= number ||
		     !dev_board_slot_is_alive(card->board, e->recorder - 1u);
	dev_board_user_unlock(card->board);
	return is_reached;
}
