/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The devices that clients brought, each found on this machine by its UUID and locked: exactly one
 * daemon manages a device. The lock is a flock on a file that every daemon can find,
 *
 *   BOARD   the board file of a stand-in device
 *   NODE    the device's node: /dev/nvidia0, /dev/dri/renderD128. It tells one card from another,
 *           whatever UUID programs name
 *   NONE    no file: a device that has neither, such as a processor seen through OpenCL. A private
 *           daemon takes it unlocked; a system daemon refuses it, because a program could have
 *           invented it
 *
 * and is held while the device has users. Anybody who can open the file can lock it, so a system
 * daemon, which exists once, goes on without the lock. A device without users keeps its number, by
 * which history knows it, until all numbers are in use: then a new device gets the number of the
 * one that has been free for longest and has no board or node any more.
 *
 *   FREE -> USED   [slu_devices_acquire]   locked; n_users > 0
 *   USED -> FREE   [slu_devices_release]   the last user has departed; unlocked
 *   FREE -> gone   [slu_devices_acquire]   another device has its number now
 *
 * The daemon opens no GPU context. It learns from the board how many bytes outsiders hold; on a
 * card, from refusals (protocol rules 13 to 17).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/message.h"

#define SLU_DEVICES_MAX		  64
#define SLU_DEVICES_OUTSIDERS_MAX 64

struct dev_board;
struct slu_core;

enum slu_device_kind { SLU_DEVICE_NONE, SLU_DEVICE_BOARD, SLU_DEVICE_NODE };

struct slu_device_outsider {
	pid_t pid;
	char name[32];
	uint64_t bytes;
};

struct slu_device {
	unsigned number; /* of the core, and our place */
	unsigned index;	 /* the one that people know it by (order.h) */
	uint8_t uuid[16];
	char pci[16];
	char name[48];
	uint64_t total_bytes;
	uint64_t usable_bytes;
	bool is_sized; /* NODE: the system tells its size; else the largest that a user names */
	enum slu_device_kind kind;
	char path[256]; /* what is locked; empty for NONE */
	unsigned n_users;
	uint64_t freed_n;	 /* a count of devices that became free: less is longer ago */
	int lock_fd;		 /* NODE, while it is used */
	struct dev_board *board; /* BOARD, also while it is free, for status */
	bool is_busy;		 /* … its lock was taken when the daemon last looked */

	uint64_t used_bytes;	 /* as the board last reported; 0 without a board */
	uint64_t overhead_bytes; /* … in addition, by contexts and drivers */
	struct slu_device_outsider outsiders[SLU_DEVICES_OUTSIDERS_MAX];
	unsigned n_outsiders;
};

struct slu_devices;

enum {
	_SLU_DEVICES_E_SUCCESS,
	SLU_DEVICES_E_REFUSED, /* *ret_status is the errno, ret_why the words */
};

/* @root: "", or in tests a folder in front of /proc and /dev. */
int slu_devices_new(struct slu_core *core, bool is_system, const char *root,
		    struct slu_devices **ret_devices);

/* Asserts that no device is used. */
void slu_devices_free(struct slu_devices *devices);

/* Sets the folder of boards for later devices; @folder may be empty. */
void slu_devices_configure(struct slu_devices *devices, const char *folder,
			   unsigned reserve_percent);

/* Return: 0 with a locked device, REFUSED, or -errno. */
int slu_devices_acquire(struct slu_devices *devices, uint64_t now_ns,
			const struct slu_hello_device *hello, struct slu_device **ret_device,
			int *ret_status, char *ret_why, size_t size);
void slu_devices_release(struct slu_devices *devices, struct slu_device *device);

unsigned slu_devices_n(const struct slu_devices *devices);
struct slu_device *slu_devices_get(struct slu_devices *devices, unsigned number);

/*
 * Whether it has no board or node and no user: its board was removed, or was never found, as with
 * programs that have another folder of boards than the daemon.
 */
bool slu_device_is_gone(const struct slu_device *device);

/*
 * Reads every board and passes on to the core the bytes of contexts, and those of outsiders: of
 * processes for which @is_client, which hears what each of them has, is false.
 */
void slu_devices_look(struct slu_devices *devices, uint64_t now_ns,
		      bool (*is_client)(void *data, const struct slu_device *device, pid_t pid,
					uint64_t bytes),
		      void *data);
