/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "core/sched/policy.h"
#include "daemon/config.h"

struct reports {
	unsigned n;
	unsigned line; /* of the first */
	char text[1024];
	char path[128];
};

static void note(void *data, const char *path, unsigned line, const char *text)
{
	struct reports *reports = data;

	if (reports->n++)
		return;
	reports->line = line;
	snprintf(reports->text, sizeof(reports->text), "%s", text);
	snprintf(reports->path, sizeof(reports->path), "%s", path);
}

static int read_text(struct slu_config *config, const char *text, struct reports *reports)
{
	struct slu_config_reporter reporter = { note, reports };

	*reports = (struct reports){};
	return slu_config_read_text(config, "test.conf", text, strlen(text), &reporter);
}

static void test_defaults_are_within_their_own_bounds(void **state)
{
	struct slu_config config;

	(void)state;
	assert_int_equal(slu_config_init(&config), 0);
	assert_int_equal(config.idle_exit_ns, 300 * SLU_NS_PER_S);
	assert_string_equal(config.policy, SLU_CORE_POLICY_DEFAULT);
	assert_int_equal(config.share_percent, 90);
	assert_int_equal(config.program.visible_bytes, 0);
	slu_config_deinit(&config);
}

static void test_good_lines_take_effect(void **state)
{
	static const char text[] = "\xef\xbb\xbf# a comment\n"
				   "; another\n"
				   "\n"
				   "[scheduler]\n"
				   "policy = fifo\r\n"
				   "  slice=1.5s   ; inline comment\n"
				   "[ memory ]\n"
				   "[memory]\n"
				   "backing = auto\n"
				   "pinned = 2G\n"
				   "checksum_moves = yes\n"
				   "[daemon]\n"
				   "idle_exit = 0s\n"
				   "boards = /dev/shm/x\n"
				   "slice = 3";
	struct slu_config config;
	struct reports reports;

	(void)state;
	assert_int_equal(slu_config_init(&config), 0);
	assert_int_equal(read_text(&config, text, &reports), SLU_CONFIG_E_WRONG);
	assert_int_equal(reports.n, 2); /* [ memory ], and the last line */
	assert_int_equal(reports.line, 7);
	assert_string_equal(config.policy, "fifo");
	assert_int_equal(config.slice_ns, 1500 * SLU_NS_PER_MS);
	assert_int_equal(config.backing_bytes, 0);
	assert_int_equal(config.pinned_bytes, 2 * SLU_GIB);
	assert_true(config.program.checksum_moves);
	assert_int_equal(config.idle_exit_ns, 0);
	assert_string_equal(config.boards, "/dev/shm/x");
	slu_config_deinit(&config);
}

