/* SPDX-License-Identifier: Apache-2.0 */

/* The invariants about what the wire carried: I5 and I7 of docs/protocol.md. */

#include <string.h>

#include "base/util.h"
#include "sim/world.h"

void slu_sim_traffic_sent(struct slu_sim_world *w, unsigned client, const struct slu_message *m)
{
	struct slu_sim_session *s = &w->sessions[client];
	const char *fault =
		slu_message_fault(m, sizeof(m->header) + m->header.size, SLU_MESSAGE_FROM_DAEMON);
	unsigned k;

	if (fault)
		slu_sim_world_break(w, "the daemon sends %s: %s", slu_message_name(m->header.type),
				    fault);
	switch (m->header.type) {
	case SLU_MSG_LIMIT:
		k = slu_sim_invariant_account_number(m->limit.account);
		if (s->seq_sent[k] != s->seq_answered[k])
			slu_sim_world_break(w,
					    "I5: client %u, account %u: a second LIMIT unanswered",
					    client, k);
		if (m->limit.seq <= s->seq_sent[k])
			slu_sim_world_break(w, "I5: client %u, account %u: LIMITs out of order",
					    client, k);
		s->seq_sent[k] = m->limit.seq;
		s->limit_sent[k] = m->limit.limit_bytes;
		break;
	case SLU_MSG_TURN:
		if (!slu_epoch_is_none(s->turn[m->turn.device]))
			slu_sim_world_break(w, "I5: client %u, device %u: a second turn", client,
					    m->turn.device);
		slu_sim_guess_turn(w, client, &m->turn);
		s->turn[m->turn.device] = m->turn.epoch;
		s->is_closing[m->turn.device] = false;
		break;
	case SLU_MSG_CLOSE:
		if (!slu_epoch_equal(s->turn[m->close.device], m->close.epoch) ||
		    s->is_closing[m->close.device])
			slu_sim_world_break(w, "I5: client %u, device %u: a CLOSE of no open turn",
					    client, m->close.device);
		s->is_closing[m->close.device] = true;
		break;
	default:
		break;
	}
}

void slu_sim_traffic_heard(struct slu_sim_world *w, unsigned client, const struct slu_message *m)
{
	struct slu_sim_session *s = &w->sessions[client];
	unsigned k;

	switch (m->header.type) {
	case SLU_MSG_HELLO:
		memset(s->seq_sent, 0, sizeof(s->seq_sent));
		memset(s->seq_answered, 0, sizeof(s->seq_answered));
		memset(s->turn, 0, sizeof(s->turn));
		memset(s->is_closing, 0, sizeof(s->is_closing));
		for (unsigned d = 0; d < m->hello.n_devices; d++)
			s->turn[d] = m->hello.devices[d].epoch;
		break;
	case SLU_MSG_SUMS:
		k = slu_sim_invariant_account_number(m->sums.account);
		s->seq_answered[k] = SLU_MAX(s->seq_answered[k], m->sums.seq);
		break;
	case SLU_MSG_REST:
		if (slu_epoch_equal(s->turn[m->rest.device], m->rest.epoch))
			s->turn[m->rest.device] = (struct slu_epoch){ 0 };
		break;
	default:
		break;
	}
}

void slu_sim_traffic_message(struct slu_sim_world *w, unsigned client, const struct slu_message *m)
{
	const struct slu_sim_session *s = &w->sessions[client];
	uint64_t group = s->group;
	struct slu_core_group_view before = { 0 }, after = { 0 };
	bool is_foreign = false;

	if (m->header.type == SLU_MSG_REST)
		is_foreign = !slu_epoch_equal(s->turn[m->rest.device], m->rest.epoch);
	else if (m->header.type == SLU_MSG_READY)
		is_foreign = !slu_epoch_equal(s->turn[m->turn.device], m->turn.epoch);
	if (is_foreign)
		slu_sim_invariant_find_group(w, group, &before);
	slu_core_message(w->core, slu_sim_world_now_ns(w), client + 1, m);
	if (!is_foreign)
		return;
	slu_sim_invariant_find_group(w, group, &after);
	if (before.state != after.state || !slu_epoch_equal(before.epoch, after.epoch))
		slu_sim_world_break(w, "I7: client %u: a %s of another epoch changed the turn",
				    client, slu_message_name(m->header.type));
}
