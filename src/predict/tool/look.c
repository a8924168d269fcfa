/* SPDX-License-Identifier: Apache-2.0 */
/* predict-look: what a launch of each kernel of a PTX file would touch. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/sheet.h"

static const char usage[] =
	"usage: predict-look FILE.ptx [KERNEL [-g X[,Y[,Z]]] [-b X[,Y[,Z]]] [PARAM…]]\n"
	"\n"
	"Without a kernel: says of each whether it can be predicted. With one: the bytes that a\n"
	"launch of the grid and block reads and writes. Parameters are numbers, in order;\n"
	"those that are missing are 0, but pointers, which get addresses 1 TiB apart.\n";

static char *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	*ret_size = text ? strlen(text) : 0;
	return text;
}

static void show_why(const char *what, struct slu_predict_why why)
{
	if (why.reason && why.line)
		printf("  %s unknown: %s (line %u)\n", what, slu_predict_reason_text(why.reason),
		       why.line);
	else if (why.reason)
		printf("  %s unknown: %s\n", what, slu_predict_reason_text(why.reason));
}

static void show_range(const struct slu_predict_range *r)
{
	printf("  %c%c %#" PRIx64 " … %#" PRIx64, r->is_read ? 'r' : '-', r->is_written ? 'w' : '-',
	       r->from, r->to);
	if (r->n_levels)
		printf("  %" PRIu64 " bytes", r->bytes);
	for (unsigned i = 0; i < r->n_levels; i++)
		printf(" x %" PRIu64 " every %" PRIu64, r->levels[i].count, r->levels[i].stride);
	putchar('\n');
}

static void show_kernel(const struct slu_predict_kernel *k, const struct slu_ptx_function *f,
			struct slu_predict_launch *launch)
{
	const struct slu_predict_set *set;
	struct slu_predict_sheet *sheet;

	if (slu_predict_sheet_new(k, &sheet))
		abort();
	set = slu_predict_sheet_evaluate(sheet, launch);
	printf("%s: %zu ops, %zu ranges\n", f->name, slu_predict_kernel_n_ops(k), set->n_ranges);
	show_why("reads", set->why_reads);
	show_why("writes", set->why_writes);
	for (size_t i = 0; i < set->n_ranges; i++)
		show_range(&set->ranges[i]);
	slu_predict_sheet_free(sheet);
}

static void read_shape(const char *text, uint32_t shape[3])
{
	char *end;

	for (unsigned i = 0; i < 3; i++) {
		shape[i] = *text ? (uint32_t)strtoul(text, &end, 0) : 1;
		text = *text ? end + (*end == ',') : text;
	}
}

static void fill_params(const struct slu_ptx_function *f, uint8_t *params, char **values, int n)
{
	for (unsigned i = 0; i < f->n_params; i++) {
		const struct slu_ptx_variable *v = f->params[i];
		uint64_t value = 0;

		if ((int)i < n)
			value = strtoull(values[i], NULL, 0);
		else if (v->size == 8)
			value = (uint64_t)(i + 1) << 40;
		memcpy(params + v->offset, &value, v->size < 8 ? v->size : 8);
	}
}

int main(int argc, char **argv)
{
	struct slu_predict_launch launch = { .grid = { 1, 1, 1 }, .block = { 256, 1, 1 } };
	const char *name = argc > 2 ? argv[2] : NULL;
	struct slu_ptx_module *module;
	struct slu_ptx_error error;
	int at = 3, n_found = 0, r;
	uint64_t *variables;
	size_t size;
	char *text;

	if (argc < 2 || *argv[1] == '-') {
		fputs(usage, argc < 2 ? stderr : stdout);
		return argc < 2;
	}
	text = read_file(argv[1], &size);
	if (!text) {
		fprintf(stderr, "predict-look: cannot read %s\n", argv[1]);
		return 1;
	}
	r = slu_ptx_parse(text, size, &module, &error);
	if (r) {
		fprintf(stderr, "predict-look: %s:%u:%u: %s\n", argv[1], error.line, error.column,
			error.text);
		return 1;
	}
	for (; at + 1 < argc && *argv[at] == '-' && strchr("gb", argv[at][1]); at += 2)
		read_shape(argv[at + 1], argv[at][1] == 'g' ? launch.grid : launch.block);
	variables = calloc(module->n_variables + 1, sizeof(*variables));
	for (unsigned i = 0; variables && i < module->n_variables; i++)
		variables[i] = (UINT64_C(1) << 46) + ((uint64_t)i << 32);
	launch.variables = variables;
	launch.n_variables = module->n_variables;
	for (unsigned i = 0; i < module->n_functions; i++) {
		const struct slu_ptx_function *f = module->functions[i];
		struct slu_predict_kernel *k;
		uint8_t *params;

		if (!f->is_kernel || !f->is_defined || (name && strcmp(name, f->name)))
			continue;
		n_found++;
		params = calloc(f->param_bytes + 8, 1);
		if (!params || slu_predict_kernel_new(module, f, &k) < 0)
			abort();
		fill_params(f, params, argv + at, name && argc > at ? argc - at : 0);
		launch.params = params;
		launch.param_bytes = f->param_bytes;
		show_kernel(k, f, &launch);
		slu_predict_kernel_free(k);
		free(params);
	}
	if (name && !n_found)
		fprintf(stderr, "predict-look: there is no kernel %s\n", name);
	free(variables);
	slu_ptx_module_free(module);
	free(text);
	return name && !n_found;
}
