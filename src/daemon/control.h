/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests of commands: JSON, answered in a passed memory file (docs/control.md). A user sees and
 * controls their own programs; the masters of a system daemon (root and the group sluice) all of
 * them.
 */

#include <jansson.h>
#include <stdbool.h>

#include "wire/message.h"

struct slu_device;
struct slu_program;
struct slu_server;
struct slu_session;

/* The user who asks, and what they may see. */
struct slu_control_view {
	struct slu_server *server;
	uid_t uid;
	pid_t pid; /* of the process that asks, if it can be seen */
	bool is_master;
};

/* Answers, if only with an error. Return: 0, or -errno: close the session. */
int slu_control_answer(struct slu_session *session, const struct slu_msg_ask *ask);

bool slu_control_may_see(const struct slu_control_view *view, uid_t uid);

/* Return: a new object, or NULL for lack of memory. */
json_t *slu_status_make(const struct slu_control_view *view);
/* The expected turns of a device. */
json_t *slu_status_timeline(const struct slu_control_view *view, const struct slu_device *device,
			    uint64_t now_ns);
/* A program of the group that uses the device; or NULL. */
const struct slu_program *slu_status_member(const struct slu_control_view *view, uint64_t group,
					    const struct slu_device *device);
json_t *slu_history_make(const struct slu_control_view *view, size_t last);
/* @program: the settings in force for programs of this name; NULL: all settings. */
json_t *slu_settings_make(const struct slu_control_view *view, const char *program);
