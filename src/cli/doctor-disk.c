/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where bytes go that do not fit in host memory. The daemon knows its settings; if none runs, this
 * looks at the folder that one would choose by default.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/size.h"
#include "cli/ask.h"
#include "cli/doctor.h"
#include "cli/reply.h"
#include "wire/path.h"

#define THEN                                                                           \
	"Set disk_folder in [memory] of sluiced.conf(5) to a folder on disk, or disk " \
	"to off."

static void say(struct slu_doctor *d, const char *folder, const char *filesystem,
		uint64_t free_bytes, uint64_t max_bytes, uint64_t used_bytes)
{
	char size[SLU_SIZE_STRING_MAX], max[SLU_SIZE_STRING_MAX];
	bool is_short = max_bytes > used_bytes && max_bytes - used_bytes > free_bytes;

	slu_size_format(size, free_bytes);
	slu_size_format(max, max_bytes);
	slu_doctor_say(d, is_short ? SLU_VERDICT_NOTE : SLU_VERDICT_FINE, "disk",
		       is_short ? "Free some space there, or lower disk_max in [memory] of "
				  "sluiced.conf(5)."
				: NULL,
		       "bytes that do not fit in host memory go to %s (%s, %s free)%s%s%s", folder,
		       filesystem, size, max_bytes ? ", at most " : "", max_bytes ? max : "",
		       is_short ? ", and so much is not free there" : "");
}

static void look_at_answer(struct slu_doctor *d, const json_t *backing)
{
	const char *folder = slu_reply_text(backing, "disk_folder");
	const char *reason = slu_reply_text(backing, "disk_reason");

	if (*folder)
		say(d, folder, slu_reply_text(backing, "disk_filesystem"),
		    slu_reply_number(backing, "disk_free_bytes"),
		    slu_reply_number(backing, "disk_max_bytes"),
		    slu_reply_number(backing, "disk_bytes"));
	else if (strstr(reason, " is off"))
		slu_doctor_say(d, SLU_VERDICT_NOTE, "disk", NULL, "the disk is not used: %s",
			       reason);
	else
		slu_doctor_say(d, SLU_VERDICT_BAD, "disk", THEN, "nothing can go to disk: %s",
			       reason);
}

static void look_at_usual(struct slu_doctor *d)
{
	enum slu_path_mode mode = d->where.is_system ? SLU_PATH_SYSTEM : SLU_PATH_USER;
	struct slu_filesystem fs;
	char folder[PATH_MAX];

	for (unsigned i = 0; i < 2; i++)
		if (!slu_path_disk(mode, i, folder, sizeof(folder)) &&
		    !slu_filesystem_look(folder, &fs) && !access(folder, W_OK | X_OK) &&
		    !slu_filesystem_fault(&fs, false)) {
			say(d, folder, fs.name, fs.free_bytes, 0, 0);
			return;
		}
	slu_doctor_say(d, SLU_VERDICT_NOTE, "disk", THEN,
		       "nothing can go to disk: no folder on disk is yours to write");
}

void slu_doctor_disk(struct slu_doctor *d)
{
	struct slu_cli_peer peer;
	json_t *reply = NULL;

	if (slu_cli_try(&d->where, json_pack("{s:s}", "verb", "status"), &peer, &reply))
		look_at_usual(d);
	else
		look_at_answer(d, json_object_get(reply, "backing"));
	json_decref(reply);
}
