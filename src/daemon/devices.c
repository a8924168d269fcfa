/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/flock.h"
#include "base/log.h"
#include "base/util.h"
#include "board/board.h"
#include "core/core.h"
#include "daemon/devices.h"
#include "daemon/node.h"
#include "daemon/order.h"
#include "daemon/process.h"
#include "daemon/text.h"

#define LOOK_NS	  (2 * SLU_NS_PER_MS)
#define MANAGED	  "%s is managed by %s already. Join that daemon%s, or end it first%s."
#define TOTAL_MAX (UINT64_C(1) << 46) /* 64 TiB: larger is no device */

struct slu_devices {
	struct slu_core *core;
	bool is_system;
	char root[256];
	char folder[256];
	unsigned reserve_percent;
	struct slu_device *list[SLU_DEVICES_MAX];
	unsigned n;
	uint64_t n_freed;	    /* how often a last user has gone */
	struct dev_board_view view; /* large, so not on the stack */
};

int slu_devices_new(struct slu_core *core, bool is_system, const char *root,
		    struct slu_devices **ret_devices)
{
	struct slu_devices *devices = calloc(1, sizeof(*devices));

	if (!devices)
		return slu_error(-ENOMEM);
	devices->core = core;
	devices->is_system = is_system;
	snprintf(devices->root, sizeof(devices->root), "%s", root);
	*ret_devices = devices;
	return 0;
}

static void forget_board(struct slu_device *device)
{
	dev_board_close(device->board);
	device->board = NULL;
	device->used_bytes = device->overhead_bytes = 0;
	device->n_outsiders = 0;
}

void slu_devices_free(struct slu_devices *devices)
{
	if (!devices)
		return;
	for (unsigned i = 0; i < devices->n; i++) {
		assert(!devices->list[i]->n_users);
		if (devices->list[i]->board)
			forget_board(devices->list[i]);
		free(devices->list[i]);
	}
	free(devices);
}

void slu_devices_configure(struct slu_devices *devices, const char *folder,
			   unsigned reserve_percent)
{
	snprintf(devices->folder, sizeof(devices->folder), "%s", folder);
	devices->reserve_percent = reserve_percent;
}

static int find_folder(const struct slu_devices *devices, char ret_folder[static PATH_MAX])
{
	if (!devices->folder[0])
		return slu_fold(dev_board_folder(ret_folder, PATH_MAX));
	snprintf(ret_folder, PATH_MAX, "%s", devices->folder);
	return 0;
}

/* Return: the board of @uuid with its path, or NULL. */
static struct dev_board *find_board(struct slu_devices *devices, const uint8_t uuid[16],
				    char *ret_path, size_t size)
{
	char folder[PATH_MAX];
	struct dev_board *found = NULL;
	struct dirent *entry;
	DIR *dir;

	if (find_folder(devices, folder))
		return NULL;
	dir = opendir(folder);
	while (dir && !found && (entry = readdir(dir))) {
		struct stat st;

		if (snprintf(ret_path, size, "%s/%s", folder, entry->d_name) >= (int)size ||
		    lstat(ret_path, &st) < 0 || !S_ISREG(st.st_mode) ||
		    dev_board_open_to_look(ret_path, uuid, &found))
			found = NULL;
	}
	if (dir)
		closedir(dir);
	return found;
}

/*
 * Return: 0 if the daemon has the lock now, otherwise REFUSED with the name of the holder. Any user
 * who can open the file can lock it: a system daemon logs this and goes on.
 */
static int device_lock(const struct slu_devices *devices, int fd, const char *name, int *ret_status,
		       char *ret_why, size_t size)
{
	char who[96] = "another daemon", end[32] = "", path[108], join[160] = "";
	pid_t pid;

	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return slu_error(-errno);
	if (!slu_flock_holder(fd, &pid)) {
		slu_process_describe(pid, who, sizeof(who));
		snprintf(end, sizeof(end), " ('kill %d')", (int)pid);
		if (!slu_process_socket(pid, path, sizeof(path)))
			snprintf(join, sizeof(join), " ('--socket %s')", path);
	}
	if (devices->is_system) {
		slu_log(WARNING, "%s is locked by %s, ignoring", name, who);
		return 0;
	}
	*ret_status = EBUSY;
	/* leave the path out rather than cut it */
	if (snprintf(ret_why, size, MANAGED, name, who, join, end) >= (int)size)
		snprintf(ret_why, size, MANAGED, name, who, "", end);
	return SLU_DEVICES_E_REFUSED;
}

