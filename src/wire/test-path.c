/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "wire/path.h"

struct fixture {
	char folder[64];
};

static int setup(void **state)
{
	static struct fixture fixture;

	strcpy(fixture.folder, "/tmp/sluice-path-XXXXXX");
	assert_non_null(mkdtemp(fixture.folder));
	unsetenv("SLUICE_SOCKET");
	unsetenv("SLUICE_STATE");
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_RUNTIME_DIR");
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/sluice", fixture->folder);
	unlink(path);
	rmdir(path);
	return rmdir(fixture->folder);
}

static void test_variables_win(void **state)
{
	char path[128];

	(void)state;
	setenv("SLUICE_SOCKET", "/a/b.sock", 1);
	setenv("SLUICE_STATE", "/a/state", 1);
	for (int mode = SLU_PATH_USER; mode <= SLU_PATH_SYSTEM; mode++) {
		assert_int_equal(slu_path_socket(mode, false, path, sizeof(path)), 0);
		assert_string_equal(path, "/a/b.sock");
		assert_int_equal(slu_path_state(mode, false, path, sizeof(path)), 0);
		assert_string_equal(path, "/a/state");
	}
	assert_int_equal(slu_path_socket(SLU_PATH_USER, false, path, 4), -ENAMETOOLONG);
}

static void test_disk_is_the_users_cache_then_the_shared_folder(void **state)
{
	char path[128];

	(void)state;
	setenv("XDG_CACHE_HOME", "/a/cache", 1);
	assert_int_equal(slu_path_disk(SLU_PATH_USER, 0, path, sizeof(path)), 0);
	assert_string_equal(path, "/a/cache");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "/a/home", 1);
	assert_int_equal(slu_path_disk(SLU_PATH_USER, 0, path, sizeof(path)), 0);
	assert_string_equal(path, "/a/home/.cache");
	unsetenv("HOME");
	assert_int_equal(slu_path_disk(SLU_PATH_USER, 0, path, sizeof(path)), -ENOENT);
	assert_int_equal(slu_path_disk(SLU_PATH_USER, 1, path, sizeof(path)), 0);
	assert_string_equal(path, "/var/tmp");
	assert_int_equal(slu_path_disk(SLU_PATH_USER, 2, path, sizeof(path)), -ENOENT);
	assert_int_equal(slu_path_disk(SLU_PATH_SYSTEM, 0, path, sizeof(path)), 0);
	assert_string_equal(path, "/var/tmp");
	assert_int_equal(slu_path_disk(SLU_PATH_SYSTEM, 1, path, sizeof(path)), -ENOENT);
}

static void test_the_system_has_one_folder(void **state)
{
	char path[128];

	(void)state;
	assert_int_equal(slu_path_socket(SLU_PATH_SYSTEM, false, path, sizeof(path)), 0);
	assert_string_equal(path, "/run/sluice/sluice.sock");
	assert_int_equal(slu_path_state(SLU_PATH_SYSTEM, false, path, sizeof(path)), 0);
	assert_string_equal(path, "/run/sluice");
}

static void test_a_user_has_a_private_folder(void **state)
{
	struct fixture *fixture = *state;
	char path[128], want[128];
	struct stat st;

	setenv("XDG_RUNTIME_DIR", fixture->folder, 1);
	snprintf(want, sizeof(want), "%s/sluice/sluice.sock", fixture->folder);
	assert_int_equal(slu_path_socket(SLU_PATH_USER, false, path, sizeof(path)), 0);
	assert_string_equal(path, want);
	snprintf(want, sizeof(want), "%s/sluice", fixture->folder);
	assert_int_equal(stat(want, &st), -1);

	assert_int_equal(slu_path_socket(SLU_PATH_USER, true, path, sizeof(path)), 0);
	assert_int_equal(stat(want, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(slu_path_state(SLU_PATH_USER, true, path, sizeof(path)), 0);
	assert_string_equal(path, want);
}

static void test_a_folder_open_to_others_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char path[128], folder[128];

	setenv("XDG_RUNTIME_DIR", fixture->folder, 1);
	snprintf(folder, sizeof(folder), "%s/sluice", fixture->folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(slu_path_socket(SLU_PATH_USER, true, path, sizeof(path)), -EPERM);
	assert_string_equal(path, folder);
}

static void test_a_link_instead_of_the_folder_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char path[128], folder[256];

	setenv("XDG_RUNTIME_DIR", fixture->folder, 1);
	snprintf(folder, sizeof(folder), "%s/sluice", fixture->folder);
	assert_int_equal(symlink(fixture->folder, folder), 0);
	assert_int_equal(slu_path_socket(SLU_PATH_USER, true, path, sizeof(path)), -ENOTDIR);
}

static void test_another_users_folder_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char path[128], folder[128];

	setenv("XDG_RUNTIME_DIR", fixture->folder, 1);
	snprintf(folder, sizeof(folder), "%s/sluice", fixture->folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	assert_int_equal(chown(folder, 12345, 12345), 0);
	assert_int_equal(slu_path_state(SLU_PATH_USER, true, path, sizeof(path)), -EPERM);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	static const struct CMUnitTest not_root =
		slu_test_skipped(test_another_users_folder_is_refused, "only root can give one");
	struct CMUnitTest tests[] = {
		T(test_variables_win),
		T(test_disk_is_the_users_cache_then_the_shared_folder),
		T(test_the_system_has_one_folder),
		T(test_a_user_has_a_private_folder),
		T(test_a_folder_open_to_others_is_refused),
		T(test_a_link_instead_of_the_folder_is_refused),
		T(test_another_users_folder_is_refused),
	};
#undef T

	if (geteuid() != 0)
		tests[SLU_ARRAY_SIZE(tests) - 1] = not_root;
	return cmocka_run_group_tests_name("path", tests, NULL, NULL);
}
