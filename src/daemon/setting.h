/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* One row of the table of settings (settings.def): how its value is read, checked and printed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/config.h"

enum slu_setting_kind {
	SLU_SETTING_FLAG,
	SLU_SETTING_TIME,
	SLU_SETTING_SIZE,
	SLU_SETTING_AUTO, /* a size, or "auto", which is 0 */
	SLU_SETTING_COUNT,
	SLU_SETTING_WORD,
	SLU_SETTING_POLICY,
	SLU_SETTING_PATH,
};

struct slu_setting {
	const char *section;
	const char *name;
	enum slu_setting_kind kind;
	bool is_program; /* offset is into struct slu_config_program */
	enum slu_config_counts counts;
	size_t offset;
	size_t size; /* of the field */
	const char *fallback;
	uint64_t min, max;
	const char *words;
	const char *meaning;
};

/* Reads @value into @field. Return: 0, or SLU_CONFIG_E_WRONG; then the field is as before. */
int slu_setting_assign(const struct slu_setting *row, void *field, const char *value);

/* What was expected in place of the wrong @value. */
void slu_setting_explain(const struct slu_setting *row, const char *value, char *ret_why,
			 size_t size);

/* The value as in a file. */
void slu_setting_print(const struct slu_setting *row, const void *field, char *ret_text,
		       size_t size);

/* The values that are words, with a bar between them; "" where it takes none. */
void slu_setting_words(const struct slu_setting *row, char *ret_text, size_t size);

/* Its meaning, for the policy with the descriptions of all policies. */
void slu_setting_describe(const struct slu_setting *row, char *ret_text, size_t size);
