/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static bool trace_is_on;

void slu_error_set_trace(bool on)
{
	trace_is_on = on;
}

int slu_error_raise(int r, const char *func, const char *file, int line)
{
	if (trace_is_on && r < 0)
		fprintf(stderr, "  %s() at %s:%d: %s\n", func, file, line, strerror(-r));
	return r;
}
