/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table, and the settings that are in force. setting.c handles single values, config-read.c
 * reads files, so that this part knows nothing of words and lines.
 */
#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/util.h"
#include "core/sched/policy.h"
#include "daemon/config.h"
#include "daemon/setting.h"

#define MS   SLU_NS_PER_MS
#define HOUR (3600 * SLU_NS_PER_S)
#define KIB  SLU_KIB
#define MIB  SLU_MIB
#define GIB  SLU_GIB
#define TIB  (UINT64_C(1) << 40)

#define FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)

#define ROW(section, name, kind, is_program, counts, type, field, fallback, min, max, words, \
	    meaning)                                                                         \
	{ section,                                                                           \
	  #name,                                                                             \
	  SLU_SETTING_##kind,                                                                \
	  is_program,                                                                        \
	  SLU_CONFIG_##counts,                                                               \
	  FIELD(type, field),                                                                \
	  fallback,                                                                          \
	  min,                                                                               \
	  max,                                                                               \
	  words,                                                                             \
	  meaning },

static const struct slu_setting rows[] = {
#define SLU_SETTING(section, name, kind, field, fallback, min, max, words, meaning)            \
	ROW(section, name, kind, false, AT_ONCE, slu_config, field, fallback, min, max, words, \
	    meaning)
#define SLU_SETTING_DEVICE(section, name, kind, field, fallback, min, max, words, meaning)       \
	ROW(section, name, kind, false, AT_DEVICE, slu_config, field, fallback, min, max, words, \
	    meaning)
#define SLU_SETTING_JOIN(section, name, kind, field, fallback, min, max, words, meaning)       \
	ROW(section, name, kind, false, AT_JOIN, slu_config, field, fallback, min, max, words, \
	    meaning)
#define SLU_SETTING_PROGRAM(section, name, kind, field, fallback, min, max, words, meaning)    \
	ROW(section, name, kind, true, AT_JOIN, slu_config_program, field, fallback, min, max, \
	    words, meaning)
#define SLU_SETTING_PROGRAM_NOW(section, name, kind, field, fallback, min, max, words, meaning) \
	ROW(section, name, kind, true, AT_ONCE, slu_config_program, field, fallback, min, max,  \
	    words, meaning)
#include "daemon/settings.def"
};

_Static_assert(SLU_ARRAY_SIZE(rows) <= 64, "a bit for each row in slu_config_section.set");

static void *field_of(struct slu_config *config, const struct slu_setting *row)
{
	return (char *)(row->is_program ? (void *)&config->program : (void *)config) + row->offset;
}

int slu_config_init(struct slu_config *config)
{
	*config = (struct slu_config){};
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		int r = slu_setting_assign(&rows[i], field_of(config, &rows[i]), rows[i].fallback);

		assert(!r);
		if (r)
			return slu_error(-EINVAL);
	}
	return 0;
}

void slu_config_deinit(struct slu_config *config)
{
	free(config->sections);
	config->sections = NULL;
	config->n_sections = 0;
}

int slu_config_copy(const struct slu_config *from, struct slu_config *ret_config)
{
	struct slu_config copy = *from;

	copy.sections = NULL;
	if (from->n_sections) {
		copy.sections = calloc(from->n_sections, sizeof(*copy.sections));
		if (!copy.sections)
			return slu_error(-ENOMEM);
		memcpy(copy.sections, from->sections, from->n_sections * sizeof(*copy.sections));
	}
	*ret_config = copy;
	return 0;
}

bool slu_config_may_map(const struct slu_config_program *own)
{
	return strcmp(own->allow_mapped, "off") != 0;
}

void slu_config_to_core(const struct slu_config *config, struct slu_core_config *core_config)
{
#define SLU_SETTING(...)
#define SLU_SETTING_CORE(section, name, kind, field, ...) core_config->field = config->field;
#define SLU_SETTING_CORE_JOIN				  SLU_SETTING_CORE
#include "daemon/settings.def"
}

static struct slu_config_section *section_for(struct slu_config *config, const char *name)
{
	struct slu_config_section *grown;

