/* SPDX-License-Identifier: Apache-2.0 */

/* Budgets of host memory and disk: which folder, how much, and what groups of processes allow. */

#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/util.h"
#include "daemon/cgroup.h"
#include "daemon/backing.h"

static void make(struct slu_backing *backing, const char *text, bool is_system)
{
	struct slu_config config;

	assert_int_equal(slu_config_init(&config), 0);
	assert_int_equal(slu_config_read_text(&config, "test", text, strlen(text), NULL), 0);
	slu_backing_init(backing, &config, is_system, 16 * SLU_GIB, 0);
	slu_config_deinit(&config);
}

/* Tests that choose it are skipped if it is not on disk. */
static void need_var_tmp(void)
{
	struct slu_filesystem fs;

	if (slu_filesystem_look("/var/tmp", &fs) || slu_filesystem_fault(&fs, false))
		skip();
}

static void a_configured_folder_is_used(void **state)
{
	struct slu_backing backing;

	(void)state;
	need_var_tmp();
	make(&backing, "[memory]\ndisk_folder = /var/tmp\ndisk_max = 3G\n", false);
	assert_string_equal(backing.folder, "/var/tmp");
	assert_int_equal(backing.disk_bytes, 3 * SLU_GIB);
	assert_int_equal(backing.user_disk_bytes, 3 * SLU_GIB);
	assert_string_equal(backing.why, "");
}

static void a_folder_in_memory_is_rejected_with_a_reason(void **state)
{
	struct slu_filesystem fs;
	struct slu_backing backing;

	(void)state;
	need_var_tmp();
	if (slu_filesystem_look("/dev/shm", &fs) || !fs.is_memory)
		skip();
	make(&backing, "[memory]\ndisk_folder = /dev/shm\n", false);
	assert_string_equal(backing.folder, "");
	assert_int_equal(backing.disk_bytes, 0);
	assert_string_equal(backing.why,
			    "/dev/shm: its files are memory, which is what shall be spared");
	/* a folder that no setting names is passed over */
	setenv("XDG_CACHE_HOME", "/dev/shm", 1);
	make(&backing, "", false);
	assert_string_equal(backing.folder, "/var/tmp");
	unsetenv("XDG_CACHE_HOME");
}

static void only_a_folder_on_disk_is_used(void **state)
{
	struct slu_filesystem fs;

	(void)state;
	assert_null(slu_backing_folder_fault("", false));
	assert_string_equal(slu_backing_folder_fault("/proc", false),
			    "its filesystem cannot keep files");
	assert_string_equal(slu_backing_folder_fault("/proc/self/status", true),
			    "it is not a folder");
	assert_string_equal(slu_backing_folder_fault("/none", true), "the folder does not exist");
	assert_int_equal(slu_filesystem_look("/proc", &fs), 0);
	assert_string_equal(fs.name, "proc");
	fs = (struct slu_filesystem){ .total_bytes = 1, .is_read_only = true };
	assert_string_equal(slu_filesystem_fault(&fs, true), "it can only be read");
	fs.is_read_only = false;
	assert_null(slu_filesystem_fault(&fs, true));
}

static void a_users_daemon_uses_the_users_cache(void **state)
{
	char folder[] = "/var/tmp/sluice-backing-XXXXXX";
	struct slu_backing backing;

	(void)state;
	need_var_tmp();
	assert_non_null(mkdtemp(folder));
	setenv("XDG_CACHE_HOME", folder, 1);
	make(&backing, "", false);
	assert_string_equal(backing.folder, folder);
	assert_true(backing.disk_bytes > 0);
	make(&backing, "", true);
	assert_string_equal(backing.folder, "/var/tmp");
	unsetenv("XDG_CACHE_HOME");
	rmdir(folder);
}

static void a_missing_folder_is_reported(void **state)
{
	struct slu_backing backing;

	(void)state;
	make(&backing, "[memory]\ndisk_folder = /there/is/none\n", true);
	assert_string_equal(backing.folder, "");
	assert_non_null(strstr(backing.why, "/there/is/none"));
	make(&backing, "[memory]\ndisk = off\n", true);
	assert_string_equal(backing.folder, "");
	assert_string_equal(backing.why, "the setting disk is off");
}

static void users_share_a_system_daemon(void **state)
{
	struct slu_core_bounds bounds;
	struct slu_backing backing;

	(void)state;
	need_var_tmp();
	make(&backing, "[memory]\nbacking = 8G\ndisk_max = 6G\ndisk_folder = /var/tmp\n", true);
	assert_int_equal(backing.user_backing_bytes, 4 * SLU_GIB);
	assert_int_equal(backing.user_disk_bytes, 3 * SLU_GIB);
	slu_backing_bounds(&backing, getpid(), 1234, &bounds);
	assert_true(bounds.n_pageable >= 1 && bounds.n_disk == 1);
	assert_int_equal(bounds.pageable[0].bytes, 4 * SLU_GIB);
	assert_int_equal(bounds.disk[0].bytes, 3 * SLU_GIB);
	make(&backing, "[memory]\nuser_backing = 100M\n", false);
	assert_int_equal(backing.backing_bytes, 12 * SLU_GIB);
	assert_int_equal(backing.user_backing_bytes, 100 * SLU_MIB);
}

/* -- groups of processes, in a folder that looks like theirs ------------------------------------
 */

struct tree {
	char root[64];
};

