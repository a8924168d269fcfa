/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx-decode FILE...: parses each text and makes its kernels ready to run. A line for each file
 * with what it has, or with the place and reason of the first thing that is refused, and then every
 * form in it that is not known.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "softgpu/interp/interp.h"

static char *read_file(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "re");
	char *text;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
		return NULL;
	text = malloc((size_t)size + 1);
	*ret_size = text ? fread(text, 1, (size_t)size, f) : 0;
	fclose(f);
	if (text)
		text[*ret_size] = 0;
	return text;
}

/* The word behind a guard, if the line is an instruction. */
static size_t find_form(const char *line, const char **ret_form)
{
	const char *p = line + strspn(line, " \t{");
	size_t n;

	if (*p == '@') {
		p += strcspn(p, " \t");
		p += strspn(p, " \t");
	}
	n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:");
	*ret_form = p;
	return islower((unsigned char)*p) && n && p[n - 1] != ':' && !strchr("(,", p[n]) ? n : 0;
}

static void list_unknown(char *text)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct slu_ptx_form form;
		const char *at;
		size_t n = find_form(line, &at);

		if (n && strchr(at, ';') && memchr(at, '.', n) && slu_ptx_form_match(at, n, &form))
			printf("  unknown: %.*s\n", (int)n, at);
	}
}

static int decode(const char *path)
{
	struct slu_ptx_error error = { 0 };
	struct dev_interp_module *module = NULL;
	struct slu_ptx_module *ptx = NULL;
	unsigned n_kernels = 0, n_instrs = 0;
	size_t size;
	char *text = read_file(path, &size);
	int r;

	if (!text)
		return -1;
	r = slu_ptx_parse(text, size, &ptx, &error);
	if (!r)
		r = dev_interp_module_new(ptx, &module);
	for (unsigned i = 0; !r && i < ptx->n_functions; i++) {
		const struct slu_ptx_function *f = ptx->functions[i];

		n_instrs += f->n_instrs;
		if (f->is_kernel && f->is_defined) {
			r = dev_interp_module_prepare(module, f, &error);
			n_kernels++;
		}
	}
	if (r)
		printf("%s:%u:%u: %s\n", path, error.line, error.column, error.text);
	else
		printf("%s: %u kernels, %u instructions\n", path, n_kernels, n_instrs);
	if (r)
		list_unknown(text);
	dev_interp_module_free(module);
	slu_ptx_module_free(ptx);
	free(text);
	return r;
}

int main(int argc, char **argv)
{
	int result = 0;

	for (int i = 1; i < argc; i++)
		if (decode(argv[i]))
			result = 1;
	return result;
}
