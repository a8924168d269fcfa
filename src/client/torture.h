/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SLUICE_TORTURE: a daemon inside the process that evicts everything between two calls. The
 * functions need the client's lock.
 */

#include <stdbool.h>

#include "wire/message.h"

struct slu_torture;

/* @how: the value of SLUICE_TORTURE. Return: NULL without memory. */
struct slu_torture *slu_torture_new(const char *how);

/* The peer sends @m to it. */
void slu_torture_say(struct slu_torture *torture, const struct slu_message *m);

/* A call went through: takes the turn away behind it. */
void slu_torture_turn(struct slu_torture *torture, unsigned device);

/* Return: 1 with its next message, 0 when it has none. */
int slu_torture_take(struct slu_torture *torture, struct slu_message *ret_message);
