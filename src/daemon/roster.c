/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/util.h"
#include "daemon/lockfile.h"
#include "daemon/roster.h"
#include "wire/path.h"

#define FORMAT 2

struct copy {
	_Atomic uint64_t number; /* 0: being written */
	uint64_t checksum;
	struct slu_roster_line line;
};

struct file {
	_Atomic uint64_t magic; /* set last, when a new file is complete */
	uint32_t format;
	uint32_t line_size;
	_Atomic uint64_t generation;
	char boot[40];
	struct copy lines[SLU_ROSTER_LINES_MAX][2];
};

_Static_assert(sizeof(struct file) <= SLU_PATH_ROSTER_BYTES, "doctor knows what it takes");

static const uint64_t magic_word = UINT64_C(0x31727473726c7573);

struct slu_roster {
	char *path;
	int fd; /* holds the lock */
	struct file *file;
	unsigned n_lines;
	int free; /* no slot before it is free */
};

static uint64_t copy_checksum(uint64_t number, const struct slu_roster_line *line)
{
	const unsigned char *bytes = (const unsigned char *)line;
	uint64_t sum = UINT64_C(0xcbf29ce484222325) ^ number;

	for (size_t i = 0; i < sizeof(*line); i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static bool copy_is_whole(const struct copy *copy)
{
	uint64_t number = atomic_load_explicit(&copy->number, memory_order_acquire);

	return number && copy->checksum == copy_checksum(number, &copy->line);
}

/* Return: the valid copy of the line, or -1 if none was ever written completely. */
static int line_newest(const struct copy copies[2])
{
	bool a = copy_is_whole(&copies[0]), b = copy_is_whole(&copies[1]);

	if (a && b)
		return copies[0].number > copies[1].number ? 0 : 1;
	return a ? 0 : b ? 1 : -1;
}

static void write_line(struct copy copies[2], const struct slu_roster_line *line)
{
	int old = line_newest(copies);
	struct copy *to = &copies[old == 0 ? 1 : 0];
	uint64_t number = old < 0 ? 1 : copies[old].number + 1;

	atomic_store_explicit(&to->number, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	to->line = *line;
	to->checksum = copy_checksum(number, &to->line);
	atomic_store_explicit(&to->number, number, memory_order_release);
}

static void read_boot(char *ret_boot, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	memset(ret_boot, 0, size);
	if (f) {
		if (!fgets(ret_boot, (int)size, f))
			ret_boot[0] = '\0';
		fclose(f);
	}
	ret_boot[strcspn(ret_boot, "\n")] = '\0';
}

static bool file_is_understood(const struct file *file)
{
	return file->magic == magic_word && file->format == FORMAT &&
	       file->line_size == sizeof(struct slu_roster_line) && file->generation;
}

static void roster_begin(struct file *file, const char *boot, uint64_t fresh)
{
	memset(file, 0, sizeof(*file));
	file->format = FORMAT;
	file->line_size = sizeof(struct slu_roster_line);
	file->generation = fresh;
	strcpy(file->boot, boot);
	atomic_store(&file->magic, magic_word);
}

/* We never write lines with unterminated names or counts that are too large. */
static bool line_is_sane(const struct slu_roster_line *line)
{
	if (line->pid <= 0 || line->n_devices > SLU_WIRE_DEVICES_MAX ||
	    !memchr(line->name, '\0', sizeof(line->name)))
		return false;
	for (unsigned d = 0; d < line->n_devices; d++)
		if (!memchr(line->devices[d].name, '\0', sizeof(line->devices[d].name)) ||
		    !memchr(line->devices[d].pci, '\0', sizeof(line->devices[d].pci)))
			return false;
	return true;
}

bool slu_roster_get(const struct slu_roster *roster, int slot, struct slu_roster_line *ret_line)
{
	const struct copy *copies;
	int i;

	if (slot < 0 || slot >= SLU_ROSTER_LINES_MAX)
		return false;
	copies = roster->file->lines[slot];
	i = line_newest(copies);
	if (i < 0 || !line_is_sane(&copies[i].line))
		return false;
	if (ret_line)
		*ret_line = copies[i].line;
	return true;
}

int slu_roster_open(const char *path, uint64_t fresh, struct slu_roster **ret_roster,
		    bool *ret_was_bad, pid_t *ret_holder)
{
	struct slu_roster *roster;
	char boot[sizeof(roster->file->boot)];
	bool is_new, is_bad;
	struct stat st;
	int r;

	roster = calloc(1, sizeof(*roster));
	if (!roster)
		return slu_error(-ENOMEM);
	roster->fd = -1;
	roster->file = MAP_FAILED;
	roster->path = strdup(path);
	if (!roster->path) {
		r = slu_error(-ENOMEM);
		goto fail;
	}
	r = slu_lockfile_take(path, &roster->fd, ret_holder);
	if (r == SLU_LOCKFILE_E_HELD)
		r = SLU_ROSTER_E_HELD;
	if (r)
		goto fail;
	if (fstat(roster->fd, &st) < 0) {
		r = slu_error(-errno);
		goto fail;
	}
	is_new = st.st_size == 0;
	if (st.st_size != sizeof(struct file) &&
	    (ftruncate(roster->fd, 0) < 0 || ftruncate(roster->fd, sizeof(struct file)) < 0)) {
		r = slu_error(-errno);
		goto fail;
	}
	/* without its pages a store could end in SIGBUS on a full file system */
	r = posix_fallocate(roster->fd, 0, sizeof(struct file));
	if (r) {
		r = slu_error(-r);
		goto fail;
	}
	roster->file =
		mmap(NULL, sizeof(struct file), PROT_READ | PROT_WRITE, MAP_SHARED, roster->fd, 0);
	if (roster->file == MAP_FAILED) {
		r = slu_error(-errno);
		goto fail;
	}

	read_boot(boot, sizeof(boot));
	is_bad = !file_is_understood(roster->file);
	if (is_bad)
		roster_begin(roster->file, boot, fresh);
	else
		atomic_fetch_add(&roster->file->generation, 1);
	if (memcmp(roster->file->boot, boot, sizeof(boot)) != 0) {
		memset(roster->file->lines, 0, sizeof(roster->file->lines));
		memcpy(roster->file->boot, boot, sizeof(boot));
	}
	for (int slot = 0; slot < SLU_ROSTER_LINES_MAX; slot++)
		roster->n_lines += slu_roster_get(roster, slot, NULL);
	*ret_was_bad = is_bad && !is_new;
	*ret_roster = roster;
	return 0;

fail:
	if (roster->fd >= 0)
		close(roster->fd);
	free(roster->path);
	free(roster);
	return r;
}

void slu_roster_close(struct slu_roster *roster)
{
	if (!roster)
		return;
	if (!roster->n_lines)
		unlink(roster->path);
	munmap(roster->file, sizeof(*roster->file));
	close(roster->fd);
	free(roster->path);
	free(roster);
}

uint64_t slu_roster_generation(const struct slu_roster *roster)
{
	return roster->file->generation;
}

unsigned slu_roster_n_lines(const struct slu_roster *roster)
{
	return roster->n_lines;
}

int slu_roster_put(struct slu_roster *roster, int *slot, const struct slu_roster_line *line)
{
	if (*slot < 0) {
		while (roster->free < SLU_ROSTER_LINES_MAX &&
		       slu_roster_get(roster, roster->free, NULL))
			roster->free++;
		if (roster->free == SLU_ROSTER_LINES_MAX)
			return SLU_ROSTER_E_FULL;
		*slot = roster->free++;
		roster->n_lines++;
	}
	write_line(roster->file->lines[*slot], line);
	return 0;
}

void slu_roster_drop(struct slu_roster *roster, int slot)
{
	static const struct slu_roster_line none;

	if (!slu_roster_get(roster, slot, NULL))
		return;
	write_line(roster->file->lines[slot], &none);
	roster->n_lines--;
	roster->free = SLU_MIN(roster->free, slot);
}
