/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A faulty disk for tests: the system calls of the disk tier, in a real folder, each of which can
 * be made to fail as disks do. The n-th call fails; writes and reads are short now and then in any
 * case, as the kernel may make them.
 */

#include <errno.h>
#include <stdbool.h>

#include "client/disk.h"

#define SLU_TEST_FOLDER "/var/tmp"

struct slu_test_disk {
	unsigned n_calls; /* that can fail, so far */
	unsigned fail_at; /* the call with this number fails; 0: none */
	unsigned n_failed;
	int fail_with;	   /* its errno; 0: EIO */
	bool reads_fail;   /* all reads do */
	bool writes_fail;  /* all writes do, the sync as well */
	bool spares_reads; /* none of them is the one that fails */
	bool spoils;	   /* a bit of what is read is another one */
	unsigned n_short;  /* writes and reads that were cut */
};

/* Whether the folder is on a disk; tests that need one are skipped otherwise. */
bool slu_test_disk_is_present(void);

extern struct slu_test_disk slu_test_disk;
extern const struct slu_disk_calls slu_test_disk_calls;
