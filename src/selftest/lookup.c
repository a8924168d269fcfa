/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How programs find the driver's functions: by the loader or through cuGetProcAddress(). The shim
 * recognises a function by its address, so both must give the same one.
 */

#include <dlfcn.h>

#include "cuabi/names.h"
#include "selftest/selftest.h"

#define WHAT "cuGetProcAddress() gives the loader's functions"
#define THEN "Programs that ask that way get the driver's own function: their calls bypass Sluice."

/* The address that cuGetProcAddress() gives for @id; NULL where it has none. */
static void *address_ask(struct slu_selftest *t, unsigned id)
{
	const struct slu_cuname *name = &slu_cunames[id];
	cuuint64_t flags = name->per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
					    : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
	void *address = NULL;

	if (t->driver.cuGetProcAddress_v2(name->base, &address, name->version, flags, NULL) !=
	    CUDA_SUCCESS)
		return NULL;
	return address;
}

void slu_selftest_lookup(struct slu_selftest *t)
{
	unsigned n_same = 0, n_different = 0;

	if (!slu_selftest_open(t, "lookup"))
		return;
	for (unsigned id = 0; id < _SLU_CUNAME_MAX; id++) {
		void *by_loader = dlsym(t->driver.handle, slu_cunames[id].symbol);
		void *by_call = address_ask(t, id);

		if (by_loader && by_call && by_loader == by_call)
			n_same++;
		else if (by_loader && by_call)
			n_different++;
	}
	slu_selftest_figure(t, "lookup.n", n_same, SLU_SELFTEST_COUNT,
			    "functions that both ways find alike");
	if (!n_same && !n_different)
		slu_selftest_fail(t, "lookup", CUDA_SUCCESS, WHAT, THEN);
	else
		slu_selftest_judge(t, "lookup", !n_different, WHAT, THEN);
}
