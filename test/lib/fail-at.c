/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fails an operation of the host's in the program that it is preloaded into: a test that runs with
 * 1, 2, 3, … until none was met has failed each of them once. Only operations that Sluice's own
 * libraries ask for count; the program and its driver have all the memory and disk that they want.
 *
 *   FAIL_AT=KIND:N   the N-th operation of that kind in this process:
 *                      memory   malloc, calloc, realloc, mmap
 *                      disk     opening, allocating, writing, reading and syncing a file without
 *                               a name
 *                      thread   pthread_create
 *   FAIL_LOG=PATH    gets a line when it was met
 *   FAIL_IN=NAME     only in a process of that name
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

/* glibc's own, for whoever stands in front of them */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static unsigned long n_operations;
static __thread bool is_looking; /* to ask about a caller may allocate */

static bool is_ours(const void *caller)
{
	const char *name;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	return !strncmp(name, "libsluice-", 10) && strcmp(name, "libsluice-limiter.so");
}

static void tell(const char *order)
{
	const char *path = getenv("FAIL_LOG");
	FILE *f = path ? fopen(path, "ae") : NULL;

	if (!f)
		return;
	fprintf(f, "%s\n", order);
	fclose(f);
}

static bool fails(const char *kind, const void *caller)
{
	const char *order = getenv("FAIL_AT"), *in = getenv("FAIL_IN");
	size_t length = strlen(kind);
	bool is_met = false;

	if (is_looking || !order || strncmp(order, kind, length) || order[length] != ':' ||
	    (in && strcmp(in, program_invocation_short_name)))
		return false;
	is_looking = true;
	if (is_ours(caller))
		is_met = __atomic_add_fetch(&n_operations, 1, __ATOMIC_SEQ_CST) ==
			 strtoul(order + length + 1, NULL, 10);
	if (is_met)
		tell(order);
	is_looking = false;
	return is_met;
}

#define FAILS(kind) fails(kind, __builtin_return_address(0))

/* -- memory ------------------------------------------------------------------------------------ */

void *malloc(size_t size)
{
	if (!FAILS("memory"))
		return __libc_malloc(size);
	errno = ENOMEM;
	return NULL;
}

void *calloc(size_t n, size_t size)
{
	if (!FAILS("memory"))
		return __libc_calloc(n, size);
	errno = ENOMEM;
	return NULL;
}

void *realloc(void *p, size_t size)
{
	if (!FAILS("memory"))
		return __libc_realloc(p, size);
	errno = ENOMEM;
	return NULL;
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
{
	if (!FAILS("memory"))
		return NEXT(mmap64)(at, size, protection, flags, fd, offset);
	errno = ENOMEM;
	return MAP_FAILED;
}

/* -- disk -------------------------------------------------------------------------------------- */

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list rest;

	if (flags & (O_CREAT | __O_TMPFILE)) {
		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	if ((flags & __O_TMPFILE) && FAILS("disk")) {
		errno = ENOSPC;
		return -1;
	}
	return NEXT(open64)(path, flags, mode);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t bytes)
{
	if (!FAILS("disk"))
		return NEXT(fallocate64)(fd, mode, offset, bytes);
	errno = ENOSPC;
	return -1;
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset)
{
	if (!FAILS("disk"))
		return NEXT(pwrite64)(fd, data, bytes, offset);
	errno = EIO;
	return -1;
}

ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset)
{
	if (!FAILS("disk"))
		return NEXT(pread64)(fd, data, bytes, offset);
	errno = EIO;
	return -1;
}

int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned flags)
{
	if (!FAILS("disk"))
		return NEXT(sync_file_range)(fd, offset, bytes, flags);
	errno = EIO;
	return -1;
}

/* -- threads ----------------------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
		   void *data)
{
	if (!FAILS("thread"))
		return NEXT(pthread_create)(thread, attributes, run, data);
	return EAGAIN;
}
