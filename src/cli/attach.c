/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/attach.h"
#include "cli/install.h"
#include "wire/message.h"

#define LAYERS "OPENCL_LAYERS"

/* Parts of the names of OpenCL drivers; the loader alone proves nothing, many programs map it. */
static const char *const opencl_drivers[] = {
	"libpocl",	 "libnvidia-opencl", "libamdocl", "libigdrcl",
	"libMesaOpenCL", "libRusticlOpenCL", "libmali",
};

static void closefilep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static FILE *open_of(pid_t pid, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return fopen(path, "re");
}

struct mapped {
	bool opencl_driver, opencl_layer, cuda_driver, cuda_shim, client;
	char opencl_loader[PATH_MAX]; /* empty: none with such a name */
};

static void note(const char *path, const struct slu_install *install, struct mapped *m)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	m->client |= !strncmp(base, "libsluice-client.so", 19);
	m->opencl_layer |= !strcmp(path, install->opencl);
	if (!strncmp(base, "libcuda.so", 10)) {
		m->cuda_shim |= !strcmp(path, install->cuda);
		m->cuda_driver |= strcmp(path, install->cuda) != 0;
	}
	for (size_t i = 0; i < SLU_ARRAY_SIZE(opencl_drivers); i++)
		m->opencl_driver |= strstr(base, opencl_drivers[i]) != NULL;
	/* libraries from wheels have a number in their names */
	if (!strncmp(base, "libOpenCL", 9))
		snprintf(m->opencl_loader, sizeof(m->opencl_loader), "%s", path);
}

/*
 * A file that was replaced since, for example by an update, is still mapped; the kernel marks it.
 */
static void end_path(char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strcspn(path, "\n");

	path[length] = '\0';
	if (length > strlen(mark) && !strcmp(path + length - strlen(mark), mark))
		path[length - strlen(mark)] = '\0';
}

/* Return: 0, or -errno if we may not read its maps. */
static int look_at_maps(pid_t pid, const struct slu_install *install, struct mapped *ret_mapped)
{
	slu_cleanup(closefilep) FILE *f = open_of(pid, "maps");
	slu_cleanup(slu_freep) char *line = NULL;
	size_t size = 0;

	if (!f)
		return -errno;
	while (getline(&line, &size, f) > 0) {
		char *path = strchr(line, '/');

		if (!path)
			continue;
		end_path(path);
		note(path, install, ret_mapped);
	}
	return ferror(f) ? -EACCES : 0;
}

enum kept { KEPT, REPLACED, CLEARED };

/* Whether our entry in a list of libraries reached the process. */
static enum kept variable_of(pid_t pid, const char *name, const char *ours)
{
	slu_cleanup(closefilep) FILE *f = open_of(pid, "environ");
	slu_cleanup(slu_freep) char *entry = NULL;
	size_t size = 0, length = strlen(name);

	/* do not blame what we cannot read */
	if (!f)
		return KEPT;
	while (getdelim(&entry, &size, '\0', f) > 0)
		if (!strncmp(entry, name, length) && entry[length] == '=')
			return strstr(entry + length, ours) ? KEPT : REPLACED;
	return CLEARED;
}

static void name_in(pid_t pid, const char *file, char *ret_name, size_t size)
{
	slu_cleanup(closefilep) FILE *f = open_of(pid, file);

	if (!f || !fgets(ret_name, (int)size, f))
		snprintf(ret_name, size, "?");
	ret_name[strcspn(ret_name, "\n")] = '\0';
}

void slu_attach_name(pid_t pid, char *ret_name, size_t size)
{
	name_in(pid, "comm", ret_name, size);
}

/*
 * Whether the loader asks for layers: then its file contains the variable's name. The file is the
 * one that the process sees; a file that we cannot read is not blamed.
 */
static bool loader_knows_layers(pid_t pid, const char *loader)
{
	slu_cleanup(slu_closep) int fd = -1;
	char path[PATH_MAX + 32];
	struct stat st;
	bool is_there;
	void *text;

	/* a program that is statically linked with its loader contains it */
	snprintf(path, sizeof(path), *loader ? "/proc/%d/root%s" : "/proc/%d/exe", (int)pid,
		 loader);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return true;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (text == MAP_FAILED)
		return true;
	is_there = memmem(text, (size_t)st.st_size, LAYERS, strlen(LAYERS)) != NULL;
	munmap(text, (size_t)st.st_size);
	return is_there;
}

static bool sees_file(pid_t pid, const char *file)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, file);
	return !access(path, R_OK) || errno != ENOENT;
}

/*
 * Names of threads are readable even if maps and environment are not, as for another user's
 * process.
 */
