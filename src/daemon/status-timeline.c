/* SPDX-License-Identifier: Apache-2.0 */
/* A part of control.h: the timeline of a device in the answer to `status`. */
#include "base/clock.h"
#include "base/util.h"
#include "daemon/control.h"
#include "daemon/group.h"
#include "daemon/program.h"
#include "daemon/server.h"

#define SOMEBODY "(another user)"

const struct slu_program *slu_status_member(const struct slu_control_view *view, uint64_t group,
					    const struct slu_device *device)
{
	const struct slu_program *program;

	LIST_FOREACH (program, &view->server->programs, entry)
		for (unsigned d = 0; d < program->n_devices; d++)
			if (program->group->id == group && program->devices[d].device == device)
				return program;
	return NULL;
}

/* From @now_ns, in ms; negative if it began in the past. */
static json_int_t ms_from(uint64_t now_ns, uint64_t at_ns)
{
	return at_ns < now_ns ? -(json_int_t)((now_ns - at_ns) / SLU_NS_PER_MS)
			      : (json_int_t)((at_ns - now_ns) / SLU_NS_PER_MS);
}

static json_t *make_expected(const struct slu_control_view *view, const struct slu_device *device,
			     const struct slu_core_turn_view *turn, uint64_t now_ns)
{
	const struct slu_program *program = slu_status_member(view, turn->group, device);
	bool is_seen = program && slu_control_may_see(view, program->uid);
	bool is_known = turn->start_ns != SLU_CORE_NEVER;
	json_t *made;

	made = json_pack("{s:s, s:i, s:s, s:b, s:i}", "name", is_seen ? program->name : SOMEBODY,
			 "pid", is_seen ? (int)program->pid : 0, "state",
			 slu_core_state_name(turn->state), "next", turn->is_next, "sure_percent",
			 (int)turn->sure_percent);
	if (!made)
		return NULL;
	json_object_set_new(made, "start_ms",
			    is_known ? json_integer(ms_from(now_ns, turn->start_ns)) : json_null());
	json_object_set_new(made, "length_ms",
			    is_known ? json_integer((json_int_t)(turn->length_ns / SLU_NS_PER_MS))
				     : json_null());
	return made;
}

json_t *slu_status_timeline(const struct slu_control_view *view, const struct slu_device *device,
			    uint64_t now_ns)
{
	json_t *list = json_array();
	struct slu_core_turn_view turn;
	size_t cursor = 0;

	while (slu_core_timeline(view->server->core, device->number, &cursor, &turn))
		json_array_append_new(list, make_expected(view, device, &turn, now_ns));
	return list;
}
