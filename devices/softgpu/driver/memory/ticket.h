/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Descriptors that name something: small sealed files, which programs hand to each other as they
 * hand any descriptor. They keep nothing alive.
 */

#include <stddef.h>

/* Return: 0 with a descriptor that is closed on exec, -errno. */
int dev_ticket_write(const void *ticket, size_t bytes, int *ret_fd);

/* Return: 0, -EINVAL where @fd is no such file or has another size. */
int dev_ticket_read(int fd, size_t bytes, void *ret_ticket);