static void put(const struct tree *t, const char *path, const char *text)
{
	char name[256];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%s", t->root, path);
	f = fopen(name, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void plant(struct tree *t)
{
	char name[256];

	strcpy(t->root, "/var/tmp/sluice-cgroup-XXXXXX");
	assert_non_null(mkdtemp(t->root));
	snprintf(name, sizeof(name), "%s/a", t->root);
	assert_int_equal(mkdir(name, 0700), 0);
	snprintf(name, sizeof(name), "%s/a/b", t->root);
	assert_int_equal(mkdir(name, 0700), 0);
	put(t, "memory.max", "5\n");
	put(t, "a/memory.max", "1000\n");
	put(t, "a/b/memory.max", "max\n");
}

static void uproot(const struct tree *t)
{
	static const char *const names[] = {
		"a/b/memory.high", "a/b/memory.max", "a/memory.max", "memory.max", "a/b", "a", ""
	};
	char name[256];

	for (unsigned i = 0; i < SLU_ARRAY_SIZE(names); i++) {
		snprintf(name, sizeof(name), "%s/%s", t->root, names[i]);
		remove(name);
	}
}

static void each_group_with_a_limit_is_a_bound(void **state)
{
	struct slu_core_bounds bounds = { 0 };
	struct tree t;

	(void)state;
	plant(&t);
	slu_cgroup_add(t.root, "0::/a/b\n", 50, &bounds);
	/* "max" is no limit, and the root's own limit does not count */
	assert_int_equal(bounds.n_pageable, 1);
	assert_int_equal(bounds.pageable[0].bytes, 500);
	put(&t, "a/b/memory.high", "600\n");
	bounds.n_pageable = 0;
	slu_cgroup_add(t.root, "1:name=systemd:/x\n0::/a/b\n", 50, &bounds);
	assert_int_equal(bounds.n_pageable, 2);
	assert_int_equal(bounds.pageable[0].bytes, 300);
	assert_int_equal(bounds.pageable[1].bytes, 500);
	assert_int_not_equal(bounds.pageable[0].id, bounds.pageable[1].id);
	uproot(&t);
}

static void cgroups_of_version_1_are_bounds_as_well(void **state)
{
	static const char *const lines[] = { "9:name=systemd:/\n4:memory:/a/b\n0::/\n",
					     "4:cpu,memory:/a/b" };
	struct slu_core_bounds bounds;
	struct tree t;
	char name[256];

	(void)state;
	strcpy(t.root, "/var/tmp/sluice-cgroup-XXXXXX");
	assert_non_null(mkdtemp(t.root));
	for (const char *const *folder =
		     (const char *const[]){ "memory", "memory/a", "memory/a/b", NULL };
	     *folder; folder++) {
		snprintf(name, sizeof(name), "%s/%s", t.root, *folder);
		assert_int_equal(mkdir(name, 0700), 0);
	}
	/* the root's own does not count; then none, as the kernel writes it, and one */
	put(&t, "memory/memory.limit_in_bytes", "7\n");
	put(&t, "memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	put(&t, "memory/a/memory.limit_in_bytes", "4000\n");
	for (size_t i = 0; i < SLU_ARRAY_SIZE(lines); i++) {
		bounds = (struct slu_core_bounds){ 0 };
		slu_cgroup_add(t.root, lines[i], 50, &bounds);
		assert_int_equal(bounds.n_pageable, 1);
		assert_int_equal(bounds.pageable[0].bytes, 2000);
	}
	snprintf(name, sizeof(name), "rm -r %s", t.root);
	assert_int_equal(system(name), 0);
}

static void unreadable_files_limit_nothing(void **state)
{
	static const char *const texts[] = {
		"",	      "0::",	       "0::/\n", "0::/none\n",
		"0::/../a\n", "3:memory:/a\n", "0::a\n", "3:memories:/a\n",
		"4",	      "4:memory",      "1::/a\n"
	};
	struct slu_core_bounds bounds = { 0 };
	struct tree t;

	(void)state;
	plant(&t);
	for (unsigned i = 0; i < SLU_ARRAY_SIZE(texts); i++)
		slu_cgroup_add(t.root, texts[i], 100, &bounds);
	assert_int_equal(bounds.n_pageable, 0);
	slu_cgroup_add_process(-1, 100, &bounds);
	assert_int_equal(bounds.n_pageable, 0);
	uproot(&t);
}

static void the_number_of_bounds_is_limited(void **state)
{
	struct slu_core_bounds bounds = { .n_pageable = SLU_CORE_BOUNDS_MAX };
	struct tree t;

	(void)state;
	plant(&t);
	slu_cgroup_add(t.root, "0::/a\n", 100, &bounds);
	assert_int_equal(bounds.n_pageable, SLU_CORE_BOUNDS_MAX);
	uproot(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configured_folder_is_used),
		cmocka_unit_test(a_folder_in_memory_is_rejected_with_a_reason),
		cmocka_unit_test(only_a_folder_on_disk_is_used),
		cmocka_unit_test(a_users_daemon_uses_the_users_cache),
		cmocka_unit_test(a_missing_folder_is_reported),
		cmocka_unit_test(users_share_a_system_daemon),
		cmocka_unit_test(each_group_with_a_limit_is_a_bound),
		cmocka_unit_test(cgroups_of_version_1_are_bounds_as_well),
		cmocka_unit_test(unreadable_files_limit_nothing),
		cmocka_unit_test(the_number_of_bounds_is_limited),
	};

	return cmocka_run_group_tests_name("backing", tests, NULL, NULL);
}