static bool board_is_current(const struct slu_device *device)
{
	struct stat ours, named;

	return fstat(dev_board_fd(device->board), &ours) == 0 && stat(device->path, &named) == 0 &&
	       ours.st_ino == named.st_ino && ours.st_dev == named.st_dev;
}

/*
 * Finds the board or node of the device and locks it. On success @device has kind, path and the
 * open board or node.
 */
static int device_claim(struct slu_devices *devices, struct slu_device *device,
			const struct slu_hello_device *hello, int *ret_status, char *ret_why,
			size_t size)
{
	int r;

	if (device->board && !board_is_current(device))
		forget_board(device);
	if (!device->board)
		device->board =
			find_board(devices, hello->uuid, device->path, sizeof(device->path));
	if (device->board) {
		const struct dev_board_identity *identity = dev_board_identity(device->board);

		/* the board decides, not its first user */
		snprintf(device->name, sizeof(device->name), "%.*s",
			 (int)sizeof(identity->name) - 1, identity->name);
		slu_text_clean(device->name);
		device->kind = SLU_DEVICE_BOARD;
		device->total_bytes = identity->capacity_bytes;
		return slu_fold(device_lock(devices, dev_board_fd(device->board), device->name,
					    ret_status, ret_why, size));
	}

	if (slu_node_find(devices->root, hello->uuid, hello->pci, device->path,
			  sizeof(device->path)) == 0) {
		uint64_t known_bytes = slu_node_total_bytes(devices->root, hello->pci);
		slu_cleanup(slu_closep) int fd = open(device->path, O_RDONLY | O_CLOEXEC);

		if (fd < 0) {
			*ret_status = errno;
			snprintf(ret_why, size, "%s cannot be locked: %s: %s.", device->name,
				 device->path, strerror(errno));
			return SLU_DEVICES_E_REFUSED;
		}
		r = device_lock(devices, fd, device->name, ret_status, ret_why, size);
		if (r)
			return slu_fold(r);
		device->kind = SLU_DEVICE_NODE;
		device->is_sized = known_bytes != 0;
		device->total_bytes = known_bytes ? known_bytes : hello->total_bytes;
		device->lock_fd = slu_steal_fd(&fd);
		return 0;
	}

	device->path[0] = '\0';
	device->kind = SLU_DEVICE_NONE;
	if (devices->is_system) {
		*ret_status = ENODEV;
		snprintf(ret_why, size,
			 "%s is not a device that this daemon finds on the machine. Use a daemon "
			 "of your own: leave --system out.",
			 device->name);
		return SLU_DEVICES_E_REFUSED;
	}
	return 0;
}

static void device_unclaim(struct slu_device *device)
{
	if (device->board)
		flock(dev_board_fd(device->board), LOCK_UN);
	if (device->lock_fd >= 0)
		close(device->lock_fd);
	device->lock_fd = -1;
}

bool slu_device_is_gone(const struct slu_device *device)
{
	return device->kind != SLU_DEVICE_NODE && !device->board && !device->n_users;
}

/* Return: the number to reuse, or -ENOSPC. */
static int find_oldest(const struct slu_devices *devices)
{
	const struct slu_device *oldest = NULL;

	for (unsigned i = 0; i < devices->n; i++) {
		const struct slu_device *device = devices->list[i];

		if (device->n_users || device->board || device->kind == SLU_DEVICE_NODE)
			continue;
		if (!oldest || device->freed_n < oldest->freed_n)
			oldest = device;
	}
	return oldest ? (int)oldest->number : slu_error(-ENOSPC);
}

