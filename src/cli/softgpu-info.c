/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice softgpu info`: the software GPUs of this user, and the programs on them. */

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/util.h"
#include "base/uuid.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/reply.h"
#include "cli/softgpu.h"

static const char *const engine_names[_DEV_BOARD_ENGINE_MAX] = { "in", "out", "compute" };

static json_t *describe_engines(struct dev_board *board)
{
	json_t *engines = json_object();

	for (unsigned i = 0; i < _DEV_BOARD_ENGINE_MAX; i++) {
		struct dev_board_engine_view e;

		dev_board_look_engine(board, i, &e);
		json_object_set_new(engines, engine_names[i],
				    json_pack("{s:I, s:I, s:I}", "busy_ms",
					      (json_int_t)(e.busy_ns / SLU_NS_PER_MS), "jobs",
					      (json_int_t)e.n_jobs, "bytes", (json_int_t)e.bytes));
	}
	return engines;
}

static json_t *describe_programs(const struct dev_board_view *view)
{
	json_t *programs = json_array();

	for (unsigned i = 0; i < view->n_slots; i++)
		json_array_append_new(programs,
				      json_pack("{s:i, s:s, s:I}", "pid", (int)view->slots[i].pid,
						"name", view->slots[i].program, "bytes",
						(json_int_t)view->slots[i].bytes));
	return programs;
}

/* The facts of a device; for a board that cannot be read, the reason. */
static json_t *describe(unsigned index, const char *path)
{
	static struct dev_board_view view;
	const struct dev_board_identity *identity;
	char uuid[SLU_UUID_STRING_MAX];
	struct dev_board *board;
	json_t *device;
	int r = dev_board_open(path, NULL, &board);

	if (r == DEV_BOARD_E_ABSENT)
		return NULL;
	if (r)
		return json_pack("{s:i, s:s, s:s}", "index", (int)index, "board", path, "trouble",
				 r == -EPROTONOSUPPORT ? "it was made by another version"
				 : r == -EBADMSG       ? "its board is damaged"
						       : strerror(-r));
	identity = dev_board_identity(board);
	r = dev_board_look(board, &view);
	device =
		json_pack("{s:i, s:s, s:s, s:s, s:I, s:I, s:o}", "index", (int)index, "board", path,
			  "name", identity->name, "uuid", slu_uuid_format(uuid, identity->uuid),
			  "total_bytes", (json_int_t)identity->capacity_bytes, "granule_bytes",
			  (json_int_t)identity->granule_bytes, "engines", describe_engines(board));
	if (r) {
		json_object_set_new(device, "trouble", json_string("somebody keeps it locked"));
	} else {
		json_object_set_new(
			device, "used_bytes",
			json_integer((json_int_t)(view.used_bytes + view.overhead_bytes)));
		json_object_set_new(device, "overhead_bytes",
				    json_integer((json_int_t)view.overhead_bytes));
		json_object_set_new(device, "programs", describe_programs(&view));
	}
	dev_board_close(board);
	return device;
}

static const char *bytes(const json_t *object, const char *key, char buf[SLU_SIZE_STRING_MAX])
{
	return slu_size_format(buf, (uint64_t)json_integer_value(json_object_get(object, key)));
}

static void print_device(const json_t *device)
{
	char total[SLU_SIZE_STRING_MAX], used[SLU_SIZE_STRING_MAX];
	int index = (int)json_integer_value(json_object_get(device, "index"));
	const json_t *program;
	size_t i;

	if (*slu_reply_text(device, "trouble"))
		printf("GPU %d  %s: %s\n", index, slu_reply_text(device, "board"),
		       slu_reply_text(device, "trouble"));
	if (!*slu_reply_text(device, "name"))
		return;
	printf("GPU %d  %s   %s   %s in use\n  %s\n", index, slu_reply_text(device, "name"),
	       bytes(device, "total_bytes", total), bytes(device, "used_bytes", used),
	       slu_reply_text(device, "uuid"));
	json_array_foreach (json_object_get(device, "programs"), i, program)
		printf("  %-20s %7d   %s\n", slu_reply_text(program, "name"),
		       (int)json_integer_value(json_object_get(program, "pid")),
		       bytes(program, "bytes", used));
	if (json_integer_value(json_object_get(device, "overhead_bytes")))
		printf("  %-20s %7s   %s\n", "contexts and kernels", "",
		       bytes(device, "overhead_bytes", used));
}

static int run(int argc, char **argv)
{
	json_t *devices = json_array(), *device;
	bool is_json = false;
	char path[PATH_MAX];
	size_t i;

	slu_cli_parse(&slu_softgpu_info, argc, argv, &is_json);
	for (unsigned index = 0; index < SLU_SOFTGPU_DEVICES_MAX; index++) {
		if (slu_softgpu_path(index, path))
			break;
		device = describe(index, path);
		if (device)
			json_array_append_new(devices, device);
	}
	if (is_json) {
		json_t *all = json_pack("{s:o}", "devices", devices);

		slu_reply_print(all, false);
		json_decref(all);
		return SLU_CLI_OK;
	}
	json_array_foreach (devices, i, device)
		print_device(device);
	if (!json_array_size(devices))
		puts("No software GPU was made yet. Make one with: sluice softgpu run -- PROGRAM");
	json_decref(devices);
	return SLU_CLI_OK;
}

const struct slu_cli_verb slu_softgpu_info = {
	.options = slu_softgpu_json_options,
	.doc = "Show the software GPUs that were made, and who uses them.\v"
	       "For example: sluice softgpu info --json",
	.run = run,
};
