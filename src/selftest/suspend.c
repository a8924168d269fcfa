/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A program of our own that the driver suspends and brings back: its memory must be free for us
 * meanwhile, and be as it was afterwards.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "selftest/selftest.h"
#include "selftest/suspender.h"

#define WHAT	"the driver suspends a program and brings its memory back"
#define THEN	"'sluice park --deep' and 'sluice adopt' do not work."
#define LOCK_MS 10000

/* The other program, and a pipe in each direction. */
struct other {
	pid_t pid;
	int to, from;
};

static bool pattern_is_there(struct slu_selftest *t, const struct slu_selftest_memory *m,
			     unsigned char *host)
{
	memset(host, 0, m->bytes);
	if (t->driver.cuMemcpyDtoHAsync_v2(host, m->address, m->bytes, NULL) != CUDA_SUCCESS ||
	    t->driver.cuStreamSynchronize(NULL) != CUDA_SUCCESS)
		return false;
	for (uint64_t i = 0; i < m->bytes; i++)
		if (host[i] != (unsigned char)(i % 251))
			return false;
	return true;
}

/* Says when its memory is there, and looks at it again when it is told to. */
static bool other_work(struct slu_selftest *t, int from_us, int to_us)
{
	struct slu_selftest_memory m = { 0 };
	unsigned char *host;
	char c = 0;

	if (!slu_selftest_open(t, "suspend") ||
	    slu_selftest_memory_make(t, t->buffer_bytes, &m) != CUDA_SUCCESS)
		return false;
	host = malloc(m.bytes);
	if (!host)
		return false;
	for (uint64_t i = 0; i < m.bytes; i++)
		host[i] = (unsigned char)(i % 251);
	return t->driver.cuMemcpyHtoDAsync_v2(m.address, host, m.bytes, NULL) == CUDA_SUCCESS &&
	       t->driver.cuStreamSynchronize(NULL) == CUDA_SUCCESS && write(to_us, &c, 1) == 1 &&
	       read(from_us, &c, 1) == 1 && pattern_is_there(t, &m, host);
}

/* Return: whether it runs and has its memory. The driver must not have been opened before. */
static bool other_start(struct slu_selftest *t, struct other *other)
{
	int there[2], back[2];
	char c;

	if (pipe(there) < 0 || pipe(back) < 0)
		return false;
	other->pid = fork();
	if (!other->pid) {
		slu_selftest_hush(t);
		alarm(SLU_SELFTEST_PATIENCE_S);
		close(there[1]);
		close(back[0]);
		_exit(other_work(t, there[0], back[1]) ? 0 : 1);
	}
	close(there[0]);
	close(back[1]);
	other->to = there[1];
	other->from = back[0];
	return other->pid > 0 && read(other->from, &c, 1) == 1;
}

/* Return: whether it found its memory as it was. */
static bool other_finish(const struct other *other)
{
	int status = 1;
	char c = 0;

	return write(other->to, &c, 1) == 1 && waitpid(other->pid, &status, 0) == other->pid &&
	       !status;
}

static size_t free_bytes(struct slu_selftest *t)
{
	size_t bytes = 0, total;

	return t->driver.cuMemGetInfo_v2(&bytes, &total) == CUDA_SUCCESS ? bytes : 0;
}

void slu_selftest_suspend(struct slu_selftest *t)
{
	struct slu_suspender_outcome outcome;
	uint64_t begin_ns, away_ns, back_ns;
	size_t before, meanwhile;
	struct other other;

	if (!other_start(t, &other)) {
		slu_selftest_fail(t, "suspend", CUDA_SUCCESS, WHAT, THEN);
		return;
	}
	if (!slu_selftest_open(t, "suspend"))
		return;
	before = free_bytes(t);
	begin_ns = slu_clock_now_ns();
	slu_suspender_suspend(t->path, other.pid, LOCK_MS, &outcome);
	if (!outcome.is_away) {
		slu_selftest_fail(t, "suspend", (CUresult)outcome.error, WHAT, THEN);
		return;
	}
	away_ns = slu_clock_now_ns() - begin_ns;
	meanwhile = free_bytes(t);
	begin_ns = slu_clock_now_ns();
	slu_suspender_resume(t->path, other.pid, &outcome);
	back_ns = slu_clock_now_ns() - begin_ns;
	if (outcome.error) {
		slu_selftest_fail(t, "suspend", (CUresult)outcome.error, WHAT, THEN);
		return;
	}
	slu_selftest_judge(t, "suspend",
			   meanwhile >= before + t->buffer_bytes && other_finish(&other), WHAT,
			   THEN);
	slu_selftest_figure(t, "suspend.away_ns", (double)away_ns, SLU_SELFTEST_NS,
			    "to suspend a program with a context and a buffer");
	slu_selftest_figure(t, "suspend.back_ns", (double)back_ns, SLU_SELFTEST_NS,
			    "to bring it back");
}
