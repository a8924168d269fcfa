/* SPDX-License-Identifier: Apache-2.0 */
/* A part of server.h: puts settings in force, in the core, the limits and the devices. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/size.h"
#include "base/util.h"
#include "daemon/backing.h"
#include "daemon/program.h"
#include "daemon/server.h"
#include "daemon/session.h"

static void config_report(void *data, const char *path, unsigned line, const char *text)
{
	(void)data;
	if (line)
		slu_log(ERR, "%s:%u: %s", path, line, text);
	else
		slu_log(ERR, "%s: %s", path, text);
}

bool slu_server_settings_fault(const struct slu_server_options *options,
			       const struct slu_config *config, char *ret_why, size_t size)
{
	const char *fault = slu_backing_folder_fault(config->disk_folder, options->is_system);

	if (fault)
		snprintf(ret_why, size,
			 "disk_folder: expected a folder on disk in which programs may have files, "
			 "such as /var/tmp; %s: %s",
			 config->disk_folder, fault);
	return fault;
}

static uint64_t machine_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : SLU_GIB;
}

/* Settings that are budgets of host memory. */
static const struct budget {
	const char *name;
	size_t offset; /* of its bytes in struct slu_config */
} budgets[] = {
	{ "backing", offsetof(struct slu_config, backing_bytes) },
	{ "user_backing", offsetof(struct slu_config, user_backing_bytes) },
	{ "pinned", offsetof(struct slu_config, pinned_bytes) },
};

static bool budget_fault(const struct slu_config *config, const struct budget *budget,
			 char *ret_why, size_t size)
{
	uint64_t bytes = *(const uint64_t *)((const char *)config + budget->offset);
	char asked[SLU_SIZE_STRING_MAX], there[SLU_SIZE_STRING_MAX];

	if (bytes <= machine_bytes())
		return false;
	snprintf(ret_why, size, "%s: %s are more than the machine has, which is %s", budget->name,
		 slu_size_format(asked, bytes), slu_size_format(there, machine_bytes()));
	return true;
}

bool slu_server_memory_fault(const struct slu_config *config, const char *name, char *ret_why,
			     size_t size)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(budgets); i++)
		if (!strcmp(budgets[i].name, name))
			return budget_fault(config, &budgets[i], ret_why, size);
	return false;
}

/* A value in a file may be meant for a larger machine: that is no reason not to start. */
static void warn_of_memory(const struct slu_config *config)
{
	char why[160];

	for (size_t i = 0; i < SLU_ARRAY_SIZE(budgets); i++)
		if (budget_fault(config, &budgets[i], why, sizeof(why)))
			slu_log(WARNING, "%s, ignoring", why);
}

int slu_server_read_config(const struct slu_server_options *options, struct slu_config *ret_config)
{
	static const struct slu_config_reporter reporter = { .report = config_report };
	struct slu_config config;
	char why[512];
	int r;

	r = slu_config_init(&config);
	if (!r && options->config_path)
		r = slu_config_read(&config, options->config_path, options->config_must_exist,
				    &reporter);
	if (r) {
		slu_config_deinit(&config);
		return slu_fold(r);
	}
	if (slu_server_settings_fault(options, &config, why, sizeof(why))) {
		slu_log(ERR, "%s", why);
		slu_config_deinit(&config);
		return SLU_CONFIG_E_WRONG;
	}
	warn_of_memory(&config);
	*ret_config = config;
	return 0;
}

static int level_of(const char *word)
{
	static const struct {
		const char *word;
		int level;
	} levels[] = {
		{ "err", LOG_ERR },   { "warning", LOG_WARNING }, { "notice", LOG_NOTICE },
		{ "info", LOG_INFO }, { "debug", LOG_DEBUG },
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(levels); i++)
		if (!strcmp(levels[i].word, word))
			return levels[i].level;
	return LOG_NOTICE;
}

static void core_config_from(const struct slu_server *server, const struct slu_config *config,
			     const struct slu_backing *backing, struct slu_core_config *ret_config)
{
	slu_core_config_default(ret_config);
	slu_config_to_core(config, ret_config);
	ret_config->generation = slu_roster_generation(server->roster);
	ret_config->backing_bytes = backing->backing_bytes;
	ret_config->disk_bytes = backing->disk_bytes;
	if (!ret_config->pinned_bytes)
		ret_config->pinned_bytes = machine_bytes() / 8;
}

/* Programs that have joined are told as well. */
static void set_backing(struct slu_server *server, const struct slu_backing *backing)
{
	bool is_new = strcmp(backing->why, server->backing.why) != 0;
	struct slu_program *program;

	server->backing = *backing;
	if (!backing->folder[0] && is_new && strcmp(server->config.disk, "off"))
		slu_log(WARNING, "the disk is not used: %s", backing->why);
	LIST_FOREACH (program, &server->programs, entry) {
		struct slu_core_bounds bounds;

		slu_backing_bounds(backing, program->pid, program->uid, &bounds);
		slu_core_bound(server->core, slu_clock_now_ns(), program->id, &bounds);
		if (program->session)
			slu_session_tell_disk(program->session);
	}
}

static void steer_programs(struct slu_server *server)
{
	struct slu_program *program;

	LIST_FOREACH (program, &server->programs, entry)
		slu_core_steer(server->core, slu_clock_now_ns(), program->id,
			       slu_program_priority(program), slu_program_expect_ns(program));
}

int slu_server_apply(struct slu_server *server, struct slu_config *config)
{
	struct slu_core_config core_config;
	struct slu_core_budget_view memory, disk;
	struct slu_backing backing;
	int r;

	slu_core_view_backing(server->core, &memory, &disk);
	slu_backing_init(&backing, config, server->options.is_system, machine_bytes(),
			 disk.charge_bytes);
	core_config_from(server, config, &backing, &core_config);
	r = slu_core_configure(server->core, slu_clock_now_ns(), &core_config);
	if (r) {
		slu_log(ERR, "the scheduler refuses these settings: %s", strerror(-r));
		return slu_fold(r);
	}
	slu_limits_set(server->limits, SLU_LIMITS_SESSIONS, config->user_sessions_max,
		       config->sessions_max);
	slu_limits_set(server->limits, SLU_LIMITS_PROGRAMS, config->user_programs_max,
		       SLU_ROSTER_LINES_MAX);
	slu_limits_set(server->limits, SLU_LIMITS_GROUPS, config->user_groups_max,
		       SLU_ROSTER_LINES_MAX);
	slu_limits_set(server->limits, SLU_LIMITS_QUEUE_BYTES, config->user_queue_max_bytes,
		       UINT64_MAX);
	slu_devices_configure(server->devices, config->boards, (unsigned)config->reserve_percent);
	slu_log_set_level(server->options.log_level >= 0 ? server->options.log_level
							 : level_of(config->log_level));
	slu_config_deinit(&server->config);
	server->config = *config;
	set_backing(server, &backing);
	steer_programs(server);
	slu_server_wake(server);
	slu_server_population_changed(server);
	return 0;
}
