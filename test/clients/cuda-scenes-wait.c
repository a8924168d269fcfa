/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-scenes.h"

#include <string.h>
#include <unistd.h>

static void say(const char *line)
{
	puts(line);
	fflush(stdout);
}

/* Waits for the end of standard input, that is for the test. */
static void wait_for_the_end(void *data)
{
	char byte;

	(void)data;
	say("waiting");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
}

/*
 * A host function waits for somebody else. @how: "alone": nothing is queued behind it; "behind": a
 * kernel is; "copy": a thread of the program waits in a blocking copy behind it.
 */
void scene_host_waits(const char *how)
{
	uint32_t n = (uint32_t)(strtoull(getenv("SCENE_BYTES"), NULL, 0) / 4);
	CUstream stream, beside;
	CUdeviceptr p;

	OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&p, (size_t)n * 4));
	OK(cuMemsetD32_v2(p, 2, n));
	scene_launch_step(p, n, 1, beside);
	OK(cuStreamSynchronize(beside));
	scene_launch_step(p, n, 1, stream);
	OK(cuLaunchHostFunc(stream, wait_for_the_end, NULL));
	if (!strcmp(how, "behind"))
		scene_launch_step(p, n, 0, stream);
	if (!strcmp(how, "copy"))
		scene_check(p, n, 22);
	OK(cuStreamSynchronize(stream));
	scene_check(p, n, strcmp(how, "behind") ? 22 : 66);
}

/* One long kernel, and a host that does nothing but look whether it has ended. */
void scene_spins(const char *ms)
{
	CUdeviceptr p;
	CUevent event;

	OK(cuMemAlloc_v2(&p, strtoull(getenv("SCENE_BYTES"), NULL, 0)));
	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	scene_launch_spin(strtoull(ms, NULL, 0), NULL);
	OK(cuEventRecord(event, NULL));
	say("spinning");
	while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
		;
	OK(cuEventQuery(event));
	say("ended");
}

/* Short work on much memory, then nothing until the end of standard input, then work again. */
void scene_pulse(const char *rounds)
{
	uint32_t n = (uint32_t)(strtoull(getenv("SCENE_BYTES"), NULL, 0) / 4), x = 1;
	CUdeviceptr p;

	OK(cuMemAlloc_v2(&p, (size_t)n * 4));
	OK(cuMemsetD32_v2(p, x, n));
	for (int i = 0; i < atoi(rounds); i++) {
		scene_launch_step(p, n, 1, NULL);
		x = scene_next(x, 1);
	}
	OK(cuCtxSynchronize());
	wait_for_the_end(NULL);
	scene_check(p, n, x);
}
