/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A device in memory for the client's tests. The unit's owner is a struct slu_test_object; its
 * "device memory" is a heap block that exists between create and destroy only, so touching an
 * absent unit is an error that sanitizers and the checks here see.
 *
 * A copy is done when it is asked for with poll, not before: whoever does not wait gets old bytes.
 * The n-th operation can be made to fail.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "client/backend.h"

struct slu_test_device {
	struct slu_lock lock;
	uint64_t capacity_bytes; /* constant after init; 0: without limit */
	uint64_t used_bytes;	 /* guarded by lock, as is all below */
	uint64_t most_bytes;
	uint64_t pinned_bytes;
	unsigned n_ops;	  /* operations that can fail, so far */
	unsigned fail_at; /* the operation with this number fails; 0: none */
	bool is_broken;	  /* all of them fail */
	unsigned n_failed;
	int fail_with;	    /* what create, copy and poll then answer; 0: -EIO */
	unsigned n_copying; /* copies started and not yet polled to their end */
	unsigned n_copies;
	unsigned n_refused;
	unsigned n_pinned_copies; /* host copies that became pinned, so far */
	int drain_unit_answer;	  /* what drain_unit says: 0, BUSY, BLOCKED */
	int drain_answer;
	uint64_t bytes_per_s;			  /* of the bus, each way; 0: copies take no time */
	uint64_t bus_free_ns[_SLU_DIRECTION_MAX]; /* when its engine has done what is queued */
	uint64_t bus_busy_ns[_SLU_DIRECTION_MAX]; /* how long it was busy */
	uint64_t bus_first_ns[_SLU_DIRECTION_MAX]; /* when its first copy began; 0: none yet */
	bool spoil_in;				   /* flip a bit of what goes in: a bad bus */
	_Atomic int n_running;			   /* commands under way, as drain sees them */
};

struct slu_test_object {
	unsigned char *memory;	 /* on the device, or NULL */
	unsigned char *mapped;	 /* MAPPED, or NULL */
	_Atomic int n_running;	 /* commands under way that name it, as drain_unit sees them */
	_Atomic bool is_blocked; /* commands that name it wait for the host */
	_Atomic bool is_dead;	 /* nobody will read its contents */
};

extern const struct slu_backend slu_test_backend;	 /* drains */
extern const struct slu_backend slu_test_backend_launch; /* drains single units, for mode LAUNCH */

void slu_test_device_init(struct slu_test_device *device, uint64_t capacity_bytes);

/* Asserts that all memory is back. */
void slu_test_device_deinit(struct slu_test_device *device);

/* What a command sees: the bytes at the unit's address. Asserts that there are any. */
unsigned char *slu_test_object_bytes(struct slu_test_object *object);
