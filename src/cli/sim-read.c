/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sim-read.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"

#define COLUMNS_MAX    16
#define LINE_MAX_BYTES 1024

enum kind {
	KIND_TIME,
	KIND_SPAN,
	KIND_SIZE,
	KIND_COUNT,
	KIND_PERCENT,
	KIND_PRIORITY,
	KIND_NAME,
	KIND_BURST
};

struct key {
	const char *section, *name;
	enum kind kind;
	size_t at;
};

#define DEVICE(field)  offsetof(struct slu_simulate_scenario, field)
#define CORE(field)    offsetof(struct slu_simulate_scenario, core.field)
#define PROGRAM(field) offsetof(struct slu_simulate_program, field)

static const struct key keys[] = {
	{ "device", "memory", KIND_SIZE, DEVICE(memory_bytes) },
	{ "device", "reserve_percent", KIND_PERCENT, DEVICE(reserve_percent) },
	{ "device", "link_in", KIND_SIZE, DEVICE(in_rate) },
	{ "device", "link_out", KIND_SIZE, DEVICE(out_rate) },
	{ "device", "unit", KIND_SIZE, DEVICE(unit_bytes) },
	{ "run", "until", KIND_TIME, DEVICE(until_ns) },
	{ "run", "latency", KIND_TIME, DEVICE(latency_ns) },
	{ "scheduler", "slice", KIND_TIME, CORE(slice_ns) },
	{ "scheduler", "slice_min_switches", KIND_COUNT, CORE(slice_min_switches) },
	{ "scheduler", "allotment", KIND_TIME, CORE(allotment_ns) },
	{ "scheduler", "age", KIND_TIME, CORE(age_ns) },
	{ "scheduler", "wait_percent", KIND_COUNT, CORE(wait_percent) },
	{ "scheduler", "share_percent", KIND_PERCENT, CORE(share_percent) },
	{ "program", "arrives", KIND_TIME, PROGRAM(arrive_ns) },
	{ "program", "startup", KIND_TIME, PROGRAM(startup_ns) },
	{ "program", "memory", KIND_SIZE, PROGRAM(bytes) },
	{ "program", "written_percent", KIND_PERCENT, PROGRAM(written_percent) },
	{ "program", "iteration", KIND_SPAN, PROGRAM(iteration_ns) },
	{ "program", "pause", KIND_TIME, PROGRAM(pause_ns) },
	{ "program", "iterations", KIND_COUNT, PROGRAM(n_iterations) },
	{ "program", "requests", KIND_COUNT, PROGRAM(n_requests) },
	{ "program", "every", KIND_TIME, PROGRAM(period_ns) },
	{ "program", "priority", KIND_PRIORITY, PROGRAM(priority) },
	{ "program", "expect", KIND_TIME, PROGRAM(expect_ns) },
	{ "program", "name", KIND_NAME, PROGRAM(name) },
	{ "program", "burst", KIND_BURST, 0 },
};

void slu_sim_read_init(struct slu_sim_read *read)
{
	*read = (struct slu_sim_read){ 0 };
	slu_simulate_scenario_default(&read->scenario);
}

void slu_sim_read_deinit(struct slu_sim_read *read)
{
	for (size_t i = 0; i < read->scenario.n_programs; i++)
		free(read->scenario.programs[i].bursts);
	free(read->scenario.programs);
	*read = (struct slu_sim_read){ 0 };
}

/* Return: a new program with the usual values, or NULL. */
static struct slu_simulate_program *program_add(struct slu_sim_read *read, const char *name)
{
	struct slu_simulate_scenario *s = &read->scenario;
	struct slu_simulate_program *p;

