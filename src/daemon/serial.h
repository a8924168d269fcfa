/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The daemon's part of the setting vmm_serial: the word of WELCOME, and the files (wire/serial.h).
 */

#include "wire/message.h"
#include "wire/serial.h"

/* @word: of the settings. */
enum slu_serial slu_serial_of(const char *word);

/*
 * Creates the missing files for the devices of @hello next to the socket that @fd is connected to.
 * Users who can reach the socket may lock them: with @is_system all users, else the owner alone. A
 * program whose file is missing does not wait.
 */
void slu_serial_offer(int fd, const struct slu_msg_hello *hello, bool is_system);

/*
 * Removes the file of a device, when the daemon ends. Programs open it for each call, and without a
 * daemon not at all; the next daemon creates it again when they come back.
 */
void slu_serial_withdraw(int fd, const uint8_t uuid[16]);

/* Removes the files that a daemon at @socket_path left when it was killed. */
void slu_serial_clean(const char *socket_path);
