/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Several PTX texts become one: the linker's work, done on text, because what comes out is loaded
 * like any other module.
 *
 * A text is cut into its statements at module scope. Of the definitions of a name that more than
 * one text may see the first strong one stays, else the first weak one; what merely declares a
 * name that is defined already goes. Names that a text keeps to itself get a suffix where another
 * text uses them, too. Debug sections are left out.
 */

#include <stddef.h>

struct dev_merge_input {
	const char *text;
	size_t bytes;
	const char *name; /* as an error tells it */
};

enum {
	_DEV_MERGE_E_SUCCESS,
	DEV_MERGE_E_REFUSED, /* a name has two strong definitions; *ret_clash is it, to be freed */
};

/* Return: 0 with a text that is to be freed, DEV_MERGE_E_REFUSED, -ENOMEM. */
int dev_merge(const struct dev_merge_input *inputs, size_t n, char **ret_text, size_t *ret_bytes,
	      char **ret_clash);
