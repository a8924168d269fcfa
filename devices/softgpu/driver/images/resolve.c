/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/images/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/error.h"
#include "softgpu/driver/images/statement.h"

/* A name that texts of the link see in common. */
struct name {
	UT_hash_handle hh;
	bool is_defined;
	char text[];
};

static struct name *resolve_find(struct name *names, const struct dev_statement *s)
{
	struct name *name;

	HASH_FIND(hh, names, s->name, s->name_bytes, name);
	return name;
}

static int resolve_add(struct name **names, const struct dev_statement *s)
{
	struct name *name = resolve_find(*names, s);

	if (!name) {
		name = calloc(1, sizeof(*name) + s->name_bytes + 1);
		if (!name)
			return slu_error(-ENOMEM);
		memcpy(name->text, s->name, s->name_bytes);
		HASH_ADD_KEYPTR(hh, *names, name->text, s->name_bytes, name);
		if (!name->hh.tbl) {
			free(name);
			return slu_error(-ENOMEM);
		}
	}
	name->is_defined = name->is_defined || dev_statement_is_definition(s);
	return 0;
}

static bool is_common(const struct dev_statement *s)
{
	return s->name && !s->is_dropped && (s->linkage != DEV_STATEMENT_LOCAL || s->is_kernel);
}

static int add_text(struct name **names, const struct dev_image *image)
{
	const char *at = image->text, *end = at + image->bytes;
	struct dev_statement s;
	int r = 0;

	while (!r && dev_statement_next(&at, end, &s))
		if (is_common(&s))
			r = resolve_add(names, &s);
	return r;
}

static bool is_needed(struct name *names, const struct dev_image *image)
{
	const char *at = image->text, *end = at + image->bytes;
	struct dev_statement s;

	while (dev_statement_next(&at, end, &s)) {
		const struct name *name = is_common(&s) ? resolve_find(names, &s) : NULL;

		if (name && !name->is_defined && dev_statement_is_definition(&s))
			return true;
	}
	return false;
}

int dev_resolve(const struct dev_image *texts, size_t n_texts, const struct dev_image *members,
		size_t n_members, bool *ret_is_needed)
{
	struct name *names = NULL, *name, *next;
	bool is_more = true;
	int r = 0;

	memset(ret_is_needed, 0, n_members * sizeof(*ret_is_needed));
	for (size_t i = 0; !r && i < n_texts; i++)
		r = add_text(&names, &texts[i]);
	while (!r && is_more) {
		is_more = false;
		for (size_t i = 0; !r && i < n_members; i++) {
			if (ret_is_needed[i] || !is_needed(names, &members[i]))
				continue;
			ret_is_needed[i] = is_more = true;
			r = add_text(&names, &members[i]);
		}
	}
	HASH_ITER (hh, names, name, next) {
		HASH_DEL(names, name);
		free(name);
	}
	return r;
}
