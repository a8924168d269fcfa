/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process is explained that has an OpenCL driver mapped but not our layer. The driver, the
 * loader and the layer are files with their names; the process is this program again, started with
 * an environment and with the files to map. With our client library it has the name of a client's
 * thread that found no daemon.
 */
#include "lib/test.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/attach.h"
#include "cli/install.h"
#include "wire/message.h"

#define DRIVER "libpocl.so.2"
#define LAYER  "libsluice-opencl.so"
#define CLIENT "libsluice-client.so"

struct scene {
	char folder[64];
	int input; /* closed: the process ends */
	pid_t pid;
	struct slu_install install;
};

static void make_file(const struct scene *s, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", s->folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) > 0);
	assert_int_equal(fclose(f), 0);
}

static int make_scene(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	snprintf(s->folder, sizeof(s->folder), "/dev/shm/sluice-attach-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	snprintf(s->install.opencl, sizeof(s->install.opencl), "%s/%s", s->folder, LAYER);
	make_file(s, DRIVER, "a driver");
	make_file(s, LAYER, "a layer");
	*state = s;
	return 0;
}

static void end(struct scene *s)
{
	close(s->input);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
}

static int drop_scene(void **state)
{
	static const char *const names[] = { DRIVER, LAYER, CLIENT, "libOpenCL.so.1" };
	struct scene *s = *state;
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", s->folder, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(s->folder), 0);
	free(s);
	return 0;
}

/* Maps the given files, reports it, and waits for the end of its input. */
static int be_looked_at(char **files)
{
	char c;

	for (; *files; files++) {
		int fd = open(*files, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return 1;
		close(fd);
		if (strstr(*files, CLIENT))
			prctl(PR_SET_NAME, SLU_WIRE_HELPER_ALONE);
	}
	if (write(STDOUT_FILENO, "x", 1) != 1)
		return 1;
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}

static void start(struct scene *s, const char *variable, const char *const *names)
{
	char paths[3][PATH_MAX], *words[6] = { "test", "be-looked-at" };
	char *environment[] = { (char *)variable, NULL };
	int input[2], output[2];
	char c;

	for (size_t i = 0; i < 3 && names[i]; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", s->folder, names[i]);
		words[2 + i] = paths[i];
	}
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	assert_int_equal(pipe2(output, O_CLOEXEC), 0);
	s->pid = fork();
	if (!s->pid) {
		dup2(input[0], STDIN_FILENO);
		dup2(output[1], STDOUT_FILENO);
		execve("/proc/self/exe", words, environment);
		_exit(1);
	}
	close(input[0]);
	close(output[1]);
	s->input = input[1];
	assert_int_equal(read(output[0], &c, 1), 1);
	close(output[0]);
}

static void expect(struct scene *s, const char *variable, const char *const *names, const char *why)
{
	struct slu_attach_view view;

	start(s, variable, names);
	slu_attach_look(s->pid, &s->install, &view);
	end(s);
	assert_int_equal(view.state, why ? SLU_ATTACH_BESIDE : SLU_ATTACH_NOTHING);
	if (why) {
		assert_string_equal(view.api, "OpenCL");
		assert_non_null(strstr(view.why, why));
		assert_non_null(view.then);
	}
}

/* The variable as `sluice run` leaves it, next to another tool's layer. */
static const char *ours(const struct scene *s)
{
	static char variable[PATH_MAX + 32];

	snprintf(variable, sizeof(variable), "OPENCL_LAYERS=/lib/other.so:%s", s->install.opencl);
	return variable;
}

static const char *const with_loader[] = { DRIVER, "libOpenCL.so.1", NULL };

static void test_a_layer_that_is_late_is_not_blamed(void **state)
{
	struct scene *s = *state;

	make_file(s, "libOpenCL.so.1", "it asks for OPENCL_LAYERS by name");
	expect(s, ours(s), with_loader, NULL);
}

static void test_a_loader_that_does_not_ask_for_layers_is_named(void **state)
{
	struct scene *s = *state;

	make_file(s, "libOpenCL.so.1", "it asks for OPENCL_VENDOR_PATH only");
	expect(s, ours(s), with_loader, "knows no layers");
}

static void test_a_cleared_environment_is_named_before_the_loader(void **state)
{
	struct scene *s = *state;

	make_file(s, "libOpenCL.so.1", "it asks for OPENCL_LAYERS by name");
	expect(s, "PATH=/bin", with_loader, "environment was cleared");
}

static void test_a_replaced_variable_is_named(void **state)
{
	struct scene *s = *state;

	make_file(s, "libOpenCL.so.1", "it asks for OPENCL_LAYERS by name");
	expect(s, "OPENCL_LAYERS=/lib/other.so", with_loader, "set anew");
}

static void test_a_layer_that_the_process_does_not_see_is_named(void **state)
{
	struct scene *s = *state;

	make_file(s, "libOpenCL.so.1", "it asks for OPENCL_LAYERS by name");
	assert_int_equal(unlink(s->install.opencl), 0);
	expect(s, ours(s), with_loader, "not in the files that it sees");
}

/* This program contains the variable's name, like a program that is linked with a loader. */
static void test_a_loader_inside_the_program_is_not_blamed(void **state)
{
	static const char *const names[] = { DRIVER, NULL };

	expect(*state, ours(*state), names, NULL);
}

static void test_a_process_with_the_layer_is_not_explained(void **state)
{
	static const char *const names[] = { DRIVER, LAYER, NULL };

	expect(*state, "PATH=/bin", names, NULL);
}

static void test_a_layer_that_an_update_replaced_still_counts(void **state)
{
	static const char *const names[] = { DRIVER, LAYER, NULL };
	struct slu_attach_view view;
	struct scene *s = *state;

	start(s, "PATH=/bin", names);
	assert_int_equal(unlink(s->install.opencl), 0);
	make_file(s, LAYER, "the next layer");
	slu_attach_look(s->pid, &s->install, &view);
	end(s);
	assert_true(view.has_layer);
	assert_int_equal(view.state, SLU_ATTACH_NOTHING);
}

static void expect_alone(struct scene *s, const char *variable, const char *socket, const char *why)
{
	static const char *const names[] = { DRIVER, LAYER, CLIENT, NULL };
	struct slu_attach_view view;

	make_file(s, CLIENT, "a client");
	start(s, variable, names);
	slu_attach_look(s->pid, &s->install, &view);
	slu_attach_explain_alone(s->pid, socket, &view);
	end(s);
	assert_int_equal(view.state, SLU_ATTACH_ALONE);
	assert_non_null(strstr(view.why, why));
	assert_non_null(view.then);
}

static void test_a_process_that_found_no_daemon_is_explained(void **state)
{
	expect_alone(*state, "PATH=/bin", "/dev/null", "SLUICE_SOCKET was changed");
	expect_alone(*state, "SLUICE_SOCKET=/dev/zero", "/dev/null", "SLUICE_SOCKET was changed");
	expect_alone(*state, "SLUICE_SOCKET=/dev/null", "/dev/null", "nobody answered");
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_scene, drop_scene)
	const struct CMUnitTest tests[] = {
		TEST(test_a_layer_that_is_late_is_not_blamed),
		TEST(test_a_loader_that_does_not_ask_for_layers_is_named),
		TEST(test_a_cleared_environment_is_named_before_the_loader),
		TEST(test_a_replaced_variable_is_named),
		TEST(test_a_layer_that_the_process_does_not_see_is_named),
		TEST(test_a_loader_inside_the_program_is_not_blamed),
		TEST(test_a_process_with_the_layer_is_not_explained),
		TEST(test_a_layer_that_an_update_replaced_still_counts),
		TEST(test_a_process_that_found_no_daemon_is_explained),
	};

	if (argc > 2 && !strcmp(argv[1], "be-looked-at"))
		return be_looked_at(argv + 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
