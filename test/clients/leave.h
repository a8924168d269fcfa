/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The ways in which a program may leave a device: with work queued, by a child that ends or becomes
 * another program, or by giving everything up while it is in use. What an API has of its own is in
 * the table; the kernels that are queued add to every word its number.
 */

#include <stdbool.h>
#include <stdint.h>

#define LEAVE_BUFFERS  4
#define LEAVE_LAUNCHES 20 /* kernels a buffer, each time */

struct leave_calls {
	const char *usage;

	/* Makes LEAVE_BUFFERS buffers of @bytes together, all zero, and what belongs to them.
	 * @is_given_up: tear_down() will follow, so nothing of it may be the process's only one. */
	void (*set_up)(uint64_t bytes, bool is_given_up);
	/* Queues LEAVE_LAUNCHES kernels for each of them. */
	void (*queue)(void);
	/* The words of buffer @i, once all that was queued is done; valid until the next call. */
	const uint32_t *(*read)(unsigned i, uint32_t *ret_n_words);
	/* Gives all of it up, also with kernels queued. */
	void (*tear_down)(void);
	/* How a child ends that has the driver from its parent: exit or _exit. */
	void (*end_child)(int status);
};

/* Return: the exit status. */
int leave_main(int argc, char **argv, const struct leave_calls *calls);

#define LEAVE_USAGE                                                                               \
	"HOW: exit     return from main with kernels queued\n"                                    \
	"     quit     the same by _exit\n"                                                       \
	"     fork     a child ends, another one becomes a program, meanwhile and afterwards it " \
	"works\n"                                                                                 \
	"     exec     says 'queued', and at the next line becomes a program without a device\n"  \
	"     exec-again  the same, and becomes this program with 'exit'\n"                       \
	"     destroy  all is made, filled and given up with kernels queued\n"                    \
	"\n"                                                                                      \
	"  -m, --mib N     MiB on the device (default 1)\n"                                       \
	"  -r, --rounds N  how often (default 3)\n"                                               \
	"  -w, --wait      destroy: says when its kernels are queued, gives up at the next line " \
	"of standard input and prints from when to when it did, in ns of the monotonic clock\n"   \
	"  -h, --help\n"                                                                          \
	"\n"
