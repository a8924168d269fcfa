/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Units with contents on a device in memory, for tests of the library as a front end uses it. There
 * is one instance a process, so each test runs in a child of its own; what fails there ends it.
 */

#include "lib/test.h"

#include <assert.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "client/instance.h"
#include "client/test-device.h"

#define KIB_UNIT 4096

static const struct slu_hello_device identity = {
	.uuid = { 1, 2, 3 },
	.name = "test",
	.total_bytes = 64 * SLU_MIB,
};

static inline void run_apart(void (*test)(void))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		test();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* A unit with its object, and what its bytes should be. */
struct thing {
	struct slu_unit *unit;
	struct slu_test_object object;
	unsigned char pattern;
};

static inline void thing_new(struct slu_client_device *d, struct thing *t, uint64_t bytes)
{
	memset(t, 0, sizeof(*t));
	assert(slu_client_unit_new(d, bytes, SLU_FROZEN_NO, &t->object, &t->unit) == 0);
}

/* A command that writes all of it, then one that checks. */
static inline void thing_write(struct slu_client_device *d, struct thing *t, unsigned char pattern)
{
	assert(slu_client_enter(d, slu_client_device_index(d)) == 0);
	memset(slu_test_object_bytes(&t->object), pattern, t->unit->bytes);
	t->pattern = pattern;
	slu_client_leave();
}

static inline void thing_check(struct slu_client_device *d, struct thing *t)
{
	const unsigned char *bytes;

	assert(slu_client_enter(d, slu_client_device_index(d)) == 0);
	bytes = slu_test_object_bytes(&t->object);
	for (uint64_t i = 0; i < t->unit->bytes; i++)
		assert(bytes[i] == t->pattern);
	slu_client_leave();
}

static struct slu_test_device device;

static inline struct slu_client_device *add(enum slu_mode mode, uint64_t capacity_bytes)
{
	struct slu_client_device *d;

	slu_test_device_init(&device, capacity_bytes);
	assert(slu_client_device_add(&identity, mode,
				     mode == SLU_MODE_LAUNCH ? &slu_test_backend_launch
							     : &slu_test_backend,
				     &device, &d) == 0);
	return d;
}

static inline struct slu_client_counts counts(void)
{
	struct slu_client_counts c;

	slu_client_counts(&c);
	return c;
}
