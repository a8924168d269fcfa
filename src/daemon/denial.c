/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"
#include "base/util.h"
#include "daemon/denial.h"
#include "daemon/program.h"
#include "daemon/server.h"

/* Devices give memory in pieces of this size; a program's request may be smaller. */
#define GRANULE_BYTES (2 * SLU_MIB)

/* A name that a shell takes as one plain word, and `set --program` as no pattern. */
static const char *word_for(const struct slu_program *program)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._+-@";
	const char *name = slu_program_section(program);

	return name[0] && name[0] != '-' && !name[strspn(name, plain)] ? name : "NAME";
}

/* Rounds up to a whole unit that `sluice set` accepts. */
static void print_enough(char *ret_text, size_t size, uint64_t bytes)
{
	uint64_t unit = bytes >> 30 ? UINT64_C(1) << 30 : UINT64_C(1) << 20;

	snprintf(ret_text, size, "%llu%c", (unsigned long long)((bytes + unit - 1) / unit),
		 unit >> 30 ? 'G' : 'M');
}

void slu_denial_excess(struct slu_program *program, uint64_t now_ns,
		       const struct slu_msg_excess *excess)
{
	char asked[SLU_SIZE_STRING_MAX], owned[SLU_SIZE_STRING_MAX], may[SLU_SIZE_STRING_MAX];
	char reason[192], hint[256], enough[SLU_SIZE_STRING_MAX];
	const char *word = word_for(program);
	struct slu_config_program own;
	struct slu_timeline_who who;

	/* history has few records, and other programs need some of them */
	if (program->excess_ns && now_ns < program->excess_ns + SLU_NS_PER_S)
		return;
	program->excess_ns = now_ns;
	slu_program_settings(program, &own);
	snprintf(reason, sizeof(reason),
		 "it asked for %s in addition to its %s, and may own %s "
		 "(memory.visible_memory%s)",
		 slu_size_format(asked, excess->asked_bytes),
		 slu_size_format(owned, excess->owned_bytes),
		 slu_size_format(may, excess->visible_bytes),
		 own.visible_bytes ? ""
		 : slu_config_may_map(&own)
			 ? " = auto: the device's size, and what memory.pinned can "
			   "take besides"
			 : " = auto: the device's size");
	print_enough(
		enough, sizeof(enough),
		slu_round_up(SLU_MIN(excess->asked_bytes, SLU_SERVER_BYTES_MAX), GRANULE_BYTES) +
			excess->owned_bytes);
	if (own.visible_bytes)
		snprintf(hint, sizeof(hint),
			 "Allow it at least %s ('sluice set --program %s visible_memory %s') and "
			 "start it again.",
			 enough, word, enough);
	else if (slu_config_may_map(&own))
		snprintf(hint, sizeof(hint),
			 "Let it use less, or give programs more pinned host memory, which the "
			 "device reaches slowly: 'sluice set memory.pinned SIZE', and start it "
			 "again.");
	else
		snprintf(hint, sizeof(hint),
			 "Let it use less, or keep a part of it in host memory, which is slower: "
			 "'sluice set --program %s allow_mapped auto', and start it again.",
			 word);
	slu_log(NOTICE, "program=%s pid=%d, out of memory: %s", program->name, (int)program->pid,
		reason);
	slu_program_who(program, &who);
	slu_timeline_denied(program->server->timeline, now_ns, &who, "memory", reason, hint);
}

void slu_denial_export(struct slu_program *program, uint64_t now_ns)
{
	static const char reason[] = "cuIpcGetMemHandle needs memory that does not move "
				     "(memory.exportable is off)";
	struct slu_timeline_who who;
	char hint[256];

	if (program->has_export)
		return;
	program->has_export = true;
	snprintf(hint, sizeof(hint),
		 "Let its memory stay on the device: 'sluice set --program %s exportable on', and "
		 "start it again.",
		 word_for(program));
	slu_log(NOTICE, "program=%s pid=%d, export refused: %s", program->name, (int)program->pid,
		reason);
	slu_program_who(program, &who);
	slu_timeline_denied(program->server->timeline, now_ns, &who, "export", reason, hint);
}

void slu_denial_deny(struct slu_program *program, uint64_t now_ns, const struct slu_msg_deny *deny,
		     const char *reason)
{
	struct slu_config_program own;
	struct slu_timeline_who who;
	char hint[256];

	slu_program_settings(program, &own);
	if (deny->account.tier != SLU_TIER_DEVICE)
		snprintf(hint, sizeof(hint),
			 "End programs that you do not need, or raise the budget that the reason "
			 "names with 'sluice set'.");
	else if (slu_config_may_map(&own))
		snprintf(
			hint, sizeof(hint),
			"End what else uses the device ('sluice status'), let it use less, or give "
			"programs more pinned memory: 'sluice set memory.pinned SIZE'.");
	else
		snprintf(
			hint, sizeof(hint),
			"End what else uses the device ('sluice status'), let it use less, or keep "
			"a part of it in host memory: 'sluice set --program %s allow_mapped auto', "
			"and start it again.",
			word_for(program));
	slu_program_who(program, &who);
	slu_timeline_denied(program->server->timeline, now_ns, &who, "memory", reason, hint);
}
