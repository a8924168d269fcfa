/* SPDX-License-Identifier: Apache-2.0 */

#include "client.h"

#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OPTIONS_MAX 32

void client_misused(const char *usage)
{
	fputs(usage, stderr);
	exit(CLIENT_EXIT_USAGE);
}

static uint64_t number_of(const struct client_option *option, const char *text, const char *usage)
{
	uint64_t n;
	char *end;

	if (isdigit((unsigned char)*text)) {
		n = strtoull(text, &end, 0);
		if (!*end && n >= option->min && n <= option->max)
			return n;
	}
	fprintf(stderr, "'%s' is no number from %llu to %llu\n\n", text,
		(unsigned long long)option->min, (unsigned long long)option->max);
	client_misused(usage);
}

const char *client_options(int argc, char **argv, const struct client_option *options,
			   const char *usage)
{
	struct option longs[OPTIONS_MAX + 2] = { { "help", no_argument, NULL, 'h' } };
	char shorts[2 * OPTIONS_MAX + 2] = "h";
	size_t n_options = 0, length = 1;
	int c;

	for (; options[n_options].letter; n_options++) {
		const struct client_option *o = &options[n_options];

		assert(n_options < OPTIONS_MAX);
		longs[n_options + 1] =
			(struct option){ o->name, o->flag ? no_argument : required_argument, NULL,
					 o->letter };
		shorts[length++] = o->letter;
		if (!o->flag)
			shorts[length++] = ':';
	}
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) >= 0) {
		const struct client_option *o = options;

		if (c == 'h') {
			fputs(usage, stdout);
			exit(CLIENT_EXIT_RIGHT);
		}
		while (o->letter && o->letter != c)
			o++;
		if (!o->letter)
			client_misused(usage);
		if (o->flag)
			*o->flag = true;
		else if (o->word)
			*o->word = optarg;
		else
			*o->number = number_of(o, optarg, usage);
	}
	if (argc - optind > 1)
		client_misused(usage);
	return argv[optind];
}

void client_wait(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

bool client_input_is_quiet(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, 0) == 0;
}
