/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `sluice selftest`: tries, with the driver's own calls, what Sluice relies on (docs/driver.md),
 * and measures what moving memory costs on this machine. Nothing here goes through the shim.
 *
 * A part is one question or a few that need the same objects. Its function opens the driver itself
 * (slu_selftest_open()), so that a part may create processes first: a driver does not survive a
 * fork. The caller runs each part in a process of its own: one that hangs or crashes is a finding
 * about that part, and the others are tried all the same.
 *
 * A part reports each finding as soon as it has it. What could not be tried is reported as such: a
 * part never returns without a word.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/uuid.h"
#include "cuabi/cuda-calls.h"
#include "selftest/driver.h"

/* A part that takes longer hangs. Processes that a part makes end by themselves after this time. */
#define SLU_SELFTEST_PATIENCE_S 60

enum slu_selftest_verdict {
	SLU_SELFTEST_FIGURE,   /* a measurement; Sluice relies on no particular value */
	SLU_SELFTEST_HOLDS,    /* what Sluice relies on is so */
	SLU_SELFTEST_DIFFERS,  /* it is not: @then says what Sluice does instead */
	SLU_SELFTEST_UNPROVEN, /* it could not be tried: @then says what Sluice does then */
	_SLU_SELFTEST_VERDICT_MAX,
};

enum slu_selftest_unit {
	SLU_SELFTEST_NONE, /* no value */
	SLU_SELFTEST_BYTES,
	SLU_SELFTEST_BYTES_PER_S,
	SLU_SELFTEST_NS,
	SLU_SELFTEST_COUNT,
	_SLU_SELFTEST_UNIT_MAX,
};

struct slu_selftest_finding {
	const char *key; /* for machines, stable: "link.in" */
	enum slu_selftest_verdict verdict;
	double value;
	enum slu_selftest_unit unit;
	const char *what; /* for people: what was tried or measured */
	const char *then; /* of DIFFERS and UNPROVEN: the consequence; else NULL */
	CUresult error;	  /* the driver's word where a call failed, else CUDA_SUCCESS */
};

struct slu_selftest {
	/* constant: set by the caller */
	const char *path; /* of the driver */
	int ordinal;
	void (*report)(void *data, const struct slu_selftest_finding *finding);
	void *data;

	/* set by slu_selftest_open() */
	struct slu_selftest_driver driver;
	CUdevice device;
	CUcontext context;	  /* current on the thread that opened it */
	uint64_t granule_bytes;	  /* of the driver's virtual memory */
	uint64_t buffer_bytes;	  /* of what is copied: a part of the device, in whole granules */
	CUmemAllocationProp prop; /* of memory on the device */
};

struct slu_selftest_part {
	const char *name; /* for progress: "copies over the bus" */
	const char *key;  /* of the finding where the part hangs or crashes */
	void (*run)(struct slu_selftest *test);
};

/* Ended by a NULL name. */
extern const struct slu_selftest_part slu_selftest_parts[];

/* What the findings are about, and whether its memory suffices to find them. */
struct slu_selftest_identity {
	int driver_version;
	char gpu[SLU_UUID_STRING_MAX];
	uint64_t free_bytes;   /* of the device, now */
	uint64_t needed_bytes; /* with less, parts fail for lack of memory, which says nothing */
};

/* In a process of its own, as a part. Return: whether the driver says all of it. */
bool slu_selftest_identify(const char *path, int ordinal,
			   struct slu_selftest_identity *ret_identity);

/* Opens the driver, the device and a context. Return: whether it worked; otherwise it is reported.
 */
bool slu_selftest_open(struct slu_selftest *test, const char *key);

/* The name of a verdict and of a unit, for machines. */
const char *slu_selftest_verdict_name(enum slu_selftest_verdict verdict);
const char *slu_selftest_unit_name(enum slu_selftest_unit unit);

/* -- what parts share ------------------------------------------------------------------------- */

void slu_selftest_figure(struct slu_selftest *test, const char *key, double value,
			 enum slu_selftest_unit unit, const char *what);

/* HOLDS where @holds, else DIFFERS with @then. */
void slu_selftest_judge(struct slu_selftest *test, const char *key, bool holds, const char *what,
			const char *then);

/* UNPROVEN: a call that should have worked failed with @error, or there is no such call. */
void slu_selftest_fail(struct slu_selftest *test, const char *key, CUresult error, const char *what,
		       const char *then);

/* For a process whose findings are not to be reported. */
void slu_selftest_hush(struct slu_selftest *test);

/* Memory at an address of its own, as Sluice places it. */
struct slu_selftest_memory {
	CUdeviceptr address;
	uint64_t bytes;
	CUmemGenericAllocationHandle handle; /* 0: nothing is mapped there */
};

/* Return: CUDA_SUCCESS, or what failed; then nothing of it remains. */
CUresult slu_selftest_memory_make(struct slu_selftest *test, uint64_t bytes,
				  struct slu_selftest_memory *ret_memory);
void slu_selftest_memory_free(struct slu_selftest *test, struct slu_selftest_memory *memory);

/* The steps of the two above: the address stays when the memory goes. */
CUresult slu_selftest_memory_place(struct slu_selftest *test, struct slu_selftest_memory *memory,
				   const CUmemAllocationProp *prop);
CUresult slu_selftest_memory_displace(struct slu_selftest *test,
				      struct slu_selftest_memory *memory);

/* A kernel that adds 1 to each of @n words at @words, in steps of the whole grid. */
extern const char slu_selftest_ptx[];
CUresult slu_selftest_kernel_load(struct slu_selftest *test, CUfunction *ret_function);
CUresult slu_selftest_kernel_launch(struct slu_selftest *test, CUfunction function,
				    CUdeviceptr words, uint64_t n, CUstream stream);

/* -- the parts -------------------------------------------------------------------------------- */

void slu_selftest_lookup(struct slu_selftest *test);   /* lookup.c: how programs find functions */
void slu_selftest_link(struct slu_selftest *test);     /* link.c: copies over the bus */
void slu_selftest_mapping(struct slu_selftest *test);  /* mapping.c: memory behind an address */
void slu_selftest_together(struct slu_selftest *test); /* together.c: two processes map at once */
void slu_selftest_reach(struct slu_selftest *test);    /* reach.c: host memory that kernels reach */
void slu_selftest_overlap(struct slu_selftest *test);  /* overlap.c: moves while the device works */
void slu_selftest_capture(struct slu_selftest *test); /* capture.c: moves while a thread captures */
void slu_selftest_overhead(struct slu_selftest *test); /* overhead.c: what a context takes */
void slu_selftest_suspend(struct slu_selftest *test);  /* suspend.c: a program comes and goes */
