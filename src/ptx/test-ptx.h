/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Texts for the parser's tests, and the module of one that is right. */

#include "lib/test.h"

#include "ptx/ptx.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static inline struct slu_ptx_module *good(const char *text)
{
	struct slu_ptx_module *m = NULL;
	struct slu_ptx_error e = { 0 };
	int r = slu_ptx_parse(text, strlen(text), &m, &e);

	if (r)
		fail_msg("%u:%u: %s\n%s", e.line, e.column, e.text, text);
	return m;
}
