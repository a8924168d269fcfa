/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table and what is done with one row: parse a value, print it, check its bounds. Reading of
 * files is in config-read.c, so that this half knows nothing of lines.
 */
#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/util.h"
#include "core/sched/policy.h"
#include "daemon/config.h"

enum kind { FLAG, TIME, SIZE, AUTO, COUNT, WORD, POLICY, PATH };

struct row {
	const char *section;
	const char *name;
	enum kind kind;
	bool is_program; /* offset is into struct slu_config_program */
	size_t offset;
	size_t size; /* of the field */
	const char *fallback;
	uint64_t min, max;
	const char *words;
	const char *meaning;
};

#define MS   SLU_NS_PER_MS
#define HOUR (3600 * SLU_NS_PER_S)
#define KIB  SLU_KIB
#define MIB  SLU_MIB
#define GIB  SLU_GIB
#define TIB  (UINT64_C(1) << 40)

#define FIELD(type, field) offsetof(struct type, field), sizeof(((struct type *)0)->field)

static const struct row rows[] = {
#define SLU_SETTING(section, name, kind, field, fallback, min, max, words, meaning) \
	{                                                                           \
		section,  #name, kind, false, FIELD(slu_config, field),             \
		fallback, min,	 max,  words, meaning                               \
	},
#define SLU_SETTING_PROGRAM(section, name, kind, field, fallback, min, max, words, meaning) \
	{ section,  #name, kind, true,	FIELD(slu_config_program, field),                   \
	  fallback, min,   max,	 words, meaning },
#include "daemon/settings.def"
#undef SLU_SETTING
#undef SLU_SETTING_PROGRAM
};

_Static_assert(SLU_ARRAY_SIZE(rows) <= 64, "a bit for each row in slu_config_section.set");

static void *field_of(struct slu_config *config, const struct row *row)
{
	return (char *)(row->is_program ? (void *)&config->program : (void *)config) + row->offset;
}

static bool word_is_listed(const char *words, const char *value)
{
	size_t n = strlen(value);

	while (n && *words) {
		size_t length = strcspn(words, "|");

		if (length == n && !memcmp(words, value, n))
			return true;
		words += length + (words[length] == '|');
	}
	return false;
}

/* The names of all policies, each with what it is about if that is asked for. */
static void list_policies(char *ret_text, size_t size, const char *between, bool with_about)
{
	size_t used = 0;

	ret_text[0] = '\0';
	for (unsigned i = 0; slu_core_policy_at(i) && used < size; i++) {
		const struct slu_core_policy *policy = slu_core_policy_at(i);

		used += (size_t)snprintf(ret_text + used, size - used, "%s%s%s%s", i ? between : "",
					 policy->name, with_about ? ": " : "",
					 with_about ? policy->about : "");
	}
}

