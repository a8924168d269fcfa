/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `sluice run` becomes the program, so it cannot see for itself whether the front ends really got
 * in. Somebody else looks: a process that is no child of the program (nothing for it to wait for),
 * ends with it, and speaks up on its stderr only if a person should know:
 *
 *   LOOKING  -> ANSWERED  the program, or a child of it, has joined the daemon: all is well
 *   LOOKING  -> ANSWERED  one of them uses a GPU without us, did not reach the daemon or was
 *                         refused: the reason is told once
 *   LOOKING  -> (gone)    the program has ended; the daemon remembers whether it had joined
 *   ANSWERED -> (gone)    the program has ended
 *
 * At the end the daemon is asked whether it had refused the program, which may have been too short
 * to be looked at, and whether the program was denied memory; the reason and the way out are told
 * once. ANSWERED sleeps until then.
 *
 * Looks become rarer the longer nothing happens. Where the program must join, so must its children:
 * the looking goes on when one of them has, and whoever is refused, uses a GPU without us or did
 * not reach the daemon is ended.
 */

#include <stdbool.h>
#include <stdint.h>

struct slu_watch {
	const char *name;   /* of the program, as it was called */
	const char *socket; /* the daemon's */
	const char *group;  /* SLUICE_GROUP of this run */
	bool must_join;	    /* one that is refused, or goes without us, is ended (SIGTERM) */
	bool is_verbose;    /* good news are told too */
};

/* To be called right before exec. A watcher that cannot start is done without. */
void slu_watch_start(const struct slu_watch *watch);
