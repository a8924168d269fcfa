/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/answer.h"

#include <stdarg.h>
#include <stdio.h>

#include "daemon/text.h"

void slu_answer_no(struct slu_answer *answer, int status, const char *hint, const char *format, ...)
{
	char words[SLU_ANSWER_WORDS_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(words, sizeof(words), format, ap);
	va_end(ap);
	slu_text_clean(words);
	answer->status = (uint32_t)status;
	slu_answer_with(answer, json_pack("{s:s, s:s*}", "error", words, "hint", hint));
}

void slu_answer_say(struct slu_answer *answer, const char *words)
{
	json_object_set_new(answer->reply, "message", json_string(words));
}

void slu_answer_with(struct slu_answer *answer, json_t *reply)
{
	json_decref(answer->reply);
	answer->reply = reply;
}
