/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The roster outlives the daemon (protocol rule 32). It is a small mapped file with the generation
 * and a line for each client: its process and the most that it may hold. A raise is written here
 * before it is sent, so after a kill -9 the file is never more optimistic than the truth, and a new
 * daemon makes an orphan of each line whose process still lives.
 *
 * A store to the mapping survives the process that made it, so nothing is synced. The clients do
 * not survive a machine that goes down, so lines of another boot are void.
 *
 * Torn lines: every line has two copies, each with a number and a checksum. A put overwrites the
 * older copy and sets its number last; a reader takes the newest copy that is whole. A daemon
 * killed in the middle of a put therefore leaves the line as it was before, and the raise that the
 * put was for has not been sent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/message.h"

#define SLU_ROSTER_LINES_MAX 1024

struct slu_roster_device {
	uint8_t uuid[16];
	char pci[16];
	char name[48];
	uint64_t total_bytes;
	uint64_t charge_bytes;
};

struct slu_roster_line {
	pid_t pid; /* 0: the line is free */
	uid_t uid;
	uint64_t start;	     /* of the process, see process.h */
	uint64_t group;	     /* as the core knows it */
	uint64_t wire_group; /* as HELLO had it */
	char name[SLU_WIRE_NAME_MAX];
	uint64_t pinned_bytes;
	uint64_t backing_bytes;
	uint64_t disk_bytes;
	uint32_t n_devices;
	uint32_t is_split; /* from the others of wire_group */
	uint16_t is_parked;
	uint16_t suspension; /* enum slu_suspension */
	pid_t helper;	     /* the client's thread in it; 0: not known */
	struct slu_roster_device devices[SLU_WIRE_DEVICES_MAX];
};

enum {
	_SLU_ROSTER_E_SUCCESS,
	SLU_ROSTER_E_HELD, /* another daemon has this file */
	SLU_ROSTER_E_FULL, /* no line is free */
};

struct slu_roster;

/*
 * Opens @path, or creates a new one if there is none or if its contents are damaged (*ret_was_bad).
 * The generation is one more than before; a new roster begins with @fresh, which should be larger
 * than any before (microseconds of the wall clock are).
 *
 * Return: 0, SLU_ROSTER_E_HELD with the holder (or 0), or -errno.
 */
int slu_roster_open(const char *path, uint64_t fresh, struct slu_roster **ret_roster,
		    bool *ret_was_bad, pid_t *ret_holder);

/* Removes the file if it has no lines. */
void slu_roster_close(struct slu_roster *roster);

uint64_t slu_roster_generation(const struct slu_roster *roster);

/* Writes a line. *slot is its place, or -1: then a free one is taken. Return: 0, or FULL. */
int slu_roster_put(struct slu_roster *roster, int *slot, const struct slu_roster_line *line);
void slu_roster_drop(struct slu_roster *roster, int slot);

/* Return: whether @slot has a line; then it is in *ret_line. */
bool slu_roster_get(const struct slu_roster *roster, int slot, struct slu_roster_line *ret_line);
unsigned slu_roster_n_lines(const struct slu_roster *roster);