static void test_each_wrong_line_says_what_was_expected(void **state)
{
	static const struct {
		const char *what, *text;
		unsigned line;
		const char *expected;
	} rows[] = {
		{ "no section", "policy = rr\n", 1, "before the first setting" },
		{ "unknown section", "\n[core]\nx = 1\ny = 2\n", 2, "[scheduler]" },
		{ "open section", "[daemon\n", 1, "']'" },
		{ "words behind a section", "[daemon] idle\n", 1, "']'" },
		{ "no value", "[daemon]\nidle_exit\n", 2, "name = value" },
		{ "unknown name", "[daemon]\nidle = 3s\n", 2, "idle_exit, log_level" },
		{ "name of another section", "[memory]\nslice = 3s\n", 2,
		  "no setting of [memory]" },
		{ "bad time", "[scheduler]\n\nslice = 3\n", 3, "a time such as" },
		{ "time too small", "[scheduler]\nslice = 0s\n", 2,
		  "0s is less than 1ms; expected a time such as 250ms, 2s or 1h, from 1ms to 1h" },
		{ "time too large", "[scheduler]\nslice = 100h\n", 2, "100h is more than 1h" },
		{ "negative time", "[scheduler]\nslice = -1s\n", 2, "a time such as" },
		{ "bad size", "[memory]\npinned = much\n", 2, "auto, or a size" },
		{ "no size at all", "[memory]\nvisible_memory = 0\n", 2, "0 is less than 4K" },
		{ "bad count", "[scheduler]\nshare_percent = 9.5\n", 2, "a whole number" },
		{ "count too large", "[scheduler]\nshare_percent = 101\n", 2, "from 1 to 100" },
		{ "bad word", "[scheduler]\npolicy = best\n", 2, "one of mlfq|rr|fifo|fair|" },
		{ "part of a word", "[scheduler]\npolicy = fi\n", 2, "one of mlfq|rr|fifo|fair|" },
		{ "two words", "[scheduler]\npolicy = fifo|rr\n", 2, "one of mlfq|rr|fifo|fair|" },
		{ "bad flag", "[memory]\nchecksum_moves = 2\n", 2, "on or off" },
		{ "bad path", "[daemon]\nboards = here\n", 2, "begins with /" },
		{ "program without name", "[program ]\nchunk = 1M\n", 1, "[program NAME]" },
		{ "not for programs", "[program x]\nslice = 1s\n", 2, "visible_memory" },
		{ "empty name", "[daemon]\n= 5\n", 2, "is no setting" },
	};

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		struct slu_config config;
		struct reports reports;

		assert_int_equal(slu_config_init(&config), 0);
		assert_int_equal(read_text(&config, rows[i].text, &reports), SLU_CONFIG_E_WRONG);
		if (reports.n != 1 || reports.line != rows[i].line ||
		    !strstr(reports.text, rows[i].expected))
			fail_msg("%s: %u reports, first %s:%u: %s", rows[i].what, reports.n,
				 reports.path, reports.line, reports.text);
		slu_config_deinit(&config);
	}
}

static void test_long_and_binary_lines_are_reported(void **state)
{
	struct slu_config_reporter reporter;
	struct slu_config config;
	struct reports reports = {};
	char text[600];

	(void)state;
	reporter = (struct slu_config_reporter){ note, &reports };
	assert_int_equal(slu_config_init(&config), 0);
	memset(text, 'x', sizeof(text));
	text[300] = '\n';
	text[400] = '\0';
	assert_int_equal(slu_config_read_text(&config, "t", text, sizeof(text), &reporter),
			 SLU_CONFIG_E_WRONG);
	assert_int_equal(reports.n, 2);
	assert_string_equal(reports.text, "expected a shorter line");
	slu_config_deinit(&config);
}

static void test_a_programs_section_goes_before_memory_whatever_the_order(void **state)
{
	static const char text[] = "[program ollama*]\nvisible_memory = 8G\nallow_mapped = on\n"
				   "[memory]\nvisible_memory = 4G\nchunk = 1M\n"
				   "[program train]\non_daemon_loss = wait\n";
	struct slu_config config, copy;
	struct slu_config_program program;
	struct reports reports;
	char value[64];

	(void)state;
	assert_int_equal(slu_config_init(&config), 0);
	assert_int_equal(read_text(&config, text, &reports), 0);
	assert_int_equal(reports.n, 0);
	assert_int_equal(slu_config_copy(&config, &copy), 0);
	slu_config_deinit(&config);

	slu_config_program(&copy, "ollama-7b", &program);
	assert_int_equal(program.visible_bytes, 8 * SLU_GIB);
	assert_string_equal(program.allow_mapped, "on");
	assert_int_equal(program.chunk_bytes, SLU_MIB);
	assert_string_equal(program.on_daemon_loss, "run");
	slu_config_program(&copy, "train", &program);
	assert_int_equal(program.visible_bytes, 4 * SLU_GIB);
	assert_string_equal(program.allow_mapped, "auto");
	assert_string_equal(program.on_daemon_loss, "wait");
	assert_int_equal(
		slu_config_get(&copy, "program train", "on_daemon_loss", value, sizeof(value)), 0);
	assert_string_equal(value, "wait");
	assert_int_equal(slu_config_get(&copy, "memory", "nothing", value, sizeof(value)), -ENOENT);
	slu_config_deinit(&copy);
}

