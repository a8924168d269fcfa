/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA drivers of this machine, in the order in which the shim looks for one: each with its
 * devices, and what Sluice can do there. Asked through the driver's own calls.
 */

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/doctor.h"
#include "cli/drivers.h"
#include "cli/reply.h"
#include "cli/selftest-store.h"

#define DEVICES_MAX 64

/* Numbers of the driver's interface. */
enum {
	HAS_VIRTUAL_MEMORY = 102,      /* CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
	HAS_HOST_VIRTUAL_MEMORY = 141, /* …_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
};

struct calls {
	int (*init)(unsigned);
	int (*version)(int *);
	int (*count)(int *);
	int (*get)(int *, int);
	int (*name)(char *, int, int);
	int (*total)(size_t *, int);
	int (*attribute)(int *, int, int);
};

static bool find_calls(void *driver, struct calls *ret_calls)
{
	ret_calls->init = dlsym(driver, "cuInit");
	ret_calls->version = dlsym(driver, "cuDriverGetVersion");
	ret_calls->count = dlsym(driver, "cuDeviceGetCount");
	ret_calls->get = dlsym(driver, "cuDeviceGet");
	ret_calls->name = dlsym(driver, "cuDeviceGetName");
	ret_calls->total = dlsym(driver, "cuDeviceTotalMem_v2");
	ret_calls->attribute = dlsym(driver, "cuDeviceGetAttribute");
	return ret_calls->init && ret_calls->version && ret_calls->count && ret_calls->get &&
	       ret_calls->name && ret_calls->total && ret_calls->attribute;
}

static void look_at_device(struct slu_doctor *d, const struct calls *calls, int number)
{
	int device, has_virtual = 0, has_host = 0;
	char name[128] = "?", size[SLU_SIZE_STRING_MAX];
	size_t bytes = 0;

	if (calls->get(&device, number))
		return;
	calls->name(name, sizeof(name), device);
	calls->total(&bytes, device);
	calls->attribute(&has_virtual, HAS_VIRTUAL_MEMORY, device);
	calls->attribute(&has_host, HAS_HOST_VIRTUAL_MEMORY, device);
	if (has_virtual)
		slu_doctor_say(
			d, SLU_VERDICT_DEVICE, "cuda", NULL,
			"  GPU %d: %s, %s; turns, and memory that moves behind its address%s",
			number, name, slu_size_format(size, bytes),
			has_host ? ", or stays mapped in host memory where that is allowed" : "");
	else
		slu_doctor_say(d, SLU_VERDICT_BAD, "cuda",
			       "Its programs fail as they would without Sluice when memory is out.",
			       "  GPU %d: %s, %s; no virtual memory management: nothing can move",
			       number, name, slu_size_format(size, bytes));
}

static bool is_software(const struct slu_doctor *d, const char *path)
{
	size_t n = strlen(d->install.softgpu_folder);

	return n && !strncmp(path, d->install.softgpu_folder, n) && path[n] == '/';
}

static void look_at_driver(struct slu_doctor *d, const char *path)
{
	void *driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int version = 0, n = 0, r;
	struct calls calls;

	if (!driver) {
		slu_doctor_say(d, SLU_VERDICT_BAD, "cuda", "Reinstall the driver.", "%s: %s", path,
			       dlerror());
		return;
	}
	if (!find_calls(driver, &calls)) {
		slu_doctor_say(d, SLU_VERDICT_BAD, "cuda",
			       "Is it a CUDA driver, and of this "
			       "decade?",
			       "%s lacks calls that every driver has", path);
		return;
	}
	r = calls.init(0);
	if (r || calls.version(&version) || calls.count(&n)) {
		slu_doctor_say(d, SLU_VERDICT_NOTE, "cuda",
			       is_software(d, path)
				       ? "'sluice softgpu run -- true' says why."
				       : "Is the card there, and the kernel's half of the driver "
					 "loaded (nvidia-smi)?",
			       "driver: %s: cuInit says error %d", path, r);
		return;
	}
	slu_doctor_say(d, SLU_VERDICT_FINE, "cuda", NULL, "driver: %s: CUDA %d.%d, %d device%s",
		       path, version / 1000, version % 1000 / 10, n, n == 1 ? "" : "s");
	for (int i = 0; i < SLU_MIN(n, DEVICES_MAX); i++)
		look_at_device(d, &calls, i);
}

/* What the last self-test of this GPU found, in one line. */
static void selftest_say(void *data, const char *gpu, const json_t *findings)
{
	struct slu_doctor *d = data;
	const json_t *finding;
	uint64_t in = 0, out = 0;
	unsigned n_problems = 0;
	char to[SLU_SIZE_STRING_MAX], from[SLU_SIZE_STRING_MAX];
	size_t i;

	json_array_foreach (findings, i, finding) {
		const char *key = slu_reply_text(finding, "key");
		const char *verdict = slu_reply_text(finding, "verdict");

		if (!strcmp(key, "link.in"))
			in = (uint64_t)json_number_value(json_object_get(finding, "value"));
		if (!strcmp(key, "link.out"))
			out = (uint64_t)json_number_value(json_object_get(finding, "value"));
		n_problems += !strcmp(verdict, "differs") || !strcmp(verdict, "unproven");
	}
	slu_doctor_say(d, n_problems ? SLU_VERDICT_NOTE : SLU_VERDICT_FINE, "cuda",
		       n_problems ? "'sluice selftest' lists them with their consequences." : NULL,
		       "self-test of %s: %s/s to the device, %s/s back; %u of the findings are "
		       "problems",
		       gpu, slu_size_format(to, in), slu_size_format(from, out), n_problems);
}

static void look_at_selftests(struct slu_doctor *d, const char *driver)
{
	if (!slu_selftest_store_each(driver, selftest_say, d))
		slu_doctor_say(d, SLU_VERDICT_NOTE, "cuda",
			       "'sluice selftest' takes half a minute.",
			       "self-test: not run with this driver yet");
}

void slu_doctor_cuda(struct slu_doctor *d)
{
	const char *said = getenv("SLUICE_CUDA_DRIVER");
	struct slu_drivers *drivers = slu_drivers_find(&d->install);

	if (!drivers)
		return;
	if (said && access(said, R_OK))
		slu_doctor_say(d, SLU_VERDICT_BAD, "cuda",
			       "Set SLUICE_CUDA_DRIVER to the driver's libcuda.so.1, or unset it.",
			       "%s: %s", said, strerror(errno));
	for (size_t i = 0; i < drivers->n; i++)
		slu_doctor_try(d, "cuda", drivers->paths[i], look_at_driver);
	if (drivers->n)
		look_at_selftests(d, drivers->paths[0]);
	if (!drivers->n)
		slu_doctor_say(d, SLU_VERDICT_NOTE, "cuda",
			       d->install.softgpu_folder[0]
				       ? "Without a card: sluice softgpu run -- PROGRAM"
				       : NULL,
			       "no CUDA driver (libcuda.so.1) was found: programs do not see one "
			       "under Sluice either");
	free(drivers);
}
