/* SPDX-License-Identifier: Apache-2.0 */
#include "softgpu/interp/print.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

struct printer {
	const struct dev_print_source *source;
	uint64_t at; /* of the next argument */
	int n_arguments;
	char *to;
	size_t size;
	uint64_t wrong; /* address that may not be read */
	bool has_failed;
};

int dev_print_string(const struct dev_print_source *source, uint64_t address, char *to, size_t size,
		     uint64_t *ret_address)
{
	for (size_t i = 0; i < size; i++) {
		if (i + 1 == size) {
			to[i] = 0;
			break;
		}
		if (!source->read(source->userdata, address + i, &to[i], 1)) {
			*ret_address = address + i;
			return DEV_PRINT_E_ADDRESS;
		}
		if (!to[i])
			break;
	}
	return 0;
}

static void print_put(struct printer *p, const char *text, size_t size)
{
	size_t n = SLU_MIN(size, DEV_PRINT_MAX_TEXT - p->size);

	memcpy(p->to + p->size, text, n);
	p->size += n;
}

static uint64_t next_argument(struct printer *p, unsigned size)
{
	uint64_t value = 0, at = slu_round_up(p->at, size);

	if (!p->source->read(p->source->userdata, at, &value, size)) {
		p->wrong = at;
		p->has_failed = true;
	}
	p->at = at + size;
	p->n_arguments++;
	return value;
}

/* One directive, taken apart: "%-08.3lld". */
struct directive {
	char spec[24]; /* flags, width and precision, without the length */
	size_t spec_size;
	bool is_long;
	char conversion;
};

/* There is space for the length, the conversion and the end. */
static bool print_add(struct directive *d, const char *text, size_t size)
{
	if (d->spec_size + size > sizeof(d->spec) - 4)
		return false;
	memcpy(d->spec + d->spec_size, text, size);
	d->spec_size += size;
	return true;
}

static const char *read_number(struct printer *p, struct directive *d, const char *text)
{
	char digits[12];
	size_t n = strspn(text, "0123456789");

	if (*text == '*') {
		int value = (int)next_argument(p, 4);

		n = (size_t)snprintf(digits, sizeof(digits), "%d", value);
		return print_add(d, digits, n) ? text + 1 : NULL;
	}
	return print_add(d, text, n) ? text + n : NULL;
}

/* Return: what follows the directive, or NULL if it is none that we know. */
static const char *read_directive(struct printer *p, const char *text, struct directive *d)
{
	size_t n = 1 + strspn(text + 1, "-+ #0");

	*d = (struct directive){ 0 };
	if (!print_add(d, text, n))
		return NULL;
	text = read_number(p, d, text + n);
	if (text && *text == '.') {
		if (!print_add(d, ".", 1))
			return NULL;
		text = read_number(p, d, text + 1);
	}
	if (!text)
		return NULL;
	while (*text && strchr("hlLqjzt", *text)) {
		d->is_long |= *text != 'h';
		text++;
	}
	d->conversion = *text;
	return *text && strchr("diuoxXcsfFeEgGaAp%", *text) ? text + 1 : NULL;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_directive(struct printer *p, struct directive *d)
{
	char text[1024], string[512];
	uint64_t value;
	double number;
	int n;

	if (d->conversion == '%') {
		print_put(p, "%", 1);
		return;
	}
	if (strchr("diuoxX", d->conversion)) {
		print_add(d, "ll", 2);
		value = next_argument(p, d->is_long ? 8 : 4);
		if (!d->is_long && strchr("di", d->conversion))
			value = (uint64_t)(int64_t)(int32_t)value;
		d->spec[d->spec_size] = d->conversion;
		n = snprintf(text, sizeof(text), d->spec, (unsigned long long)value);
	} else if (d->conversion == 'c') {
		d->spec[d->spec_size] = 'c';
		n = snprintf(text, sizeof(text), d->spec, (int)next_argument(p, 4));
	} else if (d->conversion == 'p') {
		d->spec[d->spec_size] = 'p';
		n = snprintf(text, sizeof(text), d->spec, (void *)(uintptr_t)next_argument(p, 8));
	} else if (d->conversion == 's') {
		d->spec[d->spec_size] = 's';
		value = next_argument(p, 8);
		strcpy(string, "(null)");
		if (!p->has_failed && value &&
		    dev_print_string(p->source, value, string, sizeof(string), &p->wrong))
			p->has_failed = true;
		n = snprintf(text, sizeof(text), d->spec, string);
	} else {
		d->spec[d->spec_size] = d->conversion;
		value = next_argument(p, 8);
		memcpy(&number, &value, 8);
		n = snprintf(text, sizeof(text), d->spec, number);
	}
	if (n > 0)
		print_put(p, text, SLU_MIN((size_t)n, sizeof(text) - 1));
}
#pragma GCC diagnostic pop

int dev_print_format(const struct dev_print_source *source, uint64_t format, uint64_t arguments,
		     char *to, size_t *ret_size, int *ret_n_arguments, uint64_t *ret_address)
{
	struct printer p = { .source = source, .at = arguments, .to = to };
	char text[2048];

	if (dev_print_string(source, format, text, sizeof(text), ret_address))
		return DEV_PRINT_E_ADDRESS;
	for (const char *at = text; *at && !p.has_failed;) {
		size_t n = strcspn(at, "%");
		struct directive d;
		const char *next;

		print_put(&p, at, n);
		at += n;
		if (!*at)
			break;
		next = read_directive(&p, at, &d);
		if (next) {
			put_directive(&p, &d);
			at = next;
		} else {
			/* as it stands */
			print_put(&p, at++, 1);
		}
	}
	if (p.has_failed) {
		*ret_address = p.wrong;
		return DEV_PRINT_E_ADDRESS;
	}
	*ret_size = p.size;
	*ret_n_arguments = p.n_arguments;
	return 0;
}
