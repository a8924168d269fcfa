/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a daemon of this user could start: it creates its socket in the run-time folder and its
 * roster in the state folder, and needs the state folder for itself. Checked if no daemon answers;
 * leaves nothing behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/flock.h"
#include "cli/doctor.h"
#include "wire/path.h"

/* The last existing folder of @path; the daemon creates the next one. */
static void find_existing(char *path)
{
	struct stat there;

	while (stat(path, &there) && errno == ENOENT) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			return;
		*slash = '\0';
	}
}

/* Return: 0, or -errno of writing @bytes there. */
static int try_writing(const char *folder, off_t bytes)
{
	slu_cleanup(slu_closep) int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0)
		return -posix_fallocate(fd, 0, bytes);
	/* some file systems have no files without a name */
	if (errno == EOPNOTSUPP || errno == EISDIR)
		return access(folder, W_OK | X_OK) ? -errno : 0;
	return -errno;
}

/* Return: whether @folder can be written to; if not, the reason has been printed. */
static bool look_at_folder(struct slu_doctor *d, const char *what, const char *variable,
			   const char *folder, off_t bytes)
{
	char existing[PATH_MAX], then[128];
	int r;

	snprintf(existing, sizeof(existing), "%s", folder);
	find_existing(existing);
	r = try_writing(existing, bytes);
	if (!r)
		return true;
	snprintf(then, sizeof(then), "%s, or set %s to another folder: no daemon starts like this.",
		 r == -ENOSPC || r == -EDQUOT ? "Free some space there" : "Make it yours to write",
		 variable);
	slu_doctor_say(d, SLU_VERDICT_BAD, "folders", then, "the %s folder %s cannot be used: %s",
		       what, existing, strerror(-r));
	return false;
}

/*
 * The roster shows which daemon uses the state folder, without our lock, which could keep one out.
 * A daemon starts with a roster that it does not understand, but not without a file.
 */
static bool look_at_roster(struct slu_doctor *d, const char *state)
{
	slu_cleanup(slu_closep) int fd = -1;
	char path[PATH_MAX], then[96];
	struct stat there;
	pid_t pid;

	if (snprintf(path, sizeof(path), "%s/roster", state) >= (int)sizeof(path))
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return true;
	if (fd < 0 || fstat(fd, &there) || !S_ISREG(there.st_mode)) {
		slu_doctor_say(d, SLU_VERDICT_BAD, "folders",
			       "Remove it: no daemon starts like this.",
			       "%s, where the daemon keeps its roster, cannot be used: %s", path,
			       fd < 0 ? strerror(errno) : "not a file");
		return false;
	}
	if (slu_flock_holder(fd, &pid))
		return true;
	snprintf(then, sizeof(then), "End it ('kill %d'), or set SLUICE_STATE to another folder.",
		 (int)pid);
	slu_doctor_say(
		d, SLU_VERDICT_BAD, "folders", then,
		"another daemon (pid %d) uses the state folder %s, and serves another socket",
		(int)pid, state);
	return false;
}

/* Whether no daemon is there, not even one that is stopped or refuses us. */
static bool is_free(const struct slu_cli_where *where)
{
	struct slu_cli_peer peer;
	int r = slu_cli_ping(where, &peer);

	return r && r != -ETIMEDOUT && !peer.refusal[0];
}

void slu_doctor_folders(struct slu_doctor *d)
{
	char socket[PATH_MAX], state[PATH_MAX], *slash;
	bool is_fine;

	/* only root may look at the system's folders, and a folder that was named is not created */
	if (d->where.is_system || d->where.socket || !is_free(&d->where) ||
	    slu_path_socket(SLU_PATH_USER, false, socket, sizeof(socket)) ||
	    slu_path_state(SLU_PATH_USER, false, state, sizeof(state)))
		return;
	slash = strrchr(socket, '/');
	if (slash)
		*slash = '\0';
	is_fine = look_at_folder(d, "run-time", "XDG_RUNTIME_DIR", slash ? socket : ".", 1);
	is_fine &= look_at_folder(d, "state", "SLUICE_STATE", state, SLU_PATH_ROSTER_BYTES);
	is_fine &= look_at_roster(d, state);
	if (is_fine)
		slu_doctor_say(d, SLU_VERDICT_FINE, "folders", NULL, "a daemon can use %s and %s",
			       slash ? socket : ".", state);
}
