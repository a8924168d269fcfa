/* SPDX-License-Identifier: Apache-2.0 */
/* A part of config.h: prints the settings, as a file that can be read again or as tables. */
#include <string.h>

#include "daemon/config.h"

struct printing {
	enum slu_config_format format;
	FILE *out;
	char section[SLU_WIRE_NAME_MAX + 16]; /* whose heading was printed last */
};

static void print_heading(struct printing *p, const char *section)
{
	if (!strcmp(p->section, section) || p->format == SLU_CONFIG_MARKDOWN)
		return;
	if (p->format == SLU_CONFIG_INI)
		fprintf(p->out, "%s[%s]\n", p->section[0] ? "\n" : "", section);
	else
		fprintf(p->out, "## [%s]\n\n", section);
	snprintf(p->section, sizeof(p->section), "%s", section);
}

/* What the row needs besides its meaning. */
static const char *section_note(const struct slu_config_view *view)
{
	if (view->is_program)
		return " Also in [program NAME].";
	if (view->counts == SLU_CONFIG_AT_DEVICE)
		return " A change counts for devices that no program has used yet.";
	if (view->counts == SLU_CONFIG_AT_JOIN)
		return " A change counts for programs that start from then on.";
	return "";
}

static void print_setting(void *data, const struct slu_config_view *view)
{
	const char *also = section_note(view);
	struct printing *p = data;

	if (view->is_own && p->format != SLU_CONFIG_INI)
		return;
	print_heading(p, view->section);
	switch (p->format) {
	case SLU_CONFIG_INI:
		if (!view->is_own)
			fprintf(p->out, "# %s%s\n", view->meaning, also);
		fprintf(p->out, "%s = %s\n", view->name, view->value);
		break;
	case SLU_CONFIG_MAN:
		fprintf(p->out, "*%s* = %s\n\t%s%s\n\n", view->name,
			view->fallback[0] ? view->fallback : "(empty)", view->meaning, also);
		break;
	case SLU_CONFIG_MARKDOWN:
		fprintf(p->out, "| [%s] %s | %s | %s%s |\n", view->section, view->name,
			view->fallback, view->meaning, also);
		break;
	}
}

void slu_config_print(const struct slu_config *config, enum slu_config_format format, FILE *out)
{
	struct printing p = { .format = format, .out = out };

	if (format == SLU_CONFIG_MARKDOWN)
		fprintf(out, "| setting | default | meaning |\n|---|---|---|\n");
	slu_config_each(config, print_setting, &p);
}
