/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The copies of a unit's contents: which ones a move finds and which ones remain after it. The
 * functions need the client's lock.
 */

#include <stdbool.h>

#include "client/move.h"
#include "peer/peer.h"

struct slu_client;
struct slu_client_unit;

void slu_contents_prepare(struct slu_client *client, struct slu_client_unit *w,
			  struct slu_move *ret_move);

/* The copies were compared; no piece is under way yet. */
void slu_contents_note_compared(struct slu_client *client, struct slu_client_unit *w,
				const struct slu_move *move);

/* @bytes of a move that goes on have been copied. */
void slu_contents_note_part(struct slu_client *client, struct slu_client_unit *w,
			    const struct slu_move *move, uint64_t bytes);

/* Counts the move and records its faults. @r: the result of slu_move_end(). */
void slu_contents_note_end(struct slu_client *client, struct slu_client_unit *w,
			   const struct slu_move *move, int r);

/* The result of slu_move_end() in the words of the peer. */
enum slu_move_result slu_contents_result(int r);

/* After the peer knows the result: gives the unit the copies that the move made. */
void slu_contents_apply(struct slu_client_unit *w, const struct slu_move *move, bool is_done);
