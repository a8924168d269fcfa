/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/setting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "core/sched/policy.h"
#include "daemon/text.h"

#define TIB (UINT64_C(1) << 40)

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

/* The names of all policies, with their meaning on request. */
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

static bool is_auto(const struct slu_setting *row, const char *value)
{
	return row->kind == SLU_SETTING_AUTO && !strcmp(value, "auto");
}

static int parse_number(const struct slu_setting *row, const char *value, uint64_t *ret_number)
{
	if (is_auto(row, value)) {
		*ret_number = 0;
		return 0;
	}
	switch (row->kind) {
	case SLU_SETTING_TIME:
		return slu_size_parse_time(value, ret_number);
	case SLU_SETTING_AUTO:
	case SLU_SETTING_SIZE:
		return slu_size_parse(value, ret_number);
	default:
		return parse_count(value, ret_number);
	}
}

/* The shortest way to write @ns or @bytes exactly. */
static void print_exact(enum slu_setting_kind kind, uint64_t number, char *ret_text, size_t size)
{
	static const struct {
		uint64_t unit;
		const char *name;
	} times[] = { { 3600 * SLU_NS_PER_S, "h" },
		      { SLU_NS_PER_S, "s" },
		      { SLU_NS_PER_MS, "ms" },
		      { SLU_NS_PER_US, "us" },
		      { 1, "ns" } },
	  sizes[] = {
		  { TIB, "T" }, { SLU_GIB, "G" }, { SLU_MIB, "M" }, { SLU_KIB, "K" }, { 1, "" }
	  };
	size_t i = 0;

	if (kind == SLU_SETTING_AUTO && !number) {
		snprintf(ret_text, size, "auto");
	} else if (kind == SLU_SETTING_TIME) {
		/* a span of 0 is "0s" */
		while (number % times[i].unit || (!number && times[i].unit != SLU_NS_PER_S))
			i++;
		snprintf(ret_text, size, "%llu%s", (unsigned long long)(number / times[i].unit),
			 times[i].name);
	} else if (kind == SLU_SETTING_COUNT || !number) {
		snprintf(ret_text, size, "%llu", (unsigned long long)number);
	} else {
		while (number % sizes[i].unit)
			i++;
		snprintf(ret_text, size, "%llu%s", (unsigned long long)(number / sizes[i].unit),
			 sizes[i].name);
	}
}

void slu_setting_words(const struct slu_setting *row, char *ret_text, size_t size)
{
	if (row->kind == SLU_SETTING_POLICY)
		list_policies(ret_text, size, "|", false);
	else
		snprintf(ret_text, size, "%s",
			 row->kind == SLU_SETTING_FLAG	 ? "off|on"
			 : row->kind == SLU_SETTING_AUTO ? "auto"
							 : row->words);
}

/* What @row accepts, in words. */
static void row_expect(const struct slu_setting *row, char *ret_text, size_t size)
{
	static const char *const what[] = {
		[SLU_SETTING_TIME] = "a time such as 250ms, 2s or 1h",
		[SLU_SETTING_SIZE] = "a size such as 512M or 16G",
		[SLU_SETTING_AUTO] = "auto, or a size such as 512M or 16G",
		[SLU_SETTING_COUNT] = "a whole number",
	};
	char min[32], max[32], words[256];

	switch (row->kind) {
	case SLU_SETTING_FLAG:
		snprintf(ret_text, size, "on or off");
		break;
	case SLU_SETTING_WORD:
	case SLU_SETTING_POLICY:
		slu_setting_words(row, words, sizeof(words));
		snprintf(ret_text, size, "one of %s", words);
		break;
	case SLU_SETTING_PATH:
		snprintf(ret_text, size, "a path that begins with /");
		break;
	default:
		print_exact(row->kind == SLU_SETTING_AUTO ? SLU_SETTING_SIZE : row->kind, row->min,
			    min, sizeof(min));
		print_exact(row->kind == SLU_SETTING_AUTO ? SLU_SETTING_SIZE : row->kind, row->max,
			    max, sizeof(max));
		snprintf(ret_text, size, "%s, from %s to %s", what[row->kind], min, max);
	}
}

/* Return: the bound of @row that @value exceeds, in words; NULL if it is not a number at all. */
static const char *bound_passed(const struct slu_setting *row, const char *value, char *ret_text,
				size_t size)
{
	enum slu_setting_kind kind = row->kind == SLU_SETTING_AUTO ? SLU_SETTING_SIZE : row->kind;
	bool is_number =
		kind == SLU_SETTING_TIME || kind == SLU_SETTING_SIZE || kind == SLU_SETTING_COUNT;
	uint64_t number;
	char bound[32];

	if (!is_number || parse_number(row, value, &number) ||
	    (number >= row->min && number <= row->max))
		return NULL;
	print_exact(kind, number > row->max ? row->max : row->min, bound, sizeof(bound));
	snprintf(ret_text, size, "%s than %s", number > row->max ? "more" : "less", bound);
	return ret_text;
}

void slu_setting_explain(const struct slu_setting *row, const char *value, char *ret_why,
			 size_t size)
{
	char expected[512], passed[64];

	row_expect(row, expected, sizeof(expected));
	if (bound_passed(row, value, passed, sizeof(passed)))
		snprintf(ret_why, size, "%s: %.64s is %s; expected %s", row->name, value, passed,
			 expected);
	else
		snprintf(ret_why, size, "%s: expected %s, not '%.64s'", row->name, expected, value);
	slu_text_clean(ret_why);
}

int slu_setting_assign(const struct slu_setting *row, void *field, const char *value)
{
	uint64_t number;
	bool flag;

	switch (row->kind) {
	case SLU_SETTING_FLAG:
		if (parse_flag(value, &flag))
			return SLU_CONFIG_E_WRONG;
		*(bool *)field = flag;
		return 0;
	case SLU_SETTING_WORD:
		if (!word_is_listed(row->words, value) || strlen(value) >= row->size)
			return SLU_CONFIG_E_WRONG;
		strcpy(field, value);
		return 0;
	case SLU_SETTING_POLICY:
		if (!slu_core_policy_find(value) || strlen(value) >= row->size)
			return SLU_CONFIG_E_WRONG;
		strcpy(field, value);
		return 0;
	case SLU_SETTING_PATH:
		if ((value[0] && value[0] != '/') || strlen(value) >= row->size)
			return SLU_CONFIG_E_WRONG;
		strcpy(field, value);
		return 0;
	default:
		if (parse_number(row, value, &number) || number > row->max ||
		    (number < row->min && !is_auto(row, value)))
			return SLU_CONFIG_E_WRONG;
		*(uint64_t *)field = number;
		return 0;
	}
}

void slu_setting_print(const struct slu_setting *row, const void *field, char *ret_text,
		       size_t size)
{
	switch (row->kind) {
	case SLU_SETTING_FLAG:
		snprintf(ret_text, size, "%s", *(const bool *)field ? "on" : "off");
		break;
	case SLU_SETTING_WORD:
	case SLU_SETTING_POLICY:
	case SLU_SETTING_PATH:
		snprintf(ret_text, size, "%s", (const char *)field);
		break;
	default:
		print_exact(row->kind, *(const uint64_t *)field, ret_text, size);
	}
}

void slu_setting_describe(const struct slu_setting *row, char *ret_text, size_t size)
{
	char policies[1024] = "";

	if (row->kind == SLU_SETTING_POLICY)
		list_policies(policies, sizeof(policies), "; ", true);
	snprintf(ret_text, size, "%s%s%s%s", row->meaning, policies[0] ? " " : "", policies,
		 policies[0] ? "." : "");
}
