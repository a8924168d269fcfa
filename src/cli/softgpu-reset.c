/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice softgpu reset`: removes the software GPUs of this user: their boards and their memory. A
 * device that is used or managed stays, and is named. A device that cannot be read (made by another
 * version, damaged) is of no use to any program, and is removed.
 */

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/reply.h"
#include "cli/softgpu.h"

/* Return: 0 if no process holds it, otherwise the exit code after an error message. */
static int check_unused(unsigned index, const char *path)
{
	static struct dev_board_view view;
	struct dev_board *board;
	int r = dev_board_open(path, NULL, &board);

	if (r)
		return 0;
	r = dev_board_look(board, &view);
	if (r || view.n_slots) {
		if (r)
			slu_cli_complain("Try again in a moment.", "GPU %u is locked by somebody.",
					 index);
		else
			slu_cli_complain("End it first.", "GPU %u is used by %s (pid %d)%s.", index,
					 view.slots[0].program, (int)view.slots[0].pid,
					 view.n_slots > 1 ? " and others" : "");
		r = SLU_CLI_REFUSED;
	} else if (flock(dev_board_fd(board), LOCK_EX | LOCK_NB)) {
		slu_cli_complain("Stop the daemon first; your own one leaves when it is unused.",
				 "GPU %u is managed by a daemon.", index);
		r = SLU_CLI_REFUSED;
	}
	dev_board_close(board);
	return r;
}

/* The folder next to the board: the device's memory and the driver's files. */
static int remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!folder)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    unlinkat(dirfd(folder), entry->d_name, 0))
			r = -errno;
	closedir(folder);
	if (!r && rmdir(path))
		r = -errno;
	return r;
}

/* "GPU 0, 1 and 3" */
static void name_devices(const json_t *list, char *ret_text, size_t size)
{
	size_t i, n = json_array_size(list), used;
	const json_t *index;

	used = (size_t)snprintf(ret_text, size, "GPU ");
	json_array_foreach (list, i, index)
		used += (size_t)snprintf(ret_text + used, size - used, "%s%d",
					 i == 0	      ? ""
					 : i + 1 == n ? " and "
						      : ", ",
					 (int)json_integer_value(index));
}

/* Kept devices have been reported already. */
static void tell(const json_t *removed, const json_t *kept)
{
	char names[64], folder[PATH_MAX];

	if (json_array_size(removed)) {
		name_devices(removed, names, sizeof(names));
		printf("Removed %s with %s memory. The next program makes a new device.\n", names,
		       json_array_size(removed) > 1 ? "their" : "its");
	} else if (!json_array_size(kept) && !dev_board_folder(folder, sizeof(folder))) {
		printf("There is no software GPU in %s: nothing to remove.\n", folder);
	}
}

/* Return: the exit code after an error message; *ret_was_there: it was removed, or should be. */
static int reset(unsigned index, bool *ret_was_there)
{
	char path[PATH_MAX], folder[PATH_MAX + 8];
	int r = slu_softgpu_path(index, path);

	snprintf(folder, sizeof(folder), "%s.files", path);
	*ret_was_there = r || !access(path, F_OK) || !access(folder, F_OK);
	if (!*ret_was_there)
		return 0;
	if (!r) {
		r = check_unused(index, path);
		if (r)
			return r;
		/* first the board: a new program makes a device of its own */
		r = unlink(path) && errno != ENOENT ? -errno : remove_folder(folder);
	}
	if (r) {
		slu_cli_complain(NULL, "cannot remove GPU %u: %s.", index, strerror(-r));
		return SLU_CLI_FAILED;
	}
	return 0;
}

static int run(int argc, char **argv)
{
	json_t *removed = json_array(), *kept = json_array(), *answer;
	int result = SLU_CLI_OK;
	bool is_json = false;

	slu_cli_parse(&slu_softgpu_reset, argc, argv, &is_json);
	for (unsigned index = 0; index < SLU_SOFTGPU_DEVICES_MAX; index++) {
		bool was_there;
		int r = reset(index, &was_there);

		if (r)
			result = r;
		if (was_there)
			json_array_append_new(r ? kept : removed, json_integer(index));
	}
	answer = json_pack("{s:o, s:o}", "removed", removed, "kept", kept);
	if (is_json)
		slu_reply_print(answer, false);
	else
		tell(removed, kept);
	json_decref(answer);
	return result;
}

const struct slu_cli_verb slu_softgpu_reset = {
	.options = slu_softgpu_json_options,
	.doc = "Remove the software GPUs that nobody uses.\v"
	       "For example: sluice softgpu reset --json",
	.run = run,
};
