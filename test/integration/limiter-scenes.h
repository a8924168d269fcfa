/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scenes of the limiter's test: each is an OpenCL program of its own, run in a process with its own
 * settings, that looks at the board from inside. A scene returns 0, or the line where something was
 * not as it should be, after saying so on stderr.
 */

#define SCENE_IS_NOT_HERE (-77) /* this machine's devices are not such that it can be played */

struct scene {
	const char *name;
	int (*play)(void);
};

extern const struct scene limiter_scenes[]; /* ends with a NULL name */
