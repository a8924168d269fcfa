/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The driver's public symbols, from names.def, and the rule by which cuGetProcAddress() finds one:
 * of the forms of a base name that are not newer than the version asked for, the newest; with the
 * per-thread flag the variant for the per-thread default stream where there is one, else the
 * plain form.
 */

#include <stdbool.h>
#include <stddef.h>

struct slu_cuname {
	const char *symbol; /* "cuMemcpyHtoD_v2_ptds" */
	const char *base;   /* "cuMemcpyHtoD" */
	int version;	    /* first driver version with this form, as CUDA_VERSION counts */
	bool per_thread;
};

/* The number of a symbol: its place in names.def, which is sorted by symbol. */
enum slu_cuname_id {
#define SLU_CUNAME(symbol, base, version, thread) SLU_CUNAME_##symbol,
#include "cuabi/names.def"
#undef SLU_CUNAME
	_SLU_CUNAME_MAX,
};

extern const struct slu_cuname slu_cunames[_SLU_CUNAME_MAX];

/* Return: the number of @symbol, or -1. */
int slu_cuname_find(const char *symbol);

enum {
	SLU_CUNAME_E_UNKNOWN = -1, /* no such base name */
	SLU_CUNAME_E_OLDER = -2,   /* there is one, but only in versions newer than @version */
};

/* Return: the number of the form of @base for @version, or one of the two above. */
int slu_cuname_resolve(const char *base, int version, bool per_thread);
