/* SPDX-License-Identifier: Apache-2.0 */
/* A part of control.h: the answers to `history` and `settings`. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "daemon/control.h"
#include "daemon/order.h"
#include "daemon/program.h"
#include "daemon/server.h"

static json_int_t ms(const struct slu_server *server, uint64_t ns)
{
	return ns ? (json_int_t)(slu_sub_floor(ns, server->started_ns) / SLU_NS_PER_MS) : 0;
}

static json_t *make_who(const struct slu_control_view *view, const struct slu_timeline_who *who)
{
	char group[17];

	if (!slu_control_may_see(view, who->uid))
		return json_pack("{s:i, s:s, s:n, s:i}", "pid", 0, "name", "(another user)",
				 "group", "uid", -1);
	snprintf(group, sizeof(group), "%016llx", (unsigned long long)who->group);
	return json_pack("{s:i, s:s, s:s, s:i}", "pid", (int)who->pid, "name", who->name, "group",
			 group, "uid", (int)who->uid);
}

static json_t *make_join(const struct slu_control_view *view, const struct slu_timeline_join *join)
{
	json_t *made = make_who(view, &join->who);

	json_object_set_new(made, "at_ms", json_integer(ms(view->server, join->at_ns)));
	return made;
}

static json_t *make_refusal(const struct slu_control_view *view,
			    const struct slu_timeline_refusal *refusal)
{
	bool is_seen = slu_control_may_see(view, refusal->who.uid);
	json_t *made = make_who(view, &refusal->who);

	json_object_update_new(made,
			       json_pack("{s:I, s:s}", "at_ms", ms(view->server, refusal->at_ns),
					 "reason", is_seen ? refusal->reason : ""));
	return made;
}

/* The reason may name programs that waited, even dead ones: it is for masters only. */
static json_t *make_turn(const struct slu_control_view *view, const struct slu_timeline_turn *turn)
{
	json_t *made = make_who(view, &turn->who);
	const struct slu_server *server = view->server;
	bool is_seen = slu_control_may_see(view, turn->who.uid);

	json_object_update_new(made, json_pack("{s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "device",
					       (int)slu_order_index(server->devices, turn->device),
					       "begin_ms", ms(server, turn->granted_ns), "ready_ms",
					       ms(server, turn->ready_ns), "closing_ms",
					       ms(server, turn->closing_ns), "end_ms",
					       ms(server, turn->end_ns), "present_bytes",
					       is_seen ? (json_int_t)turn->present_bytes : 0,
					       "epoch", (json_int_t)turn->epoch.counter, "reason",
					       view->is_master ? turn->reason : ""));
	return made;
}

static json_t *make_move(const struct slu_control_view *view, const struct slu_timeline_move *move)
{
	json_t *made = make_who(view, &move->who);

	json_object_update_new(made,
			       json_pack("{s:i, s:I, s:I, s:I}", "device",
					 (int)slu_order_index(view->server->devices, move->device),
					 "at_ms", ms(view->server, move->at_ns), "in_bytes",
					 (json_int_t)move->in_bytes, "out_bytes",
					 (json_int_t)move->out_bytes));
	return made;
}

/* The reason names only the program and the device, so the owner may see it as well. */
static json_t *make_denial(const struct slu_control_view *view,
			   const struct slu_timeline_denial *denial)
{
	bool is_seen = slu_control_may_see(view, denial->who.uid);
	json_t *made = make_who(view, &denial->who);

	json_object_update_new(
		made, json_pack("{s:I, s:s, s:s, s:s}", "at_ms", ms(view->server, denial->at_ns),
				"what", denial->what, "reason", is_seen ? denial->reason : "",
				"hint", is_seen ? denial->hint : ""));
	return made;
}

json_t *slu_history_make(const struct slu_control_view *view, size_t last)
{
	const struct slu_timeline *timeline = view->server->timeline;
	size_t n_turns = slu_timeline_n_turns(timeline), n_moves = slu_timeline_n_moves(timeline);
	size_t n_joins = slu_timeline_n_joins(timeline);
	size_t n_denials = slu_timeline_n_denials(timeline);
	size_t n_refusals = slu_timeline_n_refusals(timeline);
	json_t *turns = json_array(), *moves = json_array();
	json_t *joins = json_array(), *denials = json_array(), *refusals = json_array();

	for (size_t i = n_joins - SLU_MIN(n_joins, last); i < n_joins; i++)
		json_array_append_new(joins, make_join(view, slu_timeline_join(timeline, i)));
	for (size_t i = n_turns - SLU_MIN(n_turns, last); i < n_turns; i++)
		json_array_append_new(turns, make_turn(view, slu_timeline_turn(timeline, i)));
	for (size_t i = n_moves - SLU_MIN(n_moves, last); i < n_moves; i++)
		json_array_append_new(moves, make_move(view, slu_timeline_move(timeline, i)));
	for (size_t i = n_denials - SLU_MIN(n_denials, last); i < n_denials; i++)
		json_array_append_new(denials, make_denial(view, slu_timeline_denial(timeline, i)));
	for (size_t i = n_refusals - SLU_MIN(n_refusals, last); i < n_refusals; i++)
		json_array_append_new(refusals,
				      make_refusal(view, slu_timeline_refusal(timeline, i)));
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "now_ms",
			 ms(view->server, slu_clock_now_ns()), "joins", joins, "turns", turns,
			 "moves", moves, "denials", denials, "refusals", refusals);
}

static void add_setting(void *data, const struct slu_config_view *setting)
{
	static const char *const counts[] = {
		[SLU_CONFIG_AT_ONCE] = "at once",
		[SLU_CONFIG_AT_DEVICE] = "new devices",
		[SLU_CONFIG_AT_JOIN] = "new programs",
	};

	json_array_append_new(data, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "section",
					      setting->section, "name", setting->name, "value",
					      setting->value, "default", setting->fallback, "words",
					      setting->words, "meaning", setting->meaning, "counts",
					      counts[setting->counts]));
}

json_t *slu_settings_make(const struct slu_control_view *view, const char *program)
{
	json_t *list = json_array();

	if (program)
		slu_config_each_of_program(&view->server->config, program, add_setting, list);
	else
		slu_config_each(&view->server->config, add_setting, list);
	return json_pack("{s:o}", "settings", list);
}
