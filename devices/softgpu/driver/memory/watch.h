/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which pages of a shared mapping this process has touched, found out without signals and without
 * privileges: the kernel's page tables know it. A page whose entry is dropped keeps its bytes,
 * which are the file's, and gets a new entry by the next access, whoever makes it: the program, or
 * the kernel on its behalf in read(2). /proc/self/pagemap tells whether there is one.
 *
 *   TOUCHED ─drop─▶ UNTOUCHED ─any access of this process by this mapping─▶ TOUCHED
 *
 * What is seen is a little more than what was touched: after a read the kernel adds the entries of
 * the pages beside it that have bytes, up to 64 KiB together; after a write it does not. Whether a
 * page was read or written is not told. Where the page tables cannot be read, or memory is locked
 * so that entries stay, nothing counts as touched from then on.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Drops the entries of all pages that [@address, +@bytes) has a part in. */
void dev_watch_drop(uint64_t address, uint64_t bytes);

/* Whether anything at all was touched anew since *@count was last written here, or may have been:
 * says no in the usual case, at the price of one system call. */
bool dev_watch_has_news(uint64_t *count);

/* Of many pages in rising order, looks at some at a time; starts as { 0 }. */
struct dev_watch {
	uint64_t first; /* the number of the page that the first entry is of */
	size_t n;
	uint64_t entries[512];
};

bool dev_watch_is_touched(struct dev_watch *watch, uint64_t address);
