/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice doctor`: looks for what keeps Sluice from working here. Each line says what was looked
 * at, what was found, and, where something is missing, what to do. Changes nothing.
 */

#define CL_TARGET_OPENCL_VERSION 300

#include <CL/cl.h>
#include <argp.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/install.h"

enum verdict { FINE, NOTE, BAD };

struct doctor {
	struct slu_cli_where where;
	int is_json;
	json_t *findings;
	unsigned n_bad;
};

enum { OPTION_JSON = 256 };

static const struct argp_option option_table[] = {
	{ "json", OPTION_JSON, NULL, 0, "for machines", 0 },
	{ 0 },
};

static const struct argp_child children[] = { { .argp = &slu_cli_where_argp }, { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct doctor *d = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &d->where;
		return 0;
	case OPTION_JSON:
		d->is_json = 1;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.children = children,
	.doc = "Look for what keeps Sluice from working here, and say what to do.\v"
	       "Exit status: 0 if nothing is in the way, 123 otherwise.",
};

static void say(struct doctor *d, enum verdict verdict, const char *about, const char *then,
		const char *format, ...) __attribute__((__format__(__printf__, 5, 6)));

static void say(struct doctor *d, enum verdict verdict, const char *about, const char *then,
		const char *format, ...)
{
	static const char *const words[] = { [FINE] = "ok", [NOTE] = "note", [BAD] = "BAD" };
	char line[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	d->n_bad += verdict == BAD;
	if (d->is_json) {
		json_array_append_new(d->findings,
				      json_pack("{s:s, s:s, s:s, s:s*}", "about", about, "verdict",
						words[verdict], "found", line, "do", then));
		return;
	}
	printf("%-5s %-9s %s\n", words[verdict], about, line);
	if (then)
		printf("                %s\n", then);
}

static void look_at_daemon(struct doctor *d)
{
	struct slu_install install;
	char path[PATH_MAX] = "";
	int fd;

	slu_install_find(&install);
	if (install.daemon[0])
		say(d, FINE, "daemon", NULL, "%s", install.daemon);
	else
		say(d, BAD, "daemon", "Reinstall Sluice.", "sluiced is not beside this command");
	fd = slu_cli_connect(&d->where, path, sizeof(path));
	if (fd >= 0) {
		close(fd);
		say(d, FINE, "daemon", NULL, "answers at %s", path);
	} else if (fd == -ENOENT || fd == -ECONNREFUSED) {
		say(d, NOTE, "daemon", "'sluice run' starts one.", "none runs at %s", path);
	} else {
		say(d, BAD, "daemon", "Is it somebody else's?", "cannot reach %s: %s", path,
		    strerror(-fd));
	}
}

static void look_at_libraries(struct doctor *d)
{
	struct slu_install install;

	slu_install_find(&install);
	if (install.opencl[0])
		say(d, FINE, "opencl", NULL, "layer: %s", install.opencl);
	else
		say(d, BAD, "opencl", "Reinstall Sluice, or set SLUICE_LIBDIR.",
		    "our OpenCL layer is not there");
	if (install.cuda[0])
		say(d, FINE, "cuda", NULL, "shim: %s", install.cuda);
	else
		say(d, BAD, "cuda", "Reinstall Sluice, or set SLUICE_LIBDIR.",
		    "our CUDA library is not there");
}

static void look_at_kernel(struct doctor *d)
{
	struct utsname u;
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (commands > 0 && commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		say(d, FINE, "kernel", NULL, "membarrier: the gate costs a few nanoseconds");
	else
		say(d, NOTE, "kernel", NULL,
		    "no membarrier: the gate costs some 20 ns more a launch");
	if (!uname(&u) && (strstr(u.release, "microsoft") || strstr(u.release, "WSL")))
		say(d, NOTE, "kernel", NULL,
		    "WSL: Windows manages the GPU's memory as well; nothing was measured there");
}

static void look_at_cuda(struct doctor *d)
{
	static const char *const places[] = {
		"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
		"/usr/lib64/libcuda.so.1",
		"/usr/lib/libcuda.so.1",
		"/usr/lib/wsl/lib/libcuda.so.1",
	};
	const char *said = getenv("SLUICE_CUDA_DRIVER");

	if (said) {
		if (access(said, R_OK))
			say(d, BAD, "cuda", "Set SLUICE_CUDA_DRIVER to the driver's libcuda.so.1.",
			    "%s: %s", said, strerror(errno));
		else
			say(d, FINE, "cuda", NULL, "driver: %s (SLUICE_CUDA_DRIVER)", said);
		return;
	}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(places); i++) {
		if (!access(places[i], R_OK)) {
			say(d, FINE, "cuda", NULL, "driver: %s", places[i]);
			return;
		}
	}
	say(d, NOTE, "cuda", "Without a card: sluice softgpu run -- PROGRAM",
	    "no NVIDIA driver in the usual places");
}

static void look_at_platform(struct doctor *d, void *loader, cl_platform_id platform)
{
	cl_int (*device_ids)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *) =
		dlsym(loader, "clGetDeviceIDs");
	cl_int (*platform_info)(cl_platform_id, cl_platform_info, size_t, void *, size_t *) =
		dlsym(loader, "clGetPlatformInfo");
	cl_int (*device_info)(cl_device_id, cl_device_info, size_t, void *, size_t *) =
		dlsym(loader, "clGetDeviceInfo");
	char platform_name[128] = "?", name[128] = "?", size[SLU_SIZE_STRING_MAX];
	cl_device_id devices[16];
	cl_uint n = 0;

	if (!device_ids || !platform_info || !device_info)
		return;
	platform_info(platform, CL_PLATFORM_NAME, sizeof(platform_name), platform_name, NULL);
	if (device_ids(platform, CL_DEVICE_TYPE_ALL, SLU_ARRAY_SIZE(devices), devices, &n))
		n = 0;
	if (!n)
		say(d, NOTE, "opencl", NULL, "%s: no device", platform_name);
	for (cl_uint i = 0; i < SLU_MIN(n, (cl_uint)SLU_ARRAY_SIZE(devices)); i++) {
		cl_ulong bytes = 0;
		cl_device_type type = 0;

		device_info(devices[i], CL_DEVICE_NAME, sizeof(name), name, NULL);
		device_info(devices[i], CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
		device_info(devices[i], CL_DEVICE_TYPE, sizeof(type), &type, NULL);
		say(d, FINE, "opencl", NULL, "%s: %s, %s%s", platform_name, name,
		    slu_size_format(size, bytes),
		    type & CL_DEVICE_TYPE_CPU ? " (the CPU: its memory is the machine's own)" : "");
	}
}

static void look_at_opencl(struct doctor *d)
{
	void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	cl_int (*platform_ids)(cl_uint, cl_platform_id *, cl_uint *);
	cl_platform_id platforms[16];
	cl_uint n = 0;

	if (!loader) {
		say(d, NOTE, "opencl", "On Debian: apt install ocl-icd-libopencl1",
		    "no OpenCL loader (libOpenCL.so.1)");
		return;
	}
	platform_ids = dlsym(loader, "clGetPlatformIDs");
	if (!platform_ids || platform_ids(SLU_ARRAY_SIZE(platforms), platforms, &n))
		n = 0;
	if (!n)
		say(d, NOTE, "opencl", NULL, "the loader finds no platform");
	for (cl_uint i = 0; i < SLU_MIN(n, (cl_uint)SLU_ARRAY_SIZE(platforms)); i++)
		look_at_platform(d, loader, platforms[i]);
	/* the loader and its drivers stay: some of them do not survive being unloaded */
}

static void look_at_memory(struct doctor *d)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	char size[SLU_SIZE_STRING_MAX];

	say(d, FINE, "memory", NULL, "%s of host memory are free for what leaves the device",
	    slu_size_format(size, bytes));
}

int slu_cli_doctor(int argc, char **argv)
{
	struct doctor d = { .findings = json_array() };

	argp_err_exit_status = SLU_CLI_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &d);
	look_at_daemon(&d);
	look_at_libraries(&d);
	look_at_kernel(&d);
	look_at_cuda(&d);
	look_at_opencl(&d);
	look_at_memory(&d);
	if (d.is_json) {
		json_t *all = json_pack("{s:O, s:b}", "findings", d.findings, "ok", !d.n_bad);

		json_dumpf(all, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
		putchar('\n');
		json_decref(all);
	} else {
		puts(d.n_bad ? "Something is in the way: see the lines marked BAD."
			     : "Nothing is in the way.");
	}
	json_decref(d.findings);
	return d.n_bad ? SLU_CLI_TROUBLE : SLU_CLI_OK;
}
