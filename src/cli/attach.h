/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether our front ends are in a process, seen from outside: what it has mapped, and with which
 * environment it was started. A process that has a driver of a GPU mapped and not the front end
 * that belongs to it uses the device behind our back, if it can also be seen why: from its
 * environment, its OpenCL loader and the files that it sees. Otherwise it may only be slow.
 *
 * A front end that is in it may yet not have reached the daemon. The client library says so itself,
 * by the name of a thread, when it has given up and lets its program use the device.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct slu_install;

enum slu_attach {
	SLU_ATTACH_NOTHING, /* it uses no GPU, or not yet */
	SLU_ATTACH_INSIDE,  /* our client library is in it */
	SLU_ATTACH_ALONE,   /* our client library is in it and found no daemon */
	SLU_ATTACH_BESIDE,  /* it uses one without us */
	SLU_ATTACH_HIDDEN,  /* we may not look */
};

struct slu_attach_view {
	enum slu_attach state;
	const char *api;  /* BESIDE: "OpenCL" or "CUDA" */
	const char *why;  /* BESIDE, explained ALONE: in words, as the end of a sentence */
	const char *then; /* the same: what to do */
	char name[32];
	bool has_layer;	 /* our OpenCL layer is mapped */
	bool has_helper; /* it has used a device through us */
};

void slu_attach_look(pid_t pid, const struct slu_install *install,
		     struct slu_attach_view *ret_view);

/* Of one that is ALONE: why it did not reach the daemon at @socket, into @view. */
void slu_attach_explain_alone(pid_t pid, const char *socket, struct slu_attach_view *view);

/* What the process calls itself; "?" where that cannot be seen. */
void slu_attach_name(pid_t pid, char *ret_name, size_t size);

/* @pid and its descendants into @ret_pids. Return: how many, at most @max. */
size_t slu_attach_family(pid_t pid, pid_t *ret_pids, size_t max);
