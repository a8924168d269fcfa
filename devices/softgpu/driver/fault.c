/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/fault.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/size.h"
#include "base/util.h"

#define ORDERS_MAX 32

static const char *const kind_names[_DEV_FAULT_MAX] = {
	[DEV_FAULT_CREATE] = "create", [DEV_FAULT_MAP] = "map",	  [DEV_FAULT_ACCESS] = "access",
	[DEV_FAULT_UNMAP] = "unmap",   [DEV_FAULT_COPY] = "copy", [DEV_FAULT_SET] = "set",
	[DEV_FAULT_LAUNCH] = "launch", [DEV_FAULT_HOST] = "host", [DEV_FAULT_SUSPEND] = "suspend",
};

struct order {
	enum dev_fault_kind kind;
	enum dev_fault_action action;
	unsigned long n;
	uint64_t extra_ns;
};

/* Guards what follows; taken only where there are orders, or may be. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct order orders[ORDERS_MAX];
static unsigned n_orders;
static unsigned long counts[_DEV_FAULT_MAX]; /* operations so far */
static uint64_t free_bytes = UINT64_MAX;     /* of device memory, as ordered */

/* constant after init */
static bool is_active;
static const char *told_in;   /* where a fault that was met is told; may be NULL */
static const char *list_file; /* where orders may come from; may be NULL */

static struct stat list_seen; /* the file as it was read last; guarded by the mutex */

static int parse_kind(const char *word, enum dev_fault_kind *ret_kind)
{
	for (unsigned i = 0; i < _DEV_FAULT_MAX; i++)
		if (word && !strcmp(word, kind_names[i])) {
			*ret_kind = (enum dev_fault_kind)i;
			return 0;
		}
	return slu_error(-EINVAL);
}

/* Only what runs in a stream can take longer than its call. */
static bool may_last(enum dev_fault_kind kind)
{
	return kind == DEV_FAULT_COPY || kind == DEV_FAULT_SET || kind == DEV_FAULT_LAUNCH;
}

static int parse_order(char *text, struct order *ret_order)
{
	struct order order = { .action = DEV_FAULT_FAIL };
	char *rest, *word = strtok_r(text, ":", &rest), *end;
	int r;

	if (word && (!strcmp(word, "hang") || !strcmp(word, "slow"))) {
		order.action = *word == 'h' ? DEV_FAULT_HANG : DEV_FAULT_SLOW;
		word = strtok_r(NULL, ":", &rest);
	}
	r = parse_kind(word, &order.kind);
	if (r)
		return slu_fold(r);
	if (order.action != DEV_FAULT_FAIL && !may_last(order.kind))
		return slu_error(-EINVAL);
	word = strtok_r(NULL, ":", &rest);
	if (!word)
		return slu_error(-EINVAL);
	order.n = strtoul(word, &end, 10);
	if (*end || !order.n)
		return slu_error(-EINVAL);
	word = strtok_r(NULL, ":", &rest);
	if (order.action == DEV_FAULT_SLOW) {
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

static int parse_memory(const char *text)
{
	return slu_size_parse(text, &free_bytes);
}

static int read_list(const char *list)
{
	slu_cleanup(slu_freep) char *copy = strdup(list ? list : "");
	char *rest;
	int r = 0;

	if (!copy)
		return slu_error(-ENOMEM);
	n_orders = 0;
	free_bytes = UINT64_MAX;
	memset(counts, 0, sizeof(counts));
	for (char *word = strtok_r(copy, ",\n", &rest); word; word = strtok_r(NULL, ",\n", &rest)) {
		if (!strncmp(word, "memory:", 7))
			r = parse_memory(word + 7);
		else
			r = n_orders < ORDERS_MAX ? parse_order(word, &orders[n_orders]) : -EINVAL;
		if (r)
			break;
		n_orders += strncmp(word, "memory:", 7) != 0;
	}
	if (r)
		n_orders = 0;
	return slu_fold(r);
}

int dev_fault_init(const char *list)
{
	told_in = secure_getenv("SLUICE_SOFTGPU_FAULT_LOG");
	list_file = secure_getenv("SLUICE_SOFTGPU_FAULT_FILE");
	is_active = (list && *list) || (list_file && *list_file);
	return slu_fold(read_list(list));
}

/* Reads the file again where it is not the one that was read. */
static void look_at_file_locked(void)
{
	char text[1024];
	struct stat st;
	ssize_t n;
	int fd;

	if (!list_file || stat(list_file, &st) < 0 ||
	    (st.st_ino == list_seen.st_ino && st.st_size == list_seen.st_size &&
	     st.st_mtim.tv_sec == list_seen.st_mtim.tv_sec &&
	     st.st_mtim.tv_nsec == list_seen.st_mtim.tv_nsec))
		return;
	fd = open(list_file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return;
	text[n] = '\0';
	list_seen = st;
	(void)read_list(text);
}

static void fault_tell(enum dev_fault_kind kind, unsigned long n)
{
	int fd = told_in ? open(told_in, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s:%lu\n", kind_names[kind], n);
	close(fd);
}

static enum dev_fault_action next_locked(enum dev_fault_kind kind, uint64_t *ret_extra_ns)
{
	unsigned long n = ++counts[kind];

	for (unsigned i = 0; i < n_orders; i++) {
		if (orders[i].kind != kind || orders[i].n != n)
			continue;
		fault_tell(kind, n);
		*ret_extra_ns = orders[i].extra_ns;
		return orders[i].action;
	}
	return DEV_FAULT_NONE;
}

enum dev_fault_action dev_fault_next(enum dev_fault_kind kind, uint64_t *ret_extra_ns)
{
	enum dev_fault_action action;

	*ret_extra_ns = 0;
	if (!is_active)
		return DEV_FAULT_NONE;
	pthread_mutex_lock(&mutex);
	look_at_file_locked();
	action = next_locked(kind, ret_extra_ns);
	pthread_mutex_unlock(&mutex);
	return action;
}

bool dev_fault_refuses(uint64_t bytes)
{
	uint64_t extra_ns;
	bool refuses;

	if (!is_active)
		return false;
	pthread_mutex_lock(&mutex);
	look_at_file_locked();
	refuses = next_locked(DEV_FAULT_CREATE, &extra_ns) == DEV_FAULT_FAIL;
	if (!refuses && bytes > free_bytes) {
		fault_tell(DEV_FAULT_CREATE, counts[DEV_FAULT_CREATE]);
		refuses = true;
	}
	if (!refuses && free_bytes != UINT64_MAX)
		free_bytes -= bytes;
	pthread_mutex_unlock(&mutex);
	return refuses;
}