	for (size_t i = 0; i < config->n_sections; i++)
		if (!strcmp(config->sections[i].name, name))
			return &config->sections[i];
	grown = realloc(config->sections, (config->n_sections + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	config->sections = grown;
	grown += config->n_sections++;
	*grown = (struct slu_config_section){};
	strcpy(grown->name, name);
	return grown;
}

/* "program NAME" -> NAME, else NULL */
static const char *program_of(const char *section)
{
	static const char prefix[] = "program ";

	if (strncmp(section, prefix, sizeof(prefix) - 1))
		return NULL;
	section += sizeof(prefix) - 1;
	return section + strspn(section, " ");
}

static int unknown_section(char *ret_why, size_t size)
{
	snprintf(ret_why, size, "expected [daemon], [scheduler], [memory] or [program NAME]");
	return SLU_CONFIG_E_WRONG;
}

static int unknown_name(const char *section, const char *name, char *ret_why, size_t size)
{
	bool is_program = program_of(section) != NULL;
	size_t used;

	snprintf(ret_why, size, "'%.40s' is no setting of [%.40s]: expected ", name, section);
	used = strlen(ret_why);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		if (is_program ? !rows[i].is_program : strcmp(rows[i].section, section) != 0)
			continue;
		snprintf(ret_why + used, size - used, "%s%s", ret_why[used - 1] == ' ' ? "" : ", ",
			 rows[i].name);
		used += strlen(ret_why + used);
	}
	return SLU_CONFIG_E_WRONG;
}

int slu_config_set(struct slu_config *config, const char *section, const char *name,
		   const char *value, char *ret_why, size_t size)
{
	const char *program = program_of(section);
	struct slu_config_section *own;
	bool section_is_known = false;

	if (program && (!program[0] || strlen(program) >= SLU_WIRE_NAME_MAX))
		return unknown_section(ret_why, size);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		const struct slu_setting *row = &rows[i];
		struct slu_config scratch;

		if (program ? !row->is_program : strcmp(row->section, section) != 0)
			continue;
		section_is_known = true;
		if (strcmp(row->name, name) != 0)
			continue;
		/* tried on a copy, so that a wrong line does not leave an empty section */
		if (slu_setting_assign(row, field_of(&scratch, row), value)) {
			slu_setting_explain(row, value, ret_why, size);
			return SLU_CONFIG_E_WRONG;
		}
		if (!program)
			return slu_setting_assign(row, field_of(config, row), value);
		own = section_for(config, program);
		if (!own)
			return slu_error(-ENOMEM);
		own->set |= UINT64_C(1) << i;
		return slu_setting_assign(row, (char *)&own->values + row->offset, value);
	}
	return section_is_known ? unknown_name(section, name, ret_why, size)
				: unknown_section(ret_why, size);
}

/* A pattern without a slash is for the last part of a path; cgroup:PATH is for a control group. */
static bool section_matches(const struct slu_config_section *section, const char *name)
{
	const char *last = name[0] == '/' ? strrchr(name, '/') + 1 : name;

	return !fnmatch(section->name, strchr(section->name, '/') ? name : last, 0);
}

static void section_apply(const struct slu_config_section *section,
			  struct slu_config_program *program)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		if (section->set & (UINT64_C(1) << i))
			memcpy((char *)program + rows[i].offset,
			       (const char *)&section->values + rows[i].offset, rows[i].size);
}

void slu_config_program_by(const struct slu_config *config, const char *name, const char *alias,
			   struct slu_config_program *ret_program)
{
	*ret_program = config->program;
	for (size_t s = 0; s < config->n_sections; s++)
		if (section_matches(&config->sections[s], name) ||
		    section_matches(&config->sections[s], alias))
			section_apply(&config->sections[s], ret_program);
}

void slu_config_program(const struct slu_config *config, const char *name,
			struct slu_config_program *ret_program)
{
	slu_config_program_by(config, name, name, ret_program);
}

int slu_config_get(const struct slu_config *config, const char *section, const char *name,
		   char *ret_text, size_t size)
{
	const char *program = program_of(section);
	struct slu_config view = *config;

	if (program)
		slu_config_program(config, program, &view.program);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		const struct slu_setting *row = &rows[i];

		if ((program ? !row->is_program : strcmp(row->section, section) != 0) ||
		    strcmp(row->name, name) != 0)
			continue;
		slu_setting_print(row, field_of(&view, row), ret_text, size);
		return 0;
	}
	return slu_error(-ENOENT);
}

static void row_show(const struct slu_setting *row, const char *section, const void *field,
		     bool is_own, void (*each)(void *data, const struct slu_config_view *view),
		     void *data)
{
	char value[SLU_CONFIG_PATH_MAX], words[256], meaning[768];
	struct slu_config_view view = {
		.section = section,
		.name = row->name,
		.value = value,
		.fallback = row->fallback,
		.words = words,
		.meaning = meaning,
		.is_program = row->is_program,
		.is_own = is_own,
		.counts = row->counts,
	};

	slu_setting_print(row, field, value, sizeof(value));
	slu_setting_words(row, words, sizeof(words));
	slu_setting_describe(row, meaning, sizeof(meaning));
	each(data, &view);
}

void slu_config_each(const struct slu_config *config,
		     void (*each)(void *data, const struct slu_config_view *view), void *data)
{
	struct slu_config copy = *config;

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		row_show(&rows[i], rows[i].section, field_of(&copy, &rows[i]), false, each, data);
	for (size_t s = 0; s < config->n_sections; s++) {
		const struct slu_config_section *own = &config->sections[s];
		char section[SLU_WIRE_NAME_MAX + 16];

		snprintf(section, sizeof(section), "program %s", own->name);
		for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
			if (own->set & (UINT64_C(1) << i))
				row_show(&rows[i], section,
					 (const char *)&own->values + rows[i].offset, true, each,
					 data);
	}
}

/* Whether a [program NAME] gives row @i to programs of this name. */
static bool is_given(const struct slu_config *config, const char *name, size_t i)
{
	for (size_t s = 0; s < config->n_sections; s++)
		if (config->sections[s].set & (UINT64_C(1) << i) &&
		    section_matches(&config->sections[s], name))
			return true;
	return false;
}

void slu_config_each_of_program(const struct slu_config *config, const char *name,
				void (*each)(void *data, const struct slu_config_view *view),
				void *data)
{
	char section[SLU_WIRE_NAME_MAX + 16];
	struct slu_config_program own;

	slu_config_program(config, name, &own);
	snprintf(section, sizeof(section), "program %s", name);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		if (rows[i].is_program)
			row_show(&rows[i], section, (const char *)&own + rows[i].offset,
				 is_given(config, name, i), each, data);
}