static int parse_flag(const char *value, bool *ret_flag)
{
	static const char *const words[] = { "off", "on", "no", "yes", "false", "true" };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(words); i++) {
		if (!strcmp(value, words[i])) {
			*ret_flag = i & 1;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_count(const char *value, uint64_t *ret_count)
{
	char *end;

	if (value[0] < '0' || value[0] > '9')
		return -EINVAL;
	errno = 0;
	*ret_count = strtoull(value, &end, 10);
	return *end || errno ? -EINVAL : 0;
}

static int parse_number(const struct row *row, const char *value, uint64_t *ret_number)
{
	switch (row->kind) {
	case TIME:
		return slu_size_parse_time(value, ret_number);
	case AUTO:
		if (!strcmp(value, "auto")) {
			*ret_number = 0;
			return 0;
		}
		return slu_size_parse(value, ret_number);
	case SIZE:
		return slu_size_parse(value, ret_number);
	default:
		return parse_count(value, ret_number);
	}
}

/* The shortest way to write @ns or @bytes exactly. */
static void print_exact(enum kind kind, uint64_t number, char *ret_text, size_t size)
{
	static const struct {
		uint64_t unit;
		const char *name;
	} times[] = { { SLU_NS_PER_S, "s" },
		      { SLU_NS_PER_MS, "ms" },
		      { SLU_NS_PER_US, "us" },
		      { 1, "ns" } },
	  sizes[] = { { TIB, "T" }, { GIB, "G" }, { MIB, "M" }, { KIB, "K" }, { 1, "" } };
	size_t i = 0;

	if (kind == AUTO && !number) {
		snprintf(ret_text, size, "auto");
	} else if (kind == TIME) {
		while (number % times[i].unit)
			i++;
		snprintf(ret_text, size, "%llu%s", (unsigned long long)(number / times[i].unit),
			 times[i].name);
	} else if (kind == COUNT || !number) {
		snprintf(ret_text, size, "%llu", (unsigned long long)number);
	} else {
		while (number % sizes[i].unit)
			i++;
		snprintf(ret_text, size, "%llu%s", (unsigned long long)(number / sizes[i].unit),
			 sizes[i].name);
	}
}

static void explain(const struct row *row, char *ret_why, size_t size)
{
	static const char *const what[] = {
		[TIME] = "a time such as 250ms or 2s",
		[SIZE] = "a size such as 512M or 16G",
		[AUTO] = "auto, or a size such as 512M or 16G",
		[COUNT] = "a whole number",
	};
	char min[32], max[32], names[256];

	switch (row->kind) {
	case FLAG:
		snprintf(ret_why, size, "%s: expected on or off", row->name);
		break;
	case WORD:
		snprintf(ret_why, size, "%s: expected one of %s", row->name, row->words);
		break;
	case POLICY:
		list_policies(names, sizeof(names), "|", false);
		snprintf(ret_why, size, "%s: expected one of %s", row->name, names);
		break;
	case PATH:
		snprintf(ret_why, size, "%s: expected a path that begins with /", row->name);
		break;
	default:
		print_exact(row->kind == AUTO ? SIZE : row->kind, row->min, min, sizeof(min));
		print_exact(row->kind == AUTO ? SIZE : row->kind, row->max, max, sizeof(max));
		snprintf(ret_why, size, "%s: expected %s, from %s to %s", row->name,
			 what[row->kind], min, max);
	}
}

/* Return: 0, or SLU_CONFIG_E_WRONG; then the field is as before. */
static int assign(const struct row *row, void *field, const char *value)
{
	uint64_t number;
	bool flag;

	switch (row->kind) {
	case FLAG:
		if (parse_flag(value, &flag))
			return SLU_CONFIG_E_WRONG;
		*(bool *)field = flag;
		return 0;
	case WORD:
		if (!word_is_listed(row->words, value) || strlen(value) >= row->size)
			return SLU_CONFIG_E_WRONG;
		strcpy(field, value);
		return 0;
	case POLICY:
		if (!slu_core_policy_find(value) || strlen(value) >= row->size)
			return SLU_CONFIG_E_WRONG;
		strcpy(field, value);
		return 0;
	case PATH:
		if ((value[0] && value[0] != '/') || strlen(value) >= row->size)
			return SLU_CONFIG_E_WRONG;
		strcpy(field, value);
		return 0;
	default:
		if (parse_number(row, value, &number) || number < row->min || number > row->max)
			return SLU_CONFIG_E_WRONG;
		*(uint64_t *)field = number;
		return 0;
	}
}

static void print_value(const struct row *row, const void *field, char *ret_text, size_t size)
{
	switch (row->kind) {
	case FLAG:
		snprintf(ret_text, size, "%s", *(const bool *)field ? "on" : "off");
		break;
	case WORD:
	case POLICY:
	case PATH:
		snprintf(ret_text, size, "%s", (const char *)field);
		break;
	default:
		print_exact(row->kind, *(const uint64_t *)field, ret_text, size);
	}
}

int slu_config_init(struct slu_config *config)
{
	*config = (struct slu_config){};
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		int r = assign(&rows[i], field_of(config, &rows[i]), rows[i].fallback);

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
		const struct row *row = &rows[i];
		struct slu_config trial;

		if (program ? !row->is_program : strcmp(row->section, section) != 0)
			continue;
		section_is_known = true;
		if (strcmp(row->name, name) != 0)
			continue;
		/* tried on a copy, so that a wrong line does not leave an empty section */
		if (assign(row, field_of(&trial, row), value)) {
			explain(row, ret_why, size);
			return SLU_CONFIG_E_WRONG;
		}
		if (!program)
			return assign(row, field_of(config, row), value);
		own = section_for(config, program);
		if (!own)
			return slu_error(-ENOMEM);
		own->set |= UINT64_C(1) << i;
		return assign(row, (char *)&own->values + row->offset, value);
	}
	return section_is_known ? unknown_name(section, name, ret_why, size)
				: unknown_section(ret_why, size);
}

void slu_config_program(const struct slu_config *config, const char *name,
			struct slu_config_program *ret_program)
{
	*ret_program = config->program;
	for (size_t s = 0; s < config->n_sections; s++) {
		const struct slu_config_section *own = &config->sections[s];

		if (fnmatch(own->name, name, 0) != 0)
			continue;
		for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
			if (own->set & (UINT64_C(1) << i))
				memcpy((char *)ret_program + rows[i].offset,
				       (const char *)&own->values + rows[i].offset, rows[i].size);
	}
}

int slu_config_get(const struct slu_config *config, const char *section, const char *name,
		   char *ret_text, size_t size)
{
	const char *program = program_of(section);
	struct slu_config view = *config;

	if (program)
		slu_config_program(config, program, &view.program);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if ((program ? !row->is_program : strcmp(row->section, section) != 0) ||
		    strcmp(row->name, name) != 0)
			continue;
		print_value(row, field_of(&view, row), ret_text, size);
		return 0;
	}
	return slu_error(-ENOENT);
}

static void show(const struct row *row, const char *section, const void *field, bool is_own,
		 void (*each)(void *data, const struct slu_config_view *view), void *data)
{
	char value[SLU_CONFIG_PATH_MAX], policies[512], meaning[768];
	struct slu_config_view view = {
		.section = section,
		.name = row->name,
		.value = value,
		.fallback = row->fallback,
		.meaning = row->meaning,
		.is_program = row->is_program,
		.is_own = is_own,
	};

	print_value(row, field, value, sizeof(value));
	if (row->kind == POLICY) {
		list_policies(policies, sizeof(policies), "; ", true);
		snprintf(meaning, sizeof(meaning), "%s %s.", row->meaning, policies);
		view.meaning = meaning;
	}
	each(data, &view);
}

void slu_config_each(const struct slu_config *config,
		     void (*each)(void *data, const struct slu_config_view *view), void *data)
{
	struct slu_config copy = *config;

	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
		show(&rows[i], rows[i].section, field_of(&copy, &rows[i]), false, each, data);
	for (size_t s = 0; s < config->n_sections; s++) {
		const struct slu_config_section *own = &config->sections[s];
		char section[SLU_WIRE_NAME_MAX + 16];

		snprintf(section, sizeof(section), "program %s", own->name);
		for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++)
			if (own->set & (UINT64_C(1) << i))
				show(&rows[i], section, (const char *)&own->values + rows[i].offset,
				     true, each, data);
	}
}
