/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The settings: one table (settings.def), read from an INI file and its drop-ins in the order of
 * their names; the last value wins. A wrong line is never skipped in silence: each is reported with
 * file, line and what was expected, and the whole reading counts as failed.
 *
 *   [daemon] [scheduler] [memory]   the daemon's
 *   [program NAME]                  of programs whose name matches (as a shell pattern); a
 *                                   system daemon takes the executable instead of the name,
 *                                   or the control group: [program cgroup:/PATH]
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "wire/message.h"

struct slu_core_config;

#define SLU_CONFIG_WORD_MAX 16
#define SLU_CONFIG_PATH_MAX 256
#define SLU_CONFIG_FILE_MAX (1u << 20) /* bytes; a longer file is refused */

/* The field of a setting of each kind. */
#define SLU_CONFIG_FIELD_FLAG(field)   bool field;
#define SLU_CONFIG_FIELD_TIME(field)   uint64_t field;
#define SLU_CONFIG_FIELD_SIZE(field)   uint64_t field;
#define SLU_CONFIG_FIELD_AUTO(field)   uint64_t field; /* 0: auto */
#define SLU_CONFIG_FIELD_COUNT(field)  uint64_t field;
#define SLU_CONFIG_FIELD_WORD(field)   char field[SLU_CONFIG_WORD_MAX];
#define SLU_CONFIG_FIELD_POLICY(field) char field[SLU_CONFIG_WORD_MAX];
#define SLU_CONFIG_FIELD_PATH(field)   char field[SLU_CONFIG_PATH_MAX];

/* What may be set for each program. */
struct slu_config_program {
#define SLU_SETTING(section, name, kind, field, ...)
#define SLU_SETTING_PROGRAM(section, name, kind, field, ...) SLU_CONFIG_FIELD_##kind(field)
#include "daemon/settings.def"
};

/* One [program NAME]. */
struct slu_config_section {
	char name[SLU_WIRE_NAME_MAX]; /* a shell pattern */
	uint64_t set;		      /* a set bit: that row of the table was given here */
	struct slu_config_program values;
};

struct slu_config {
#define SLU_SETTING(section, name, kind, field, ...) SLU_CONFIG_FIELD_##kind(field)
#define SLU_SETTING_PROGRAM(section, name, kind, field, ...)
#include "daemon/settings.def"
	struct slu_config_program program; /* of a program without a section of its own */
	struct slu_config_section *sections;
	size_t n_sections;
};

/* Called for each wrong line: "expected a time such as 250ms, 2s or 1h". @line is 0 for the file
 * itself.
 */
struct slu_config_reporter {
	void (*report)(void *data, const char *path, unsigned line, const char *text);
	void *data;
};

enum {
	_SLU_CONFIG_E_SUCCESS,
	SLU_CONFIG_E_WRONG, /* at least one line was wrong; all were reported */
};

/* Every setting at its default. */
int slu_config_init(struct slu_config *config);
void slu_config_deinit(struct slu_config *config);
int slu_config_copy(const struct slu_config *from, struct slu_config *ret_config);

/* Reads @size bytes at @text; @path is only named in reports. Return: 0, WRONG, or -errno. */
int slu_config_read_text(struct slu_config *config, const char *path, const char *text, size_t size,
			 const struct slu_config_reporter *reporter);

/*
 * Reads @path, then the files *.conf in the folder @path.d by name. An absent @path is an error
 * only with @must_exist. Return: 0, WRONG, or -errno.
 */
int slu_config_read(struct slu_config *config, const char *path, bool must_exist,
		    const struct slu_config_reporter *reporter);

/*
 * Changes one setting. @section as in the file: "scheduler", "program ollama".
 * Return: 0, or WRONG with what was expected in @ret_why.
 */
int slu_config_set(struct slu_config *config, const char *section, const char *name,
		   const char *value, char *ret_why, size_t size);

/* The settings in force for a program of this name, or with this executable. */
void slu_config_program(const struct slu_config *config, const char *name,
			struct slu_config_program *ret_program);

/* The same for a program that has two names. */
void slu_config_program_by(const struct slu_config *config, const char *name, const char *alias,
			   struct slu_config_program *ret_program);

/* Whether a part of the program may be mapped, always or where it is larger than the device. */
bool slu_config_may_map(const struct slu_config_program *own);

/* Copies the settings that the core has too; auto is 0 there too. */
void slu_config_to_core(const struct slu_config *config, struct slu_core_config *core_config);

/* The value of @name as text, as in a file. Return: 0, or -ENOENT. */
int slu_config_get(const struct slu_config *config, const char *section, const char *name,
		   char *ret_text, size_t size);

/* When a change of a setting takes effect while the daemon runs. */
enum slu_config_counts {
	SLU_CONFIG_AT_ONCE,
	SLU_CONFIG_AT_DEVICE, /* for devices that no program has used yet */
	SLU_CONFIG_AT_JOIN,   /* for programs that join from then on */
};

/* One setting as it is in force. */
struct slu_config_view {
	const char *section, *name, *value;
	const char *fallback; /* its default */
	const char *words;    /* the values that are words, with a bar between them */
	const char *meaning;
	bool is_program; /* allowed in [program NAME] */
	bool is_own;	 /* set in [program NAME] */
	enum slu_config_counts counts;
};

/* Calls @each for every row of the table, then for what each [program NAME] has. */
void slu_config_each(const struct slu_config *config,
		     void (*each)(void *data, const struct slu_config_view *view), void *data);

/* The same for what is in force for a program of this name; the section is "program NAME". */
void slu_config_each_of_program(const struct slu_config *config, const char *name,
				void (*each)(void *data, const struct slu_config_view *view),
				void *data);

enum slu_config_format {
	SLU_CONFIG_INI,	     /* a file that could be read again */
	SLU_CONFIG_MAN,	     /* scdoc, for sluiced.conf(5) */
	SLU_CONFIG_MARKDOWN, /* a table for docs/ */
};

void slu_config_print(const struct slu_config *config, enum slu_config_format format, FILE *out);
