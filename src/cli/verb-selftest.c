/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice selftest`: tries on this machine's driver what Sluice relies on, and measures what moving
 * memory costs. Each part runs in a child (probe.h), so that a driver that hangs or crashes is a
 * finding. The figures are kept in the state folder, where `sluice doctor` finds them.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/cli.h"
#include "cli/drivers.h"
#include "cli/parse.h"
#include "cli/reply.h"
#include "cli/selftest-store.h"
#include "cli/terminal.h"
#include "cli/probe.h"
#include "selftest/selftest.h"

#define INDENT	   10 /* the column where results begin */
#define WHAT_WIDTH 52

struct options {
	bool is_json, keeps_nothing;
	const char *gpu; /* its number; NULL: the first */
};

static const struct slu_cli_option option_table[] = {
	{ .name = "gpu",
	  .key = 'g',
	  .arg = "N",
	  .doc = "try the GPU of this number (0)",
	  .at = offsetof(struct options, gpu),
	  .kind = SLU_CLI_TEXT },
	{ .name = "json",
	  .doc = "print the findings for machines",
	  .at = offsetof(struct options, is_json) },
	{ .name = "no-store",
	  .doc = "do not keep the figures",
	  .at = offsetof(struct options, keeps_nothing) },
	{ 0 },
};

/* A run: the options, the driver, and the results. */
struct run {
	const struct options *options;
	const char *driver;
	int ordinal;
	const struct slu_selftest_part *part;  /* under way */
	FILE *parent;			       /* in a child */
	struct slu_selftest_identity identity; /* no driver_version: not known */
	json_t *findings;
	unsigned n_problems;
	bool lacked_memory; /* a finding says no more than that memory was short */
};

static const char *value_format(char buf[static SLU_SIZE_STRING_MAX + 4],
				const struct slu_selftest_finding *f)
{
	switch (f->unit) {
	case SLU_SELFTEST_BYTES:
		return slu_size_format(buf, (uint64_t)f->value);
	case SLU_SELFTEST_BYTES_PER_S:
		return strcat((char *)slu_size_format(buf, (uint64_t)f->value), "/s");
	case SLU_SELFTEST_NS:
		return slu_size_format_time(buf, (uint64_t)f->value);
	case SLU_SELFTEST_COUNT:
		snprintf(buf, SLU_SIZE_STRING_MAX, "%.0f", f->value);
		return buf;
	default:
		return "";
	}
}

static void finding_print(const struct slu_selftest_finding *f)
{
	static const char *const words[] = {
		[SLU_SELFTEST_FIGURE] = "",
		[SLU_SELFTEST_HOLDS] = "ok",
		[SLU_SELFTEST_DIFFERS] = "NO",
		[SLU_SELFTEST_UNPROVEN] = "unproven",
	};
	char value[SLU_SIZE_STRING_MAX + 4];
	const char *text = value_format(value, f);

	if (f->verdict == SLU_SELFTEST_DIFFERS && slu_terminal_has_colour())
		printf("\033[31m%-9s\033[0m ", words[f->verdict]);
	else
		printf("%-9s ", words[f->verdict]);
	if (*text)
		printf("%-*s %s", WHAT_WIDTH, f->what, text);
	else
		fputs(f->what, stdout);
	if (f->error)
		printf(" (error %d)", (int)f->error);
	putchar('\n');
	if (f->then) {
		printf("%*s", INDENT, "");
		slu_terminal_wrap(stdout, f->then, slu_sub_floor(slu_terminal_width(), INDENT),
				  INDENT);
		putchar('\n');
	}
}

static void finding_take(struct run *run, const struct slu_selftest_finding *f)
{
	json_t *line =
		json_pack("{s:s, s:s, s:s, s:s*}", "key", f->key, "verdict",
			  slu_selftest_verdict_name(f->verdict), "what", f->what, "then", f->then);

	if (f->unit != SLU_SELFTEST_NONE) {
		json_object_set_new(line, "value", json_real(f->value));
		json_object_set_new(line, "unit", json_string(slu_selftest_unit_name(f->unit)));
	}
	if (f->error)
		json_object_set_new(line, "error", json_integer((json_int_t)f->error));
	json_array_append_new(run->findings, line);
	run->n_problems +=
		f->verdict == SLU_SELFTEST_DIFFERS || f->verdict == SLU_SELFTEST_UNPROVEN;
	run->lacked_memory |= f->error == CUDA_ERROR_OUT_OF_MEMORY;
	if (!run->options->is_json)
		finding_print(f);
}

/* -- the child, and its lines ----------------------------------------------------------------- */

static void child_report(void *data, const struct slu_selftest_finding *f)
{
	struct run *run = data;

	fprintf(run->parent, "%s\t%d\t%.17g\t%d\t%d\t%s\t%s\n", f->key, (int)f->verdict, f->value,
		(int)f->unit, (int)f->error, f->what, f->then ? f->then : "");
	fflush(run->parent);
}

static void child_run(void *data, FILE *parent)
{
	struct run *run = data;
	struct slu_selftest test = {
		.path = run->driver,
		.ordinal = run->ordinal,
		.report = child_report,
		.data = run,
	};

	run->parent = parent;
	run->part->run(&test);
}

static void child_identify(void *data, FILE *parent)
{
	const struct run *run = data;
	struct slu_selftest_identity id;

	if (slu_selftest_identify(run->driver, run->ordinal, &id))
		fprintf(parent, "%d\t%s\t%llu\t%llu\n", id.driver_version, id.gpu,
			(unsigned long long)id.free_bytes, (unsigned long long)id.needed_bytes);
}

static void identity_take(void *data, char *line)
{
	struct slu_selftest_identity *id = &((struct run *)data)->identity;
	char *fields[4] = { 0 };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&line, "\t");
	if (!fields[3])
		return;
	id->driver_version = atoi(fields[0]);
	snprintf(id->gpu, sizeof(id->gpu), "%s", fields[1]);
	id->free_bytes = strtoull(fields[2], NULL, 10);
	id->needed_bytes = strtoull(fields[3], NULL, 10);
}

/*
 * Return: whether the device has the memory that the parts need. If its driver does not even say
 * that, the parts find out why.
 */
static bool device_suffices(struct run *run)
{
	const struct slu_probe probe = { SLU_SELFTEST_PATIENCE_S, child_identify, identity_take,
					 run };
	char free_text[SLU_SIZE_STRING_MAX], needed[SLU_SIZE_STRING_MAX];
	int signal = 0;

	(void)slu_probe_run(&probe, &signal);
	if (run->identity.free_bytes >= run->identity.needed_bytes)
		return true;
	slu_cli_complain(
		"End what else uses the device, and run the self-test again.",
		"GPU %d has %s of free memory, and the self-test needs %s: nothing was tried",
		run->ordinal, slu_size_format(free_text, run->identity.free_bytes),
		slu_size_format(needed, run->identity.needed_bytes));
	return false;
}

static void line_take(void *data, char *line)
{
	char *fields[7] = { 0 };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&line, "\t");
	if (!fields[6])
		return;
	finding_take(data, &(struct slu_selftest_finding){
				   .key = fields[0],
				   .verdict = (enum slu_selftest_verdict)atoi(fields[1]),
				   .value = strtod(fields[2], NULL),
				   .unit = (enum slu_selftest_unit)atoi(fields[3]),
				   .error = (CUresult)atoi(fields[4]),
				   .what = fields[5],
				   .then = fields[6][0] ? fields[6] : NULL,
			   });
}

static void part_run(struct run *run, const struct slu_selftest_part *part)
{
	const struct slu_probe probe = { SLU_SELFTEST_PATIENCE_S, child_run, line_take, run };
	struct slu_selftest_finding f = { .key = part->key, .verdict = SLU_SELFTEST_UNPROVEN };
	char what[128];
	int signal = 0, r;

	run->part = part;
	r = slu_probe_run(&probe, &signal);
	if (!r)
		return;
	if (r == SLU_PROBE_E_HANGS)
		snprintf(what, sizeof(what), "%s: no answer within %d s", part->name,
			 SLU_SELFTEST_PATIENCE_S);
	else
		snprintf(what, sizeof(what), "%s: %s", part->name,
			 r < 0	  ? strerror(-r)
			 : signal ? strsignal(signal)
				  : "the probe could not begin");
	f.what = what;
	f.then = "Programs may meet the same. Look for a newer driver, and report it.";
	finding_take(run, &f);
}

/* -- the command ------------------------------------------------------------------------------ */

static int result_print(const struct run *run, const char *kept)
{
	if (run->options->is_json) {
		json_t *all = json_pack("{s:s, s:O, s:b}", "driver", run->driver, "findings",
					run->findings, "ok", !run->n_problems);

		slu_reply_print(all, false);
		json_decref(all);
	} else {
		puts(run->n_problems
			     ? "Not everything that Sluice relies on could be shown: see the "
			       "lines marked NO or unproven."
			     : "Everything that Sluice relies on holds here.");
		if (kept[0])
			printf("The figures are in %s.\n", kept);
	}
	return run->n_problems ? SLU_CLI_TROUBLE : SLU_CLI_OK;
}

/* Return: the number, or -1 if @word is not one. */
static int gpu_parse(const char *word)
{
	char *end;
	long n = word ? strtol(word, &end, 10) : 0;

	return !word || (*word && !*end && n >= 0 && n < INT_MAX) ? (int)n : -1;
}

static int driver_try(const struct options *o, const char *driver)
{
	struct run run = { .options = o,
			   .driver = driver,
			   .ordinal = gpu_parse(o->gpu),
			   .findings = json_array() };
	char kept[PATH_MAX] = "";
	int r;

	if (!device_suffices(&run)) {
		json_decref(run.findings);
		return SLU_CLI_TROUBLE;
	}
	if (!o->is_json)
		printf("Driver: %s. This takes about half a minute.\n", driver);
	for (const struct slu_selftest_part *part = slu_selftest_parts; part->name; part++)
		part_run(&run, part);
	if (!o->keeps_nothing && run.lacked_memory)
		slu_cli_complain("End what else uses the device, and run the self-test again.",
				 "memory was short while the self-test ran: nothing is kept");
	if (!o->keeps_nothing && !run.lacked_memory && run.identity.driver_version) {
		r = slu_selftest_store_write(driver, run.identity.driver_version, run.identity.gpu,
					     run.findings, kept, sizeof(kept));
		if (r)
			slu_cli_complain("The findings below are complete; use --no-store to leave "
					 "this out.",
					 "cannot keep the figures in %s: %s", kept, strerror(-r));
		if (r)
			kept[0] = '\0';
	}
	r = result_print(&run, kept);
	json_decref(run.findings);
	return r;
}

static int run(int argc, char **argv)
{
	struct options o = { 0 };
	struct slu_install install;
	struct slu_drivers *drivers;
	int r;

	slu_cli_parse(&slu_cli_selftest, argc, argv, &o);
	if (gpu_parse(o.gpu) < 0) {
		slu_cli_complain("GPUs are numbered from 0: 'sluice doctor' lists them.",
				 "--gpu takes a number, not '%s'", o.gpu);
		return SLU_CLI_USAGE;
	}
	slu_install_find(&install);
	drivers = slu_drivers_find(&install);
	if (!drivers)
		return SLU_CLI_FAILED;
	if (drivers->n) {
		r = driver_try(&o, drivers->paths[0]);
	} else {
		slu_cli_complain(
			"Install the card's driver, or try the software GPU: sluice softgpu "
			"run -- sluice selftest",
			"no CUDA driver (libcuda.so.1) was found");
		r = SLU_CLI_TROUBLE;
	}
	free(drivers);
	return r;
}

const struct slu_cli_verb slu_cli_selftest = {
	.options = option_table,
	.doc = "Try on this machine's CUDA driver what Sluice relies on, and measure what moving "
	       "memory costs.\v"
	       "Exit status: 0 if everything holds, 123 otherwise. Figures of the software GPU say "
	       "nothing about a card.\n\n"
	       "For example:\n"
	       "  sluice selftest\n"
	       "  sluice softgpu run -- sluice selftest --json",
	.run = run,
};
