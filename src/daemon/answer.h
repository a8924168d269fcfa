/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answer to a command: @reply gets the result, or the error and what to do. The verbs write it,
 * control.c sends it.
 */

#include "daemon/control.h"

#define SLU_ANSWER_WORDS_MAX 1100

struct slu_answer {
	struct slu_control_view view;
	const json_t *request;
	json_t *reply;
	uint32_t status; /* 0, or an errno */
};

/* Answers with an error. @hint: what to do about it, or NULL. */
void slu_answer_no(struct slu_answer *answer, int status, const char *hint, const char *format, ...)
	__attribute__((__format__(__printf__, 4, 5)));

/* A sentence for people. */
void slu_answer_say(struct slu_answer *answer, const char *words);

/* @reply, taken over, is the answer. */
void slu_answer_with(struct slu_answer *answer, json_t *reply);

struct slu_program;

/* verb-steer.c: whether the user means @program, by a name, a pid or a group, and may steer it. */
bool slu_verb_means(const struct slu_answer *answer, const struct slu_program *program,
		    const char *who);

/* verb-suspend.c: adds "suspended" to the reply: those of them that the driver suspended. */
void slu_verb_list_suspended(struct slu_answer *answer, const char *who);

/* One function for each request; control.c checks the permission before. */
#define SLU_VERB_LOCAL(name)
#define SLU_VERB_DAEMON(name)			      void slu_verb_##name(struct slu_answer *answer);
#define SLU_COMMAND(name, rank, asks, users, summary) SLU_VERB_##asks(name)
#define SLU_REQUEST(name, users)		      SLU_VERB_DAEMON(name)
#include "wire/commands.def"
#undef SLU_COMMAND
#undef SLU_REQUEST
#undef SLU_VERB_LOCAL
#undef SLU_VERB_DAEMON
