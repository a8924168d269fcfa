/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/size.h"
#include "base/util.h"

#define ORDERS_MAX 32

static const char *const kind_names[_SLU_FAULT_MAX] = {
	[SLU_FAULT_CREATE] = "create", [SLU_FAULT_MAP] = "map",	  [SLU_FAULT_ACCESS] = "access",
	[SLU_FAULT_UNMAP] = "unmap",   [SLU_FAULT_COPY] = "copy", [SLU_FAULT_SET] = "set",
	[SLU_FAULT_LAUNCH] = "launch", [SLU_FAULT_HOST] = "host",
};

struct order {
	enum slu_fault_kind kind;
	enum slu_fault_action action;
	unsigned long n;
	uint64_t extra_ns;
};

/* constant after init */
static struct order orders[ORDERS_MAX];
static unsigned n_orders;

/* where a fault that was met is told; constant after init, may be NULL */
static const char *told_in;

/* operations so far; atomic */
static unsigned long counts[_SLU_FAULT_MAX];

static int parse_kind(const char *word, enum slu_fault_kind *ret_kind)
{
	for (unsigned i = 0; i < _SLU_FAULT_MAX; i++)
		if (word && !strcmp(word, kind_names[i])) {
			*ret_kind = (enum slu_fault_kind)i;
			return 0;
		}
	return slu_error(-EINVAL);
}

/* Only what runs in a stream can take longer than its call. */
static bool may_last(enum slu_fault_kind kind)
{
	return kind == SLU_FAULT_COPY || kind == SLU_FAULT_SET || kind == SLU_FAULT_LAUNCH;
}

static int parse_order(char *text, struct order *ret_order)
{
	struct order order = { .action = SLU_FAULT_FAIL };
	char *rest, *word = strtok_r(text, ":", &rest), *end;
	int r;

	if (word && (!strcmp(word, "hang") || !strcmp(word, "slow"))) {
		order.action = *word == 'h' ? SLU_FAULT_HANG : SLU_FAULT_SLOW;
		word = strtok_r(NULL, ":", &rest);
	}
	r = parse_kind(word, &order.kind);
	if (r)
		return slu_fold(r);
	if (order.action != SLU_FAULT_FAIL && !may_last(order.kind))
		return slu_error(-EINVAL);
	word = strtok_r(NULL, ":", &rest);
	if (!word)
		return slu_error(-EINVAL);
	order.n = strtoul(word, &end, 10);
	if (*end || !order.n)
		return slu_error(-EINVAL);
	word = strtok_r(NULL, ":", &rest);
	if (order.action == SLU_FAULT_SLOW) {
		r = word ? slu_size_parse_time(word, &order.extra_ns) : -EINVAL;
		if (r)
			return slu_error(r);
		word = strtok_r(NULL, ":", &rest);
	}
	if (word)
		return slu_error(-EINVAL);
	*ret_order = order;
	return 0;
}

int slu_fault_init(const char *list)
{
	slu_cleanup(slu_freep) char *copy = strdup(list ? list : "");
	char *rest;

	if (!copy)
		return slu_error(-ENOMEM);
	n_orders = 0;
	told_in = secure_getenv("SLUICE_SOFTGPU_FAULT_LOG");
	memset(counts, 0, sizeof(counts));
	for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		int r = n_orders < ORDERS_MAX ? parse_order(word, &orders[n_orders]) : -EINVAL;

		if (r)
			return slu_fold(r);
		n_orders++;
	}
	return 0;
}

static void tell(enum slu_fault_kind kind, unsigned long n)
{
	int fd = told_in ? open(told_in, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s:%lu\n", kind_names[kind], n);
	close(fd);
}

enum slu_fault_action slu_fault_next(enum slu_fault_kind kind, uint64_t *ret_extra_ns)
{
	unsigned long n = __atomic_add_fetch(&counts[kind], 1, __ATOMIC_RELAXED);

	*ret_extra_ns = 0;
	for (unsigned i = 0; i < n_orders; i++) {
		if (orders[i].kind != kind || orders[i].n != n)
			continue;
		tell(kind, n);
		*ret_extra_ns = orders[i].extra_ns;
		return orders[i].action;
	}
	return SLU_FAULT_NONE;
}
