/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

/*
 * Hints of a program to Sluice. All of them are optional: Sluice finds out much by itself, and
 * without Sluice they do nothing. Nothing has to be linked (with glibc before 2.34: -ldl).
 *
 *   for (;;) {
 *           step();
 *           sluice_dead(scratch, scratch_bytes);
 *           sluice_iteration();
 *   }
 *
 * C from C89 on, and C++.
 */

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SLUICE_UNUSED __attribute__((__unused__))
#else
#define SLUICE_UNUSED
#endif

/* RTLD_DEFAULT is a null pointer; its name needs _GNU_SOURCE. */
#define SLUICE_FIND(pointer, name) (*(void **)(&(pointer)) = dlsym((void *)0, name))

/*
 * An iteration ends here: a step of training, a token, a frame. Call it where the least memory is
 * in use, on the thread that submits the work. A turn that is to end, ends here if it can wait so
 * long. From the first call on Sluice looks for no ends of iterations by itself.
 */
static SLUICE_UNUSED void sluice_iteration(void)
{
	void (*tell)(void) = 0;

	SLUICE_FIND(tell, "sluice_hint_iteration");
	if (tell)
		tell();
}

/*
 * Nobody will read the bytes at @address, device memory, before they are written again. If the
 * program loses its turn before it submits anything more, they are not copied, and are undefined
 * afterwards. What is submitted already may still use them. Tell it next to sluice_iteration(),
 * in front of it: with the next launch or copy the hint is void.
 *
 * A wrong hint loses these bytes, and no others.
 */
static SLUICE_UNUSED void sluice_dead(const void *address, size_t bytes)
{
	void (*tell)(const void *, size_t) = 0;

	SLUICE_FIND(tell, "sluice_hint_dead");
	if (tell)
		tell(address, bytes);
}

#undef SLUICE_FIND
#undef SLUICE_UNUSED

#ifdef __cplusplus
}
#endif

#endif