	if (s->n_programs == read->n_allocated) {
		size_t n = SLU_MAX(2 * read->n_allocated, (size_t)16);

		p = reallocarray(s->programs, n, sizeof(*p));
		if (!p)
			return NULL;
		s->programs = p;
		read->n_allocated = n;
	}
	p = &s->programs[s->n_programs++];
	*p = (struct slu_simulate_program){
		.bytes = SLU_GIB,
		.written_percent = 100,
		.iteration_ns = 100 * SLU_NS_PER_MS,
		.n_requests = 1,
	};
	snprintf(p->name, sizeof(p->name), "%s", name);
	return p;
}

static int take_count(const char *value, uint64_t *ret_n)
{
	char *end;

	errno = 0;
	*ret_n = strtoull(value, &end, 10);
	return errno || *end || end == value || value[0] == '-' ? -EINVAL : 0;
}

static int take_priority(const char *value, enum slu_core_priority *ret_priority)
{
	static const char *const names[] = {
		[SLU_CORE_PRIORITY_NORMAL] = "normal",
		[SLU_CORE_PRIORITY_HIGH] = "high",
		[SLU_CORE_PRIORITY_LOW] = "low",
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(names); i++)
		if (!strcmp(value, names[i])) {
			*ret_priority = (enum slu_core_priority)i;
			return 0;
		}
	return -EINVAL;
}

