/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where our own files are: beside this program in a build tree, in the library folder when
 * installed, in SLUICE_LIBDIR when somebody says so.
 */

#include <limits.h>

/* Absolute paths; an empty string for what is not there. */
struct slu_install {
	char daemon[PATH_MAX];	    /* sluiced */
	char opencl[PATH_MAX];	    /* the OpenCL layer */
	char cuda[PATH_MAX];	    /* the CUDA shim */
	char cuda_folder[PATH_MAX]; /* a folder with libcuda.so and libcuda.so.1, both the shim */
	char softgpu_folder[PATH_MAX]; /* the software GPU's libcuda.so.1 */
	char cudart_folder[PATH_MAX];  /* our libcudart.so.13; empty: where the driver is */
	char nvml_folder[PATH_MAX];    /* our libnvidia-ml.so.1; empty: where the driver is */
	char limiter[PATH_MAX];	       /* the OpenCL limiter */
	char looked[PATH_MAX];	       /* the folder in which the libraries should be */
};

/* What to do where libraries are not in the folder that was looked in. */
const char *slu_install_advice(void);

void slu_install_find(struct slu_install *ret_install);
