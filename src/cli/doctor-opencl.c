/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL of this machine. The loader is opened with our layer in OPENCL_LAYERS, as `sluice run`
 * does it; if the layer is mapped afterwards, this loader knows layers.
 */

#define CL_TARGET_OPENCL_VERSION 300

#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/attach.h"
#include "cli/doctor.h"

#define LOADER "libOpenCL.so.1"

/* The calls that we need, from the loader that programs use. */
struct calls {
	cl_int (*platform_ids)(cl_uint, cl_platform_id *, cl_uint *);
	cl_int (*platform_info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *);
	cl_int (*device_ids)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
	cl_int (*device_info)(cl_device_id, cl_device_info, size_t, void *, size_t *);
};

static void ask_text(const struct calls *calls, cl_device_id device, cl_device_info what,
		     char *ret_text, size_t size)
{
	size_t n = 0;

	if (calls->device_info(device, what, size - 1, ret_text, &n))
		n = 0;
	ret_text[SLU_MIN(n, size - 1)] = '\0';
}

static void look_at_device(struct slu_doctor *d, const struct calls *calls, cl_device_id device,
			   const char *platform)
{
	char name[128], extensions[8192], size[SLU_SIZE_STRING_MAX];
	cl_bool is_unified = CL_FALSE;
	const char *gain = "what does not fit waits in host memory";
	cl_device_type type = 0;
	cl_ulong bytes = 0;
	cl_device_svm_capabilities svm = 0;

	ask_text(calls, device, CL_DEVICE_NAME, name, sizeof(name));
	ask_text(calls, device, CL_DEVICE_EXTENSIONS, extensions, sizeof(extensions));
	calls->device_info(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
	calls->device_info(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	calls->device_info(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(is_unified), &is_unified,
			   NULL);
	calls->device_info(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, NULL);
	if (type & CL_DEVICE_TYPE_CPU)
		gain = "it is the CPU, whose memory is the machine's own: good for trials only";
	else if (is_unified)
		gain = "its memory is the machine's own: turns help, moving bytes does not";
	slu_doctor_say(d, SLU_VERDICT_DEVICE, "opencl", NULL, "%s: %s, %s", platform, name,
		       slu_size_format(size, bytes));
	slu_doctor_say(d, SLU_VERDICT_FINE, "opencl", NULL,
		       "  turns, and objects that move, those of a command at a time; %s", gain);
	slu_doctor_say(d, SLU_VERDICT_FINE, "opencl", NULL, "  %s%s",
		       strstr(extensions, "cl_khr_device_uuid")
			       ? "one device for OpenCL and CUDA, by its UUID"
			       : "known by platform, name and place, for it has no UUID",
		       svm ? "; shared virtual memory cannot move and is shown so" : "");
}

static void look_at_platform(struct slu_doctor *d, const struct calls *calls,
			     cl_platform_id platform)
{
	cl_device_id devices[16];
	char name[128] = "?";
	cl_uint n = 0;

	calls->platform_info(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL);
	if (calls->device_ids(platform, CL_DEVICE_TYPE_ALL, SLU_ARRAY_SIZE(devices), devices, &n))
		n = 0;
	if (!n)
		slu_doctor_say(d, SLU_VERDICT_NOTE, "opencl",
			       "Is its card there, and may you open it (groups video, render)?",
			       "%s: no device", name);
	for (cl_uint i = 0; i < SLU_MIN(n, (cl_uint)SLU_ARRAY_SIZE(devices)); i++)
		look_at_device(d, calls, devices[i], name);
}

static void look_at_layer(struct slu_doctor *d)
{
	struct slu_attach_view view;

	if (!d->install.opencl[0])
		return;
	slu_attach_look(getpid(), &d->install, &view);
	if (view.has_layer)
		slu_doctor_say(d, SLU_VERDICT_FINE, "opencl", NULL,
			       "the loader takes our layer in: programs need no change");
	else
		slu_doctor_say(
			d, SLU_VERDICT_BAD, "opencl",
			"Install a loader that does: on Debian ocl-icd-libopencl1 2.3 or "
			"newer.",
			"the loader knows no layers: Sluice cannot get into OpenCL programs");
}

/* A limiter, or another tool's layer, stays where it was. */
static void add_layer(const char *layer)
{
	const char *old = getenv("OPENCL_LAYERS");
	char *joined;

	if (!layer[0])
		return;
	if (asprintf(&joined, "%s%s%s", old ? old : "", old && *old ? ":" : "", layer) < 0)
		return;
	setenv("OPENCL_LAYERS", joined, 1);
	free(joined);
}

static void say_no_platform(struct slu_doctor *d)
{
	static const char *const variables[] = { "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES" };

	for (size_t i = 0; i < SLU_ARRAY_SIZE(variables); i++) {
		const char *value = getenv(variables[i]);

		if (value) {
			slu_doctor_say(d, SLU_VERDICT_NOTE, "opencl", "Correct it, or unset it.",
				       "the loader finds no platform, and %s says where to look: "
				       "'%s'",
				       variables[i], value);
			return;
		}
	}
	slu_doctor_say(d, SLU_VERDICT_NOTE, "opencl",
		       "Install your card's OpenCL driver; for trials: apt install "
		       "pocl-opencl-icd",
		       "the loader finds no platform");
}

static void look_at_loader(struct slu_doctor *d, const char *what)
{
	cl_platform_id platforms[16];
	struct calls calls;
	cl_uint n = 0;
	void *loader;

	add_layer(d->install.opencl);
	loader = dlopen(what, RTLD_NOW | RTLD_LOCAL);
	if (!loader) {
		slu_doctor_say(d, SLU_VERDICT_NOTE, "opencl",
			       "For OpenCL programs, on Debian: apt install ocl-icd-libopencl1",
			       "no OpenCL loader (%s)", what);
		return;
	}
	calls.platform_ids = dlsym(loader, "clGetPlatformIDs");
	calls.platform_info = dlsym(loader, "clGetPlatformInfo");
	calls.device_ids = dlsym(loader, "clGetDeviceIDs");
	calls.device_info = dlsym(loader, "clGetDeviceInfo");
	if (!calls.platform_ids || !calls.platform_info || !calls.device_ids ||
	    !calls.device_info) {
		slu_doctor_say(d, SLU_VERDICT_BAD, "opencl", "Reinstall the OpenCL loader.",
			       "%s lacks calls that every loader has", what);
		return;
	}
	if (calls.platform_ids(SLU_ARRAY_SIZE(platforms), platforms, &n))
		n = 0;
	if (!n) {
		say_no_platform(d);
		return;
	}
	look_at_layer(d);
	for (cl_uint i = 0; i < SLU_MIN(n, (cl_uint)SLU_ARRAY_SIZE(platforms)); i++)
		look_at_platform(d, &calls, platforms[i]);
}

/* Layers already in the variable are the user's choice; loaders ignore what they cannot open. */
static void look_at_others(struct slu_doctor *d)
{
	const char *names = getenv("OPENCL_LAYERS");
	char *copy = names ? strdup(names) : NULL, *rest = copy, *path;

	while (rest && (path = strsep(&rest, ":")))
		if (strchr(path, '/') && access(path, R_OK))
			slu_doctor_say(d, SLU_VERDICT_NOTE, "opencl",
				       "Correct or unset OPENCL_LAYERS; 'sluice run' adds what it "
				       "needs itself.",
				       "OPENCL_LAYERS names %s: %s", path, strerror(errno));
	free(copy);
}

void slu_doctor_opencl(struct slu_doctor *d)
{
	unsigned n_bad = d->n_bad;

	look_at_others(d);
	slu_doctor_loader(d);
	if (d->n_bad == n_bad)
		slu_doctor_try(d, "opencl", LOADER, look_at_loader);
}