static void look_at_threads(pid_t pid, bool *ret_has_helper, bool *ret_is_alone)
{
	char folder[64], file[64], name[32];
	struct dirent **entries;
	int n;

	*ret_has_helper = *ret_is_alone = false;
	snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
	n = scandir(folder, &entries, NULL, NULL);
	for (int i = 0; i < n; i++) {
		if (isdigit((unsigned char)entries[i]->d_name[0])) {
			snprintf(file, sizeof(file), "task/%d/comm", atoi(entries[i]->d_name));
			name_in(pid, file, name, sizeof(name));
			*ret_is_alone |= !strcmp(name, SLU_WIRE_HELPER_ALONE);
			*ret_has_helper |= *ret_is_alone || !strcmp(name, SLU_WIRE_HELPER);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static void blame(struct slu_attach_view *view, const char *api, const char *why, const char *then)
{
	view->state = SLU_ATTACH_BESIDE;
	view->api = api;
	view->why = why;
	view->then = then;
}

/* Return: whether the environment is to blame. */
static bool blame_environment(struct slu_attach_view *view, pid_t pid, const char *api,
			      const char *variable, const char *ours, const char *if_replaced)
{
	static const char then[] =
		"Start that program itself with 'sluice run', behind what changes it.";

	switch (variable_of(pid, variable, ours)) {
	case CLEARED:
		blame(view, api,
		      "its environment was cleared on the way (env -i, sudo, a container?)", then);
		return true;
	case REPLACED:
		blame(view, api, if_replaced, then);
		return true;
	default:
		return false;
	}
}

/*
 * The loader loads drivers first and layers later, with any time in between (a busy machine, a
 * debugger): a missing layer is blamed only on causes that will never change.
 */
static void explain_opencl(pid_t pid, const struct slu_install *install, const struct mapped *m,
			   struct slu_attach_view *view)
{
	if (blame_environment(view, pid, "OpenCL", LAYERS, install->opencl,
			      LAYERS " was set anew on the way, without our layer"))
		return;
	if (!loader_knows_layers(pid, m->opencl_loader))
		blame(view, "OpenCL",
		      *m->opencl_loader ? "its OpenCL loader knows no layers"
					: "it calls its OpenCL driver without a loader",
		      "Let it use the system's loader: on Debian ocl-icd-libopencl1 2.3 or "
		      "newer.");
	else if (!sees_file(pid, install->opencl))
		blame(view, "OpenCL", "our library is not in the files that it sees (a container?)",
		      "Show it the folder of Sluice's libraries under the same name.");
}

static void explain_cuda(pid_t pid, const struct slu_install *install, struct slu_attach_view *view)
{
	if (!blame_environment(view, pid, "CUDA", "LD_PRELOAD", install->cuda,
			       "LD_PRELOAD was set anew on the way, without our library"))
		blame(view, "CUDA",
		      "its loader left our library out (set-uid, or a file with capabilities?)",
		      "Take the privilege away from it, or let it run unmanaged.");
}

/* Whether the process sees the same file under that name as we do. */
static bool sees_the_same(pid_t pid, const char *file)
{
	char path[PATH_MAX + 32];
	struct stat ours, its;

	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, file);
	if (stat(file, &ours))
		return true;
	if (stat(path, &its))
		return errno != ENOENT && errno != ENOTDIR;
	return ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

static bool is_of_another_user(pid_t pid)
{
	slu_cleanup(closefilep) FILE *f = open_of(pid, "status");
	char line[128];
	unsigned uid;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %*u %u", &uid) == 1)
			return uid != geteuid();
	return false;
}

void slu_attach_explain_alone(pid_t pid, const char *socket, struct slu_attach_view *view)
{
	if (variable_of(pid, "SLUICE_SOCKET", socket) != KEPT) {
		view->why = "SLUICE_SOCKET was changed on the way";
		view->then = "Start that program itself with 'sluice run', behind what changes it.";
	} else if (!sees_the_same(pid, socket)) {
		view->why = "that socket is not in the files that it sees (a mount, a container?)";
		view->then = "Show it the socket's folder under the same name.";
	} else if (is_of_another_user(pid)) {
		view->why = "it runs as another user (sudo, setpriv?)";
		view->then = "Start 'sluice run' as that user, or let both share the system's "
			     "daemon: 'sluice run --system'.";
	} else {
		view->why = "nobody answered it in time";
		view->then = "'sluice doctor' looks at the daemon.";
	}
}

void slu_attach_look(pid_t pid, const struct slu_install *install, struct slu_attach_view *ret_view)
{
	struct slu_attach_view view = { 0 };
	struct mapped m = { 0 };
	bool is_alone;

	slu_attach_name(pid, view.name, sizeof(view.name));
	look_at_threads(pid, &view.has_helper, &is_alone);
	if (look_at_maps(pid, install, &m)) {
		view.state = is_alone ? SLU_ATTACH_ALONE : SLU_ATTACH_HIDDEN;
	} else if (m.opencl_driver && !m.opencl_layer) {
		explain_opencl(pid, install, &m, &view);
	} else if (m.cuda_driver && !m.cuda_shim) {
		explain_cuda(pid, install, &view);
	} else if (m.client) {
		view.state = is_alone ? SLU_ATTACH_ALONE : SLU_ATTACH_INSIDE;
	}
	view.has_layer = m.opencl_layer;
	*ret_view = view;
}

static pid_t parent_of(pid_t pid)
{
	slu_cleanup(closefilep) FILE *f = open_of(pid, "stat");
	char line[512];
	const char *end;
	int parent;

	if (!f || !fgets(line, sizeof(line), f))
		return 0;
	/* the name in brackets may contain anything */
	end = strrchr(line, ')');
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool has(const pid_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Children mostly have larger numbers than their parents, so one pass finds nearly all of them. */
size_t slu_attach_family(pid_t pid, pid_t *ret_pids, size_t max)
{
	struct dirent **entries;
	size_t found = 0;
	int n = scandir("/proc", &entries, NULL, versionsort);

	if (max)
		ret_pids[found++] = pid;
	for (int i = 0; i < n; i++) {
		pid_t other = isdigit((unsigned char)entries[i]->d_name[0])
				      ? (pid_t)atoi(entries[i]->d_name)
				      : 0;

		if (other && other != pid && found < max && has(ret_pids, found, parent_of(other)))
			ret_pids[found++] = other;
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return found;
}
