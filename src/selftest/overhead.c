/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a context takes of the device, as another process sees it: memory that no program asked for
 * and that nobody can move. And whether the memory of a process comes back when it ends.
 *
 *   this process     opens its context ── looks ──── go ───▶              looks ── end ─▶   looks
 *   the other one                                     opens, launches ── done ─▶     exits
 */

#include <errno.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "selftest/selftest.h"

#define WHAT	 "what the context of a program takes of the device"
#define THEN	 "Sluice learns it from refusals instead, which cost time."
#define PAUSE_NS (10 * SLU_NS_PER_MS)
#define N_PAUSES 300 /* a driver may free a moment after the end */

static bool byte_read(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

static bool byte_write(int fd)
{
	return write(fd, "", 1) == 1;
}

/* The other process: it opens a context and runs a kernel, and stays until it is to end. */
static void other_run(struct slu_selftest *t, int in, int out)
{
	struct slu_selftest_memory m = { 0 };
	CUfunction add;

	slu_selftest_hush(t);
	alarm(SLU_SELFTEST_PATIENCE_S);
	if (!byte_read(in) || !slu_selftest_open(t, "overhead") ||
	    slu_selftest_kernel_load(t, &add) != CUDA_SUCCESS ||
	    slu_selftest_memory_make(t, t->granule_bytes, &m) != CUDA_SUCCESS ||
	    slu_selftest_kernel_launch(t, add, m.address, 1, NULL) != CUDA_SUCCESS ||
	    t->driver.cuCtxSynchronize() != CUDA_SUCCESS)
		_exit(1);
	slu_selftest_memory_free(t, &m);
	if (!byte_write(out))
		_exit(1);
	byte_read(in);
	_exit(0);
}

static uint64_t free_bytes(struct slu_selftest *t)
{
	size_t free_now = 0, total = 0;

	t->driver.cuMemGetInfo_v2(&free_now, &total);
	return free_now;
}

/* Return: whether as much is free as before, now or soon. */
static bool memory_returns(struct slu_selftest *t, uint64_t before_bytes)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	unsigned n = 0;

	while (free_bytes(t) < before_bytes && n++ < N_PAUSES)
		nanosleep(&pause, NULL);
	return n <= N_PAUSES;
}

static void overhead_look(struct slu_selftest *t, pid_t other, int in, int out)
{
	uint64_t before_bytes = free_bytes(t), during_bytes;
	bool is_there = byte_write(out) && byte_read(in);

	during_bytes = free_bytes(t);
	if (!is_there) {
		slu_selftest_fail(t, "overhead", CUDA_SUCCESS, WHAT, THEN);
		return;
	}
	slu_selftest_figure(t, "overhead.context",
			    (double)slu_sub_floor(before_bytes, during_bytes), SLU_SELFTEST_BYTES,
			    WHAT);
	byte_write(out);
	waitpid(other, NULL, 0);
	slu_selftest_judge(t, "overhead.returns", memory_returns(t, before_bytes),
			   "the memory of a process comes back when it ends",
			   "Memory of ended programs is missing until the driver frees it.");
}

void slu_selftest_overhead(struct slu_selftest *t)
{
	int to[2], from[2];
	pid_t other;

	if (pipe(to) || pipe(from) || (other = fork()) < 0) {
		slu_selftest_fail(t, "overhead", CUDA_SUCCESS, WHAT, THEN);
		return;
	}
	if (!other) {
		close(to[1]);
		close(from[0]);
		other_run(t, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	if (slu_selftest_open(t, "overhead"))
		overhead_look(t, other, from[0], to[1]);
}
