/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status-devices.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "cli/reply.h"
#include "cli/terminal.h"
#include "wire/message.h"

#define BAR_LENGTH 20
#define BAR_MIN	   4
#define LABEL_MAX  (SLU_WIRE_NAME_MAX + 24)

/* The part of the device that is in use, in characters; outsiders are the last part of it. */
static void print_bar(FILE *out, size_t length, uint64_t used, uint64_t outside, uint64_t total)
{
	double a_byte = total ? (double)length / (double)total : 0;
	size_t n_used = (size_t)((double)used * a_byte + 0.5);
	size_t n_outside = (size_t)((double)outside * a_byte + 0.5);

	n_used = SLU_MIN(n_used, length);
	n_outside = SLU_MIN(n_outside, n_used);
	for (size_t i = 0; i < length; i++)
		fputs(i < n_used - n_outside ? "█" : i < n_used ? "▓" : "░", out);
}

/* The label of @name on a line without a column for the process. */
static const char *call(char buf[static LABEL_MAX], const json_t *programs, const char *name,
			uint64_t pid)
{
	if (!pid || !slu_reply_is_shared(programs, name, pid))
		return name;
	snprintf(buf, LABEL_MAX, "%s[%llu]", name, (unsigned long long)pid);
	return buf;
}

/* @has_twins: there are other devices, so the UUID is shown. */
static void print_device(FILE *out, const json_t *device, const json_t *programs, bool has_twins)
{
	char total[SLU_SIZE_STRING_MAX], used[SLU_SIZE_STRING_MAX], since[SLU_SIZE_STRING_MAX];
	const json_t *turn = json_object_get(device, "turn");
	const char *sharing = slu_reply_text(device, "sharing");
	bool has_turns = json_is_true(json_object_get(device, "has_turns"));
	char bytes[3 * SLU_SIZE_STRING_MAX + 40], now[256] = "", label[LABEL_MAX];
	uint64_t overhead = slu_reply_number(device, "overhead_bytes");
	uint64_t in_use = slu_reply_number(device, "used_bytes") + overhead;
	size_t width = slu_terminal_width(), bar = BAR_LENGTH;

	snprintf(bytes, sizeof(bytes), "  %s of %s", slu_size_format(used, in_use),
		 slu_size_format(total, slu_reply_number(device, "total_bytes")));
	if (overhead)
		snprintf(bytes + strlen(bytes), sizeof(bytes) - strlen(bytes),
			 " (%s contexts and drivers)", slu_size_format(used, overhead));
	if (has_turns && json_is_object(turn))
		snprintf(now, sizeof(now), "  turn: %s (%s)",
			 call(label, programs, slu_reply_text(turn, "name"),
			      slu_reply_number(turn, "pid")),
			 slu_size_format_time(since,
					      slu_reply_number(turn, "since_ms") * SLU_NS_PER_MS));
	if (*slu_reply_text(device, "next"))
		snprintf(now + strlen(now), sizeof(now) - strlen(now), "  next: %s",
			 call(label, programs, slu_reply_text(device, "next"),
			      slu_reply_number(device, "next_pid")));

	if (width && 2 + bar + strlen(bytes) > width)
		bar = SLU_MAX(slu_sub_floor(width, 2 + strlen(bytes)), (size_t)BAR_MIN);
	fprintf(out, "GPU %d  %s%s%s\n  ", (int)slu_reply_number(device, "index"),
		slu_reply_text(device, "name"), has_twins ? "  " : "",
		has_twins ? slu_reply_text(device, "uuid") : "");
	print_bar(out, bar, in_use, slu_reply_number(device, "outsider_bytes"),
		  slu_reply_number(device, "total_bytes"));
	fputs(bytes, out);
	if (width && 2 + bar + strlen(bytes) + slu_terminal_length(now) > width) {
		fputs("\n  ", out);
		slu_terminal_wrap(out, now + strspn(now, " "), slu_sub_floor(width, 2), 2);
		fputc('\n', out);
	} else {
		fprintf(out, "%s\n", now);
	}
	if (*sharing) {
		fputs("  ", out);
		slu_terminal_wrap(out, sharing, slu_sub_floor(width, 2), 2);
		fputc('\n', out);
	}
}

void slu_status_devices_print(FILE *out, const json_t *reply)
{
	const json_t *devices = json_object_get(reply, "devices"), *device;
	size_t i;

	json_array_foreach (devices, i, device)
		print_device(out, device, json_object_get(reply, "programs"),
			     json_array_size(devices) > 1);
}