static uint64_t device_divide(const struct slu_devices *devices, struct slu_device *device)
{
	uint64_t reserve_bytes = device->total_bytes / 100 * devices->reserve_percent;

	device->usable_bytes = device->total_bytes - reserve_bytes;
	return reserve_bytes;
}

/* Adds a new device to the core. Keeps nothing on failure. */
static int device_introduce(struct slu_devices *devices, uint64_t now_ns, struct slu_device *device)
{
	uint64_t reserve_bytes = device_divide(devices, device);
	int r;

	if (devices->n < SLU_DEVICES_MAX) {
		r = slu_core_device_add(devices->core, now_ns, device->name, device->usable_bytes,
					reserve_bytes);
		if (r < 0)
			return slu_fold(r);
		assert((unsigned)r == devices->n);
		devices->n++;
	} else {
		r = find_oldest(devices);
		if (r < 0)
			return slu_fold(r);
		slu_core_device_renew(devices->core, now_ns, (unsigned)r, device->name,
				      device->usable_bytes, reserve_bytes);
		free(devices->list[r]);
	}
	device->number = (unsigned)r;
	devices->list[r] = device;
	return 0;
}

static void devices_renumber(struct slu_devices *devices)
{
	char folder[PATH_MAX];

	slu_order_update(devices->root, find_folder(devices, folder) ? "" : folder, devices->list,
			 devices->n);
}

/*
 * A node identifies a card, whatever UUID a program reports for its address. Of several boards the
 * newest counts: a board made again with another size is another device.
 */
static struct slu_device *find_known(struct slu_devices *devices,
				     const struct slu_hello_device *hello)
{
	char path[sizeof(devices->list[0]->path)];
	bool has_node = !slu_node_find(devices->root, hello->uuid, hello->pci, path, sizeof(path));

	for (unsigned i = devices->n; i-- > 0;) {
		struct slu_device *device = devices->list[i];

		if (device->kind == SLU_DEVICE_NODE
			    ? has_node && !strcmp(device->path, path)
			    : !memcmp(device->uuid, hello->uuid, sizeof(device->uuid)))
			return device;
	}
	return NULL;
}

/*
 * If the system does not report the size of a card, programs do. The largest counts: too small a
 * size would reject programs that fit, and the driver's refusals correct one that is too large.
 */
static void device_size(struct slu_devices *devices, uint64_t now_ns, struct slu_device *device,
			uint64_t total_bytes)
{
	uint64_t reserve_bytes;

	if (device->kind != SLU_DEVICE_NODE || device->is_sized ||
	    total_bytes <= device->total_bytes)
		return;
	device->total_bytes = total_bytes;
	reserve_bytes = device_divide(devices, device);
	slu_core_device_resize(devices->core, now_ns, device->number, device->usable_bytes,
			       reserve_bytes);
}

/* An unused card gets its size from its next user or from the system. */
static void device_renew(struct slu_devices *devices, uint64_t now_ns, struct slu_device *device)
{
	uint64_t reserve_bytes = device_divide(devices, device);

	slu_core_device_renew(devices->core, now_ns, device->number, device->name,
			      device->usable_bytes, reserve_bytes);
}

static int claim_new(struct slu_devices *devices, uint64_t now_ns,
		     const struct slu_hello_device *hello, struct slu_device **ret_device,
		     int *ret_status, char *ret_why, size_t size)
{
	struct slu_device *device = calloc(1, sizeof(*device));
	int r;

	if (!device)
		return slu_error(-ENOMEM);
	memcpy(device->uuid, hello->uuid, sizeof(device->uuid));
	memcpy(device->pci, hello->pci, sizeof(device->pci));
	snprintf(device->name, sizeof(device->name), "%s", hello->name[0] ? hello->name : "GPU");
	device->total_bytes = hello->total_bytes;
	device->lock_fd = -1;
	r = device_claim(devices, device, hello, ret_status, ret_why, size);
	if (!r) {
		r = device_introduce(devices, now_ns, device);
		if (r == -ENOSPC) {
			*ret_status = ENOSPC;
			snprintf(ret_why, size,
				 "the daemon knows %u devices already, and each is in use or may "
				 "come back.",
				 devices->n);
			r = SLU_DEVICES_E_REFUSED;
		}
		if (r)
			device_unclaim(device);
		else
			devices_renumber(devices);
	}
	if (r) {
		if (device->board)
			dev_board_close(device->board);
		free(device);
		return slu_fold(r);
	}
	*ret_device = device;
	return 0;
}