static void note_program_setting(void *data, const struct slu_config_view *view)
{
	bool is_steered = !strcmp(view->name, "priority") || !strcmp(view->name, "expect");
	char *all = data;

	assert_string_equal(view->section, "program ollama-7b");
	assert_true(view->is_program);
	assert_int_equal(view->counts, is_steered ? SLU_CONFIG_AT_ONCE : SLU_CONFIG_AT_JOIN);
	sprintf(all + strlen(all), "%s%s=%s;", view->name, view->is_own ? "!" : "", view->value);
}

static void test_the_settings_of_a_program_are_listed(void **state)
{
	static const char text[] = "[memory]\nloss_grace = 9s\n[program oll*]\nchunk = 1M\n"
				   "[program train]\nchecksum_moves = on\n";
	struct slu_config config;
	struct reports reports;
	char all[1024] = "";

	(void)state;
	assert_int_equal(slu_config_init(&config), 0);
	assert_int_equal(read_text(&config, text, &reports), 0);
	slu_config_each_of_program(&config, "ollama-7b", note_program_setting, all);
	assert_non_null(strstr(all, "visible_memory=auto;chunk!=1M;"));
	assert_non_null(strstr(all, ";loss_grace=9s;checksum_moves=off;"));
	assert_null(strstr(all, "slice"));
	slu_config_deinit(&config);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void remove_file(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

static void test_drop_ins_are_read_by_name_and_the_last_value_wins(void **state)
{
	char folder[] = "/tmp/sluice-config-XXXXXX", drop_ins[64], path[64];
	struct slu_config config;
	struct reports reports = {};
	struct slu_config_reporter reporter = { note, &reports };

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/s.conf", folder);
	snprintf(drop_ins, sizeof(drop_ins), "%s/s.conf.d", folder);
	assert_int_equal(mkdir(drop_ins, 0700), 0);
	assert_int_equal(slu_config_init(&config), 0);

	/* the file itself may be absent, unless it was named */
	assert_int_equal(slu_config_read(&config, path, true, &reporter), -ENOENT);
	assert_int_equal(reports.line, 0);
	write_file(drop_ins, "20.conf", "[scheduler]\nslice = 20ms\n");
	write_file(drop_ins, "10.conf", "[scheduler]\nslice = 10ms\npolicy = fifo\n");
	write_file(drop_ins, "30.conf~", "[scheduler]\nslice = 30ms\n");
	write_file(drop_ins, ".40.conf", "[scheduler]\nslice = 40ms\n");
	reports = (struct reports){};
	assert_int_equal(slu_config_read(&config, path, false, &reporter), 0);
	assert_int_equal(config.slice_ns, 20 * SLU_NS_PER_MS);
	assert_string_equal(config.policy, "fifo");

	write_file(folder, "s.conf", "[scheduler]\nslice = 1ms\n");
	write_file(drop_ins, "20.conf", "\nwrong\n");
	assert_int_equal(slu_config_read(&config, path, true, &reporter), SLU_CONFIG_E_WRONG);
	assert_int_equal(reports.n, 1);
	assert_int_equal(reports.line, 2);
	assert_non_null(strstr(reports.path, "s.conf.d/20.conf"));
	assert_int_equal(config.slice_ns, 10 * SLU_NS_PER_MS);

	reports = (struct reports){};
	assert_int_equal(slu_config_read(&config, "/dev/null", true, &reporter), 0);
	assert_int_equal(slu_config_read(&config, "/dev/zero", true, &reporter),
			 SLU_CONFIG_E_WRONG);
	assert_int_equal(reports.n, 1);

	slu_config_deinit(&config);
	remove_file(drop_ins, "10.conf");
	remove_file(drop_ins, "20.conf");
	remove_file(drop_ins, "30.conf~");
	remove_file(drop_ins, ".40.conf");
	remove_file(folder, "s.conf");
	rmdir(drop_ins);
	assert_int_equal(rmdir(folder), 0);
}

static void test_printed_settings_can_be_read_again(void **state)
{
	static const char text[] =
		"[scheduler]\nslice = 1234567us\n[memory]\nbacking = 3G\nchunk = 12K\n"
		"[program a b]\nchecksum_moves = on\nvisible_memory = 5M\n";
	struct slu_config config, again;
	struct slu_config_program program;
	struct reports reports;
	char *printed = NULL;
	size_t size = 0;
	FILE *f;

	(void)state;
	assert_int_equal(slu_config_init(&config), 0);
	assert_int_equal(read_text(&config, text, &reports), 0);
	f = open_memstream(&printed, &size);
	assert_non_null(f);
	slu_config_print(&config, SLU_CONFIG_INI, f);
	fclose(f);

	assert_int_equal(slu_config_init(&again), 0);
	assert_int_equal(read_text(&again, printed, &reports), 0);
	assert_int_equal(again.slice_ns, 1234567000);
	assert_int_equal(again.backing_bytes, 3 * SLU_GIB);
	assert_int_equal(again.program.chunk_bytes, 12 * SLU_KIB);
	slu_config_program(&again, "a b", &program);
	assert_true(program.checksum_moves);
	assert_int_equal(program.visible_bytes, 5 * SLU_MIB);
	free(printed);
	slu_config_deinit(&config);
	slu_config_deinit(&again);
}

static void test_settings_reach_the_core(void **state)
{
	struct slu_core_config core = { .generation = 7, .backing_bytes = 8, .disk_bytes = 9 };
	struct slu_config config;
	char why[256];

	(void)state;
	assert_int_equal(slu_config_init(&config), 0);
	assert_int_equal(slu_config_set(&config, "scheduler", "policy", "rr", why, sizeof(why)), 0);
	assert_int_equal(slu_config_set(&config, "scheduler", "slice", "3s", why, sizeof(why)), 0);
	assert_int_equal(slu_config_set(&config, "scheduler", "levels", "2", why, sizeof(why)), 0);
	assert_int_equal(slu_config_set(&config, "memory", "staging", "2M", why, sizeof(why)), 0);
	slu_config_to_core(&config, &core);
	assert_string_equal(core.policy, "rr");
	assert_int_equal(core.slice_ns, 3 * SLU_NS_PER_S);
	assert_int_equal(core.levels, 2);
	assert_int_equal(core.staging_bytes, 2 * SLU_MIB);
	assert_int_equal(core.pinned_bytes, 0); /* auto: the daemon decides */
	assert_int_equal(core.generation, 7);	/* no setting */
	assert_int_equal(core.backing_bytes, 8);
	assert_int_equal(core.disk_bytes, 9);
	slu_config_deinit(&config);
}

/* Tests and the simulator use the core without a daemon: they must test the installed defaults. */
static void test_the_defaults_of_the_core_are_those_of_the_settings(void **state)
{
	struct slu_core_config own, core;
	struct slu_config config;

	(void)state;
	assert_int_equal(slu_config_init(&config), 0);
	slu_core_config_default(&own);
	core = own;
	slu_config_to_core(&config, &core);
	assert_string_equal(core.policy, own.policy);
	core.policy = own.policy;
	core.pinned_bytes = own.pinned_bytes; /* auto, which the core does not know */
#define SLU_SETTING(...)
#define SLU_SETTING_CORE(section, name, kind, field, ...) assert_true(core.field == own.field);
#define SLU_SETTING_CORE_JOIN				  SLU_SETTING_CORE
#include "daemon/settings.def"
	slu_config_deinit(&config);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_within_their_own_bounds),
		cmocka_unit_test(test_good_lines_take_effect),
		cmocka_unit_test(test_each_wrong_line_says_what_was_expected),
		cmocka_unit_test(test_long_and_binary_lines_are_reported),
		cmocka_unit_test(test_a_programs_section_goes_before_memory_whatever_the_order),
		cmocka_unit_test(test_the_settings_of_a_program_are_listed),
		cmocka_unit_test(test_drop_ins_are_read_by_name_and_the_last_value_wins),
		cmocka_unit_test(test_printed_settings_can_be_read_again),
		cmocka_unit_test(test_settings_reach_the_core),
		cmocka_unit_test(test_the_defaults_of_the_core_are_those_of_the_settings),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
