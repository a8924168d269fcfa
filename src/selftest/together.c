/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two processes that map and unmap at the same time. Hangs of drivers have been reported for it;
 * the setting vmm_serial lets one process map at a time.
 */

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest/selftest.h"

#define N_ROUNDS 200
#define WHAT	 "two processes can map memory at the same time"
#define THEN	 "Set 'vmm_serial on': then one process maps at a time."

static CUresult rounds_run(struct slu_selftest *t)
{
	struct slu_selftest_memory m = { 0 };
	CUresult r = slu_selftest_memory_make(t, t->granule_bytes, &m);

	for (unsigned i = 0; i < N_ROUNDS && r == CUDA_SUCCESS; i++) {
		r = slu_selftest_memory_displace(t, &m);
		if (r == CUDA_SUCCESS)
			r = slu_selftest_memory_place(t, &m, &t->prop);
	}
	if (r == CUDA_SUCCESS)
		slu_selftest_memory_free(t, &m);
	return r;
}

/* The other process: the driver must not have been opened before. */
static void other_run(struct slu_selftest *t)
{
	slu_selftest_hush(t);
	alarm(SLU_SELFTEST_PATIENCE_S);
	_exit(slu_selftest_open(t, "together") && rounds_run(t) == CUDA_SUCCESS ? 0 : 1);
}

void slu_selftest_together(struct slu_selftest *t)
{
	pid_t other = fork();
	int status = 0;
	CUresult r;

	if (!other)
		other_run(t);
	if (other < 0) {
		slu_selftest_fail(t, "together", CUDA_SUCCESS, WHAT, THEN);
		return;
	}
	if (!slu_selftest_open(t, "together"))
		return;
	r = rounds_run(t);
	if (waitpid(other, &status, 0) < 0)
		slu_selftest_fail(t, "together", r, WHAT, THEN);
	else
		slu_selftest_judge(t, "together", r == CUDA_SUCCESS && !status, WHAT, THEN);
}
