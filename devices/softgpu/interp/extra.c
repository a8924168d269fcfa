/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "softgpu/interp/extra.h"

struct dev_interp_extra *dev_interp_extra_new(struct dev_interp_code *code)
{
	struct dev_interp_extra *e = calloc(1, sizeof(*e));

	if (e) {
		e->next = code->extras;
		code->extras = e;
	}
	return e;
}

void dev_interp_extra_free_all(struct dev_interp_code *code)
{
	while (code->extras) {
		struct dev_interp_extra *e = code->extras;

		code->extras = e->next;
		free(e->targets);
		free(e);
	}
}
