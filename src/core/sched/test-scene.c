/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/test-scene.h"

#include "base/util.h"

void scene_begin(struct scene *scene, const struct slu_core_config *config)
{
	memset(scene, 0, sizeof(*scene));
	scene->idle_ms = config->idle_ns / MS(1);
	script_begin(&scene->s, config, SCENE_DEVICE_MIB);
}

unsigned scene_add_sized(struct scene *scene, uint64_t burst_ms, uint64_t rest_ms, uint64_t mib)
{
	struct actor *actor = &scene->actors[++scene->n];

	assert_true(scene->n < SCRIPT_CLIENTS);
	*actor = (struct actor){ .burst_ms = burst_ms,
				 .rest_ms = rest_ms,
				 .mib = mib,
				 .remaining_ms = burst_ms,
				 .wanted_ms = scene->now_ms };
	script_join_plain(&scene->s, scene->n, SLU_MODE_ALL);
	script_want(&scene->s, scene->n, 0, mib, true);
	return scene->n;
}

unsigned scene_add(struct scene *scene, uint64_t burst_ms, uint64_t rest_ms)
{
	return scene_add_sized(scene, burst_ms, rest_ms, SCENE_EACH_MIB);
}

static void rest(struct scene *scene, unsigned id)
{
	struct actor *actor = &scene->actors[id];

	if (actor->remaining_ms > SCENE_TICK_MS) {
		actor->remaining_ms -= SCENE_TICK_MS;
		return;
	}
	actor->is_resting = false;
	actor->remaining_ms = actor->burst_ms;
	actor->wanted_ms = scene->now_ms;
	script_want(&scene->s, id, 0, actor->mib, true);
}

static void compute(struct scene *scene, unsigned id)
{
	struct actor *actor = &scene->actors[id];

	actor->wanted_ms = scene->now_ms;
	actor->ran_ms += SCENE_TICK_MS;
	if (actor->work_ms && actor->ran_ms >= actor->work_ms) {
		actor->has_ended = true;
		actor->ended_ms = scene->now_ms;
		slu_core_dead(scene->s.core, scene->s.now_ns, id);
		script_step(&scene->s);
		return;
	}
	if (!actor->rest_ms || actor->remaining_ms > SCENE_TICK_MS) {
		actor->remaining_ms -= actor->rest_ms ? SCENE_TICK_MS : 0;
		return;
	}
	actor->is_resting = true;
	actor->remaining_ms = actor->rest_ms;
	actor->silent_ms = scene->idle_ms;
	if (!actor->silent_ms)
		script_idle(&scene->s, id, 0);
}

static void act(struct scene *scene, unsigned id)
{
	struct actor *actor = &scene->actors[id];

	if (actor->has_ended)
		return;
	script_obey(&scene->s, id, actor->mib, !actor->is_resting);
	if (actor->silent_ms) {
		actor->silent_ms -= SCENE_TICK_MS;
		if (!actor->silent_ms)
			script_idle(&scene->s, id, 0);
	}
	if (actor->is_resting)
		rest(scene, id);
	else if (script_state(&scene->s, id) == SLU_CORE_RUNNING)
		compute(scene, id);
	else
		actor->longest_ms = SLU_MAX(actor->longest_ms, scene->now_ms - actor->wanted_ms);
}

void scene_play(struct scene *scene, uint64_t ms)
{
	for (uint64_t end = scene->now_ms + ms; scene->now_ms < end;
	     scene->now_ms += SCENE_TICK_MS) {
		for (unsigned round = 0; round < 3; round++)
			for (unsigned id = 1; id <= scene->n; id++)
				if (!scene->actors[id].has_ended)
					script_obey(&scene->s, id, scene->actors[id].mib,
						    !scene->actors[id].is_resting);
		for (unsigned id = 1; id <= scene->n; id++)
			act(scene, id);
		script_forget(&scene->s);
		script_pass(&scene->s, SCENE_TICK_MS);
	}
}
