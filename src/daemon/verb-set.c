/* SPDX-License-Identifier: Apache-2.0 */
/* A part of answer.h: the verb that changes a setting while the daemon runs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "daemon/answer.h"
#include "daemon/server.h"
#include "daemon/text.h"

struct search {
	const char *name;
	char section[SLU_WIRE_NAME_MAX + 16];
	enum slu_config_counts counts;
	struct slu_suggest suggest;
	char meant[64]; /* what the user may have meant, or empty */
};

static void match_name(void *data, const struct slu_config_view *view)
{
	struct search *search = data;

	slu_suggest_offer(&search->suggest, view->name);
	if (search->suggest.best == view->name)
		snprintf(search->meant, sizeof(search->meant), "%s", view->name);
	if (view->is_own || strcmp(view->name, search->name) != 0)
		return;
	if (!search->section[0])
		snprintf(search->section, sizeof(search->section), "%s", view->section);
	search->counts = view->counts;
}

/* "slice", "scheduler.slice" or "program ollama.chunk" -> section and name. */
static void split_setting(struct slu_server *server, const char *setting, struct search *ret)
{
	const char *dot = strrchr(setting, '.');

	*ret = (struct search){ .name = dot ? dot + 1 : setting };
	ret->suggest.word = ret->name;
	if (dot)
		snprintf(ret->section, sizeof(ret->section), "%.*s", (int)(dot - setting), setting);
	slu_config_each(&server->config, match_name, ret);
}

static void print_hint(const struct search *search, char *ret_hint, size_t size)
{
	bool is_known = !search->meant[0] || !strcmp(search->meant, search->name);

	snprintf(ret_hint, size, "%s%s%s'man sluiced.conf' lists the settings.",
		 is_known ? "" : "Did you mean '", is_known ? "" : search->meant,
		 is_known ? "" : "'? ");
}

void slu_verb_set(struct slu_answer *answer)
{
	static const char *const from_when[] = {
		[SLU_CONFIG_AT_ONCE] = "",
		[SLU_CONFIG_AT_DEVICE] = ", for devices that no program has used yet",
		[SLU_CONFIG_AT_JOIN] = ", for programs that start from now on",
	};
	const char *setting = json_string_value(json_object_get(answer->request, "setting"));
	const char *value = json_string_value(json_object_get(answer->request, "value"));
	struct slu_server *server = answer->view.server;
	char why[1024], words[SLU_ANSWER_WORDS_MAX], hint[160];
	struct slu_config config;
	struct search search;
	int r;

	if (!setting || !value) {
		slu_answer_no(answer, EINVAL, NULL, "expected \"setting\" and \"value\"");
		return;
	}
	split_setting(server, setting, &search);
	print_hint(&search, hint, sizeof(hint));
	if (!search.section[0]) {
		slu_answer_no(answer, EINVAL, hint, "there is no setting '%.64s'", setting);
		return;
	}
	if (slu_config_copy(&server->config, &config)) {
		slu_answer_no(answer, ENOMEM, NULL, "out of memory");
		return;
	}
	r = slu_config_set(&config, search.section, search.name, value, why, sizeof(why));
	if (!r && !strcmp(search.name, "disk_folder") &&
	    slu_server_settings_fault(&server->options, &config, why, sizeof(why)))
		r = SLU_CONFIG_E_WRONG;
	if (!r && slu_server_memory_fault(&config, search.name, why, sizeof(why)))
		r = SLU_CONFIG_E_WRONG;
	if (!r) {
		r = slu_server_apply(server, &config);
		if (r)
			snprintf(why, sizeof(why), "%s: the scheduler refuses it", search.name);
	}
	if (r) {
		slu_config_deinit(&config);
		slu_answer_no(answer, EINVAL, hint, "%s", why);
		return;
	}
	slu_log(NOTICE, "set [%s] %s = %s", search.section, search.name, value);
	snprintf(words, sizeof(words),
		 "[%s] %s = %s, until the daemon ends or reads its settings again%s.",
		 search.section, search.name, value, from_when[search.counts]);
	slu_text_clean(words);
	slu_answer_say(answer, words);
}
