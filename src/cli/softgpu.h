/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of `sluice softgpu`. */

#include <limits.h>

#include "board/board.h"
#include "cli/install.h"
#include "cli/verb.h"

/* SLU_SOFTGPU_DEVICES_MAX and so on, as the driver has them */
enum {
#define DEV_SETTING_RANGE(name, min, max) SLU_SOFTGPU_##name##_MAX = (max),
#include "softgpu/settings.def"
};

extern const struct slu_cli_verb slu_softgpu_run, slu_softgpu_info, slu_softgpu_reset;

/* The options of those that only show or remove: --json alone, noted in a bool. */
extern const struct slu_cli_option slu_softgpu_json_options[];

/*
 * Looks at what is asked of the software GPU by the environment, where options have been put.
 * Return: 0, or the exit code after having complained of the first that is wrong.
 */
int slu_softgpu_check_options(void);
/* Complains of what only the driver could tell, and did. Return: the exit code. */
int slu_softgpu_complain_of_options(void);

/* Makes the devices that the environment asks for. Return: 0, or the exit code after having
 * complained. */
int slu_softgpu_make(const struct slu_install *install);

/* The path of a device's board, whether it is there or not. Return: 0 or -errno. */
int slu_softgpu_path(unsigned index, char ret_path[PATH_MAX]);
