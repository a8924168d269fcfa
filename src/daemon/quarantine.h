/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Closes the sockets of peers. One with unread packets that have files is not closed by the
 * daemon's thread, because that may take as long as the sender likes (wire/channel.h):
 *
 *   (open) -> closed                          [slu_quarantine_close]   it has no files
 *   (open) -> HELD                            [slu_quarantine_close]   it has
 *   HELD   -> with a child, then closed here  [timer, or many are HELD]
 *
 *  HELD: counts as a connection of its user, where it was one.
 *
 * The child inherits the sockets and exits: the kernel does not linger for a process that ends. If
 * it waits all the same, for a file system in user space perhaps, only the child waits. While too
 * many children wait, the sockets stay HELD.
 */

#include <systemd/sd-event.h>

#include "daemon/limits.h"

struct slu_quarantine;

int slu_quarantine_new(sd_event *event, struct slu_quarantine **ret_quarantine);

/* Gives back all charges. The sockets are closed with the process. */
void slu_quarantine_free(struct slu_quarantine *quarantine);

/* Closes @fd, or holds it together with @charge (may be empty), which is empty then. */
void slu_quarantine_close(struct slu_quarantine *quarantine, int fd, struct slu_charge *charge);
