/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The parts of `sluice doctor`: each looks at one thing and says what it found. Drivers are looked
 * at in a child: one that crashes or hangs when it is asked is a finding, not our end.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/ask.h"
#include "cli/install.h"

enum slu_verdict {
	SLU_VERDICT_FINE,
	SLU_VERDICT_DEVICE, /* fine as well: one that programs can share */
	SLU_VERDICT_NOTE,
	SLU_VERDICT_BAD,
};

struct slu_doctor {
	struct slu_cli_where where; /* the options (parse.h) */
	struct slu_install install;
	json_t *findings;
	unsigned n_bad, n_devices;
	FILE *parent; /* in a child: findings go there, a line each */
};

/* @then: what to do about it, or NULL. */
void slu_doctor_say(struct slu_doctor *d, enum slu_verdict verdict, const char *about,
		    const char *then, const char *format, ...)
	__attribute__((__format__(__printf__, 5, 6)));

/* Calls @look in a child; what it says is said here. @what is looked at, for the case that it dies.
 */
void slu_doctor_try(struct slu_doctor *d, const char *about, const char *what,
		    void (*look)(struct slu_doctor *d, const char *what));

/* Which OpenCL loader there is, and what it reads. */
void slu_doctor_loader(struct slu_doctor *d);
/* Every OpenCL platform and device, and what Sluice can do there. */
void slu_doctor_opencl(struct slu_doctor *d);
/* Every CUDA driver, its devices, and what Sluice can do there. */
void slu_doctor_cuda(struct slu_doctor *d);
/* Whether a daemon could use its folders, where none runs. */
void slu_doctor_folders(struct slu_doctor *d);
/* What a daemon would say to its settings. */
void slu_doctor_settings(struct slu_doctor *d);
/* Where bytes go that do not fit in host memory. */
void slu_doctor_disk(struct slu_doctor *d);
