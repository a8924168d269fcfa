/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The board's file: made, opened, checked, locked.
 *
 * A board is made whole under a name of its own and then linked to its path, so nobody ever sees
 * half a board, and of two processes that make it at once one wins and the other opens what the
 * winner made. On opening, the head must carry the right magic, version, size and checksum, and
 * the accounts must be possible; anything else is refused and left as it is for somebody to look
 * at, because a board that is thrown away while others have it mapped would be two boards. One of
 * another version that nobody holds a lock on has been left by programs that are gone: it is
 * replaced.
 *
 * Fork: a child inherits descriptors, and with them the locks that say "this process lives". So
 * every handle is in a list, and the child closes all of them before it does anything else. The
 * mutexes it begins anew: threads that may have held them are not in the child.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/util.h"
#include "board/clock.h"
#include "board/layout.h"

#define OPEN_PATIENCE_NS (10 * SLU_NS_PER_S)

static pthread_mutex_t boards_mutex = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(, dev_board) boards = LIST_HEAD_INITIALIZER(boards);
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	pthread_mutex_lock(&boards_mutex);
}

static void after_fork_in_parent(void)
{
	pthread_mutex_unlock(&boards_mutex);
}

static void after_fork_in_child(void)
{
	struct dev_board *board;

	LIST_FOREACH (board, &boards, link) {
		if (board->fd >= 0)
			close(board->fd);
		if (board->badge_fd >= 0)
			close(board->badge_fd);
		board->fd = board->badge_fd = -1;
		board->slot = -1;
		dev_board_lock_init(board);
	}
	pthread_mutex_unlock(&boards_mutex);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static uint64_t board_checksum(const struct board_head *head)
{
	const uint8_t *p = (const uint8_t *)head;
	uint64_t sum = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < offsetof(struct board_head, checksum); i++)
		sum = (sum ^ p[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static int map_file(int fd, struct board_file **ret_file)
{
	void *p = mmap(NULL, sizeof(struct board_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return slu_error(-errno);
	*ret_file = p;
	return 0;
}

static int fill_new(int fd, const struct dev_board_identity *identity)
{
	struct board_file *file = NULL;
	int r;

	/* with its pages, so that a full /dev/shm is an error here and not a SIGBUS later */
	r = slu_fd_may_hold(sizeof(*file));
	if (!r)
		r = -posix_fallocate(fd, 0, sizeof(*file));
	if (r)
		return slu_error(r);
	r = map_file(fd, &file);
	if (r)
		return slu_fold(r);
	file->head.magic = BOARD_MAGIC;
	file->head.version = BOARD_VERSION;
	file->head.file_bytes = sizeof(*file);
	file->head.identity = *identity;
	file->head.identity.name[sizeof(identity->name) - 1] = '\0';
	file->head.checksum = board_checksum(&file->head);
	munmap(file, sizeof(*file));
	return 0;
}

/* Return: 0, also when somebody else was quicker. */
static int board_create(const char *path, const struct dev_board_identity *identity)
{
	slu_cleanup(slu_freep) char *temporary = NULL;
	slu_cleanup(slu_closep) int fd = -1;
	int r;

	if (asprintf(&temporary, "%s.XXXXXX", path) < 0) {
		temporary = NULL;
		return slu_error(-ENOMEM);
	}
	fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return slu_error(-errno);
	r = fill_new(fd, identity);
	if (!r && link(temporary, path) < 0 && errno != EEXIST)
		r = slu_error(-errno);
	unlink(temporary);
	return r;
}

static int check_head(const struct board_head *head, uint64_t file_bytes)
{
	if (head->magic != BOARD_MAGIC)
		return slu_error(-EBADMSG);
	if (head->version != BOARD_VERSION)
		return slu_error(-EPROTONOSUPPORT);
	if (head->file_bytes != sizeof(struct board_file) || file_bytes != head->file_bytes ||
	    head->checksum != board_checksum(head) || !head->identity.capacity_bytes)
		return slu_error(-EBADMSG);
	return 0;
}

static int check_accounts(struct dev_board *board, uint64_t patience_ns)
{
	int r = 0;

	/* a holder that was stopped may keep it for ever */
	if (!dev_board_lock_within(board, patience_ns))
		return slu_error(-EBUSY);
	if (!dev_board_accounts_are_sane(board->file))
		r = slu_error(-EBADMSG);
	dev_board_unlock(board);
	return r;
}

/* Maps and checks; the descriptor that will carry locks comes later. */
static int open_existing(struct dev_board *board)
{
	slu_cleanup(slu_closep) int fd = -1;
	struct board_head head;
	struct board_file *file = NULL;
	struct stat st;
	ssize_t n;
	int r;

	fd = open(board->path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? DEV_BOARD_E_ABSENT : slu_error(-errno);
	if (fstat(fd, &st) < 0)
		return slu_error(-errno);
	n = S_ISREG(st.st_mode) ? pread(fd, &head, sizeof(head), 0) : 0;
	if (n < 0)
		return slu_error(-errno);
	if ((size_t)n < sizeof(head))
		return slu_error(-EBADMSG);
	r = check_head(&head, (uint64_t)st.st_size);
	if (r)
		return slu_fold(r);
	r = map_file(fd, &file);
	if (r)
		return slu_fold(r);
	board->file = file;
	board->device = st.st_dev;
	board->inode = st.st_ino;
	return 0;
}

/*
 * Removes a board of another version that no process and no arbiter has. Whoever replaces it holds
 * its flock, so that of two who do this at once the second one sees that it is another file now.
 *
 * Return: 0 when the path is free or has another file, else -EPROTONOSUPPORT.
 */
static int remove_foreign(const char *path)
{
	struct flock any = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	slu_cleanup(slu_closep) int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat ours, there;

	if (fd < 0)
		return errno == ENOENT ? 0 : slu_error(-errno);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fcntl(fd, F_OFD_GETLK, &any) < 0 ||
	    any.l_type != F_UNLCK)
		return slu_error(-EPROTONOSUPPORT);
	if (fstat(fd, &ours) < 0 || stat(path, &there) < 0)
		return errno == ENOENT ? 0 : slu_error(-errno);
	if (ours.st_dev == there.st_dev && ours.st_ino == there.st_ino && unlink(path) < 0)
		return slu_error(-errno);
	return 0;
}

static void board_forget(struct dev_board *board)
{
	pthread_mutex_lock(&boards_mutex);
	if (board->is_listed)
		LIST_REMOVE(board, link);
	pthread_mutex_unlock(&boards_mutex);
	if (board->fd >= 0)
		close(board->fd);
	if (board->file)
		munmap(board->file, sizeof(*board->file));
	dev_board_lock_deinit(board);
	free(board->path);
	free(board);
}

static int board_new(const char *path, struct dev_board **ret_board)
{
	struct dev_board *board;
	int r;

	pthread_once(&fork_once, watch_forks);
	board = calloc(1, sizeof(*board));
	if (!board)
		return slu_error(-ENOMEM);
	board->fd = board->badge_fd = -1;
	board->slot = -1;
	r = dev_board_lock_init(board);
	if (r) {
		free(board);
		return slu_error(r);
	}
	board->path = strdup(path);
	r = board->path ? dev_board_clock_ahead(&board->ahead_ns) : slu_error(-ENOMEM);
	if (r) {
		board_forget(board);
		return slu_fold(r);
	}
	*ret_board = board;
	return 0;
}

int dev_board_open(const char *path, const struct dev_board_identity *identity,
		   struct dev_board **ret_board)
{
	struct dev_board *board;
	int r;

	if (identity && !identity->capacity_bytes)
		return slu_error(-EINVAL);
	r = board_new(path, &board);
	if (r)
		return slu_fold(r);
	r = open_existing(board);
	if (r == -EPROTONOSUPPORT && identity) {
		r = remove_foreign(path);
		if (!r)
			r = open_existing(board);
	}
	if (r == DEV_BOARD_E_ABSENT && identity) {
		r = board_create(path, identity);
		if (!r)
			r = open_existing(board);
	}
	if (!r)
		r = dev_board_reopen_locked(board); /* nobody else knows this handle yet */
	if (!r)
		r = check_accounts(board, OPEN_PATIENCE_NS);
	if (r) {
		board_forget(board);
		return slu_fold(r);
	}
	*ret_board = board;
	return 0;
}

int dev_board_open_to_look(const char *path, const uint8_t uuid[16], struct dev_board **ret_board)
{
	struct dev_board *board;
	int r;

	r = board_new(path, &board);
	if (r)
		return slu_fold(r);
	r = open_existing(board);
	if (!r && memcmp(dev_board_identity(board)->uuid, uuid, 16) != 0)
		r = DEV_BOARD_E_ABSENT;
	if (!r)
		r = dev_board_reopen_locked(board);
	if (!r)
		r = check_accounts(board, 0);
	if (r == -EBUSY)
		r = 0;
	if (r) {
		board_forget(board);
		return r;
	}
	*ret_board = board;
	return 0;
}

void dev_board_close(struct dev_board *board)
{
	if (!board)
		return;
	dev_board_detach(board);
	board_forget(board);
}

int dev_board_reopen_locked(struct dev_board *board)
{
	struct stat st;
	int r = 0;

	if (board->fd >= 0)
		return 0;
	/*
	 * A fork between open() and the list would leave the child with a copy of the description
	 * that nobody closes, and this process's slot would outlive it.
	 */
	pthread_mutex_lock(&boards_mutex);
	board->fd = slu_fd_lift(open(board->path, O_RDWR | O_CLOEXEC));
	if (board->fd < 0 || fstat(board->fd, &st) < 0)
		r = slu_error(-errno);
	else if (st.st_dev != board->device || st.st_ino != board->inode)
		r = slu_error(-ESTALE);
	else
		r = dev_board_lock_key(board->fd, board);
	if (r && board->fd >= 0) {
		close(board->fd);
		board->fd = -1;
	}
	if (!r)
		board->namespace = dev_board_badge_namespace();
	if (!r && !board->is_listed) {
		LIST_INSERT_HEAD(&boards, board, link);
		board->is_listed = true;
	}
	pthread_mutex_unlock(&boards_mutex);
	return r;
}

const struct dev_board_identity *dev_board_identity(const struct dev_board *board)
{
	return &board->file->head.identity;
}

int dev_board_fd(const struct dev_board *board)
{
	return board->fd;
}

void *dev_board_user(struct dev_board *board)
{
	return board->file->user;
}

void dev_board_user_lock(struct dev_board *board)
{
	dev_board_lock(board);
}

void dev_board_user_unlock(struct dev_board *board)
{
	dev_board_unlock(board);
}

int dev_board_folder(char *ret_path, size_t size)
{
	const char *given = secure_getenv("SLUICE_BOARDS");
	char path[PATH_MAX];
	struct stat st;
	int n;

	if (given && *given)
		n = snprintf(path, sizeof(path), "%s", given);
	else
		n = snprintf(path, sizeof(path), "/dev/shm/sluice-%u", (unsigned)geteuid());
	if (n < 0 || (size_t)n >= sizeof(path) || (size_t)n >= size)
		return slu_error(-ENAMETOOLONG);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return slu_error(-errno);
	/* the default lies where everybody may write: nobody else may have put it there */
	if (lstat(path, &st) < 0)
		return slu_error(-errno);
	if (!(given && *given) && (!S_ISDIR(st.st_mode) || st.st_uid != geteuid()))
		return slu_error(-EPERM);
	memcpy(ret_path, path, (size_t)n + 1);
	return 0;
}