int slu_devices_acquire(struct slu_devices *devices, uint64_t now_ns,
			const struct slu_hello_device *hello, struct slu_device **ret_device,
			int *ret_status, char *ret_why, size_t size)
{
	struct slu_device *device = find_known(devices, hello);
	int r;

	if (!hello->total_bytes || hello->total_bytes > TOTAL_MAX) {
		*ret_status = EINVAL;
		snprintf(ret_why, size, "%s has no size that a device can have.", hello->name);
		return SLU_DEVICES_E_REFUSED;
	}
	if (device && !device->n_users) {
		uint64_t total_bytes = device->total_bytes;

		r = device_claim(devices, device, hello, ret_status, ret_why, size);
		if (r)
			return slu_fold(r);
		if (device->kind == SLU_DEVICE_NODE) {
			device_renew(devices, now_ns, device);
		} else if (device->total_bytes != total_bytes) {
			device->total_bytes = total_bytes;
			device_unclaim(device);
			device = NULL;
		}
	}
	if (!device) {
		r = claim_new(devices, now_ns, hello, &device, ret_status, ret_why, size);
		if (r)
			return slu_fold(r);
	}
	device_size(devices, now_ns, device, hello->total_bytes);
	device->n_users++;
	*ret_device = device;
	return 0;
}

void slu_devices_release(struct slu_devices *devices, struct slu_device *device)
{
	assert(device->n_users);
	if (!--device->n_users) {
		device->freed_n = ++devices->n_freed;
		device_unclaim(device);
	}
}

unsigned slu_devices_n(const struct slu_devices *devices)
{
	return devices->n;
}

struct slu_device *slu_devices_get(struct slu_devices *devices, unsigned number)
{
	return number < devices->n ? devices->list[number] : NULL;
}

void slu_devices_look(struct slu_devices *devices, uint64_t now_ns,
		      bool (*is_client)(void *data, const struct slu_device *device, pid_t pid,
					uint64_t bytes),
		      void *data)
{
	struct dev_board_view *view = &devices->view;

	for (unsigned i = 0; i < devices->n; i++) {
		struct slu_device *device = devices->list[i];
		uint64_t sum = 0;

		if (device->board && !device->n_users && !board_is_current(device))
			forget_board(device);
		if (!device->board)
			continue;
		/* a process that keeps the lock makes all clients wait here, but only once */
		device->is_busy = dev_board_look_within(device->board,
							device->is_busy ? 0 : LOOK_NS, view) != 0;
		if (device->is_busy)
			continue;
		device->used_bytes = view->used_bytes;
		device->overhead_bytes = view->overhead_bytes;
		device->n_outsiders = 0;
		for (unsigned s = 0; s < view->n_slots; s++) {
			const struct dev_board_slot_view *slot = &view->slots[s];

			if (!slot->bytes || is_client(data, device, slot->pid, slot->bytes))
				continue;
			sum += slot->bytes;
			if (device->n_outsiders == SLU_DEVICES_OUTSIDERS_MAX)
				continue;
			device->outsiders[device->n_outsiders] = (struct slu_device_outsider){
				.pid = slot->pid,
				.bytes = slot->bytes,
			};
			memcpy(device->outsiders[device->n_outsiders++].name, slot->program,
			       sizeof(slot->program));
		}
		slu_core_outsiders(devices->core, now_ns, device->number, sum);
		slu_core_overhead(devices->core, now_ns, device->number, view->overhead_bytes);
	}
}