/* "REST USE"; each line adds one. */
static int take_burst(const char *value, struct slu_simulate_program *p)
{
	char text[2 * SLU_SIZE_STRING_MAX], *use;
	struct slu_simulate_burst burst, *list;

	snprintf(text, sizeof(text), "%s", value);
	use = strchr(text, ' ');
	if (!use)
		return -EINVAL;
	*use++ = '\0';
	if (slu_size_parse_time(text, &burst.rest_ns) || slu_size_parse_time(use, &burst.device_ns))
		return -EINVAL;
	list = reallocarray(p->bursts, p->n_bursts + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	p->bursts = list;
	p->bursts[p->n_bursts++] = burst;
	return 0;
}

static int take_value(const struct key *key, const char *value, void *object)
{
	void *at = (char *)object + key->at;
	uint64_t n;

	switch (key->kind) {
	case KIND_TIME:
		return slu_size_parse_time(value, at);
	case KIND_SPAN:
		return slu_size_parse_time(value, at) || !*(uint64_t *)at ? -EINVAL : 0;
	case KIND_SIZE:
		return slu_size_parse(value, at);
	case KIND_COUNT:
		return take_count(value, at);
	case KIND_PERCENT:
		if (take_count(value, &n) || n > 100)
			return -EINVAL;
		*(unsigned *)at = (unsigned)n;
		return 0;
	case KIND_PRIORITY:
		return take_priority(value, at);
	case KIND_NAME:
		snprintf(at, SLU_WIRE_NAME_MAX, "%s", value);
		return 0;
	case KIND_BURST:
		return take_burst(value, object);
	}
	return -EINVAL;
}

static const struct key *key_find(const char *section, const char *name)
{
	for (size_t i = 0; i < SLU_ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i].section, section) && !strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

/* A file as it is read. */
struct reader {
	struct slu_sim_read *read;
	char section[SLU_WIRE_NAME_MAX + 16]; /* of the last line */
	struct slu_simulate_program *program;
	char why[SLU_SIM_WHY_MAX];
};

static int refuse(struct reader *reader, const char *what, const char *word)
{
	if (!reader->why[0])
		snprintf(reader->why, sizeof(reader->why), "%s '%s'", what, word);
	return 0;
}

/* Called by inih for each line. Return: 1, or 0 for a fault. */
static int take_line(void *data, const char *section, const char *name, const char *value)
{
	struct reader *reader = data;
	bool is_program = !strncmp(section, "program ", strlen("program "));
	const struct key *key = key_find(is_program ? "program" : section, name);

	if (is_program && strcmp(section, reader->section)) {
		reader->program = program_add(reader->read, section + strlen("program "));
		if (!reader->program)
			return refuse(reader, "no memory for", section);
	}
	snprintf(reader->section, sizeof(reader->section), "%s", section);
	if (!strcmp(section, "scheduler") && !strcmp(name, "policy")) {
		snprintf(reader->read->policy, sizeof(reader->read->policy), "%s", value);
		return 1;
	}
	if (!key)
		return refuse(reader, "unknown key", name);
	if (take_value(key, value,
		       is_program ? (void *)reader->program : (void *)&reader->read->scenario))
		return refuse(reader, "cannot read the value", value);
	return 1;
}

int slu_sim_read_scenario(struct slu_sim_read *read, const char *path, char *ret_why, size_t size)
{
	struct reader reader = { .read = read };
	int r = ini_parse(path, take_line, &reader);

	if (r < 0)
		snprintf(ret_why, size, "cannot read %s: %s.", path, strerror(errno));
	else if (r > 0)
		snprintf(ret_why, size, "%s, line %d: %s.", path, r,
			 reader.why[0] ? reader.why : "neither [section] nor key = value");
	return r ? -1 : 0;
}

/* Splits at commas, in place, without the blanks around. Return: how many words. */
static size_t split(char *line, char *words[COLUMNS_MAX])
{
	size_t n = 0;
	char *rest = line, *word;

	while (n < COLUMNS_MAX && (word = strsep(&rest, ","))) {
		word += strspn(word, " \t");
		word[strcspn(word, " \t\r\n")] = '\0';
		words[n++] = word;
	}
	return n;
}

/* One job. Return: 0, or -1 with the word that is wrong. */
static int take_job(struct slu_sim_read *read, const struct key *const *columns, char **words,
		    size_t n_words, const char **ret_word)
{
	struct slu_simulate_program *p = program_add(read, "job");

	if (!p) {
		*ret_word = "memory";
		return -1;
	}
	for (size_t i = 0; i < n_words; i++) {
		*ret_word = words[i];
		if (take_value(columns[i], words[i], p))
			return -1;
	}
	return 0;
}

/* The first line names the columns. Return: how many, or 0 with the word that names none. */
static size_t take_heads(char **words, size_t n_words, const struct key **ret_columns,
			 const char **ret_word)
{
	for (size_t i = 0; i < n_words; i++) {
		*ret_word = words[i];
		ret_columns[i] = key_find("program", words[i]);
		if (!ret_columns[i])
			return 0;
	}
	return n_words;
}

static int jobs_read(struct slu_sim_read *read, FILE *file, unsigned *ret_line,
		     const char **ret_what, char *ret_word, size_t size)
{
	const struct key *columns[COLUMNS_MAX];
	char line[LINE_MAX_BYTES], *words[COLUMNS_MAX];
	size_t n_columns = 0, n_words;
	const char *word = "";

	*ret_line = 0;
	while (fgets(line, sizeof(line), file)) {
		++*ret_line;
		if (line[0] == '#' || line[strspn(line, " \t\r\n")] == '\0')
			continue;
		n_words = split(line, words);
		*ret_what = NULL;
		if (!n_columns) {
			n_columns = take_heads(words, n_words, columns, &word);
			*ret_what = n_columns ? NULL : "unknown column";
		} else if (n_words != n_columns) {
			word = words[0];
			*ret_what = "not as many words as columns after";
		} else if (take_job(read, columns, words, n_words, &word)) {
			*ret_what = "cannot read the value";
		}
		if (*ret_what) {
			snprintf(ret_word, size, "%s", word);
			return -1;
		}
	}
	return 0;
}

int slu_sim_read_jobs(struct slu_sim_read *read, const char *path, char *ret_why, size_t size)
{
	char word[SLU_SIM_WHY_MAX / 2];
	FILE *file = fopen(path, "re");
	const char *what;
	unsigned line;
	int r;

	if (!file) {
		snprintf(ret_why, size, "cannot read %s: %s.", path, strerror(errno));
		return -1;
	}
	r = jobs_read(read, file, &line, &what, word, sizeof(word));
	if (r)
		snprintf(ret_why, size, "%s, line %u: %s '%s'.", path, line, what, word);
	fclose(file);
	return r;
}
