/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of sluiced. With --daemonize it leaves the terminal once it serves: the process
 * that was started ends with 0 then, and with the reason on stderr if it cannot serve.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/output.h"
#include "base/util.h"
#include "daemon/config.h"
#include "daemon/server.h"
#include "wire/path.h"

#define SYSTEM_CONFIG SLU_SYSCONFDIR "/sluice/sluiced.conf"
#define LOG_MAX_BYTES (1 << 20)

enum {
	OPTION_SYSTEM = 1024,
	OPTION_USER,
	OPTION_CONFIG,
	OPTION_SOCKET,
	OPTION_STATE,
	OPTION_FOREGROUND,
	OPTION_DAEMONIZE,
	OPTION_LOG_LEVEL,
	OPTION_PRINT,
	OPTION_TRACE,
};

struct arguments {
	struct slu_server_options server;
	bool is_mode_given;
	bool daemonize;
	bool print;
	enum slu_config_format format;
	char socket[PATH_MAX], state[PATH_MAX], config[PATH_MAX], log[PATH_MAX];
};

const char *argp_program_version = "sluiced " SLU_VERSION;

static const struct argp_option options[] = {
	{ "system", OPTION_SYSTEM, NULL, 0, "serve all users of this machine", 1 },
	{ "user", OPTION_USER, NULL, 0, "serve yourself alone, and end when unused (the default)",
	  1 },
	{ "config", OPTION_CONFIG, "FILE", 0, "read the settings from FILE and FILE.d/*.conf", 2 },
	{ "socket", OPTION_SOCKET, "PATH", 0, "listen at PATH", 2 },
	{ "state", OPTION_STATE, "FOLDER", 0, "keep what outlives the daemon in FOLDER", 2 },
	{ "foreground", OPTION_FOREGROUND, NULL, 0, "stay where it was started (the default)", 3 },
	{ "daemonize", OPTION_DAEMONIZE, NULL, 0, "go to the background once it serves", 3 },
	{ "log-level", OPTION_LOG_LEVEL, "LEVEL", 0, "err, warning, notice, info or debug", 3 },
	{ "trace-errors", OPTION_TRACE, NULL, 0, "show where in the code errors come from", 3 },
	{ "print-settings", OPTION_PRINT, "FORMAT", OPTION_ARG_OPTIONAL,
	  "print the settings in force and end; FORMAT is ini, markdown or man", 4 },
	{ 0 },
};

static int parse_level(const char *word)
{
	static const char *const levels[] = {
		[LOG_ERR] = "err",   [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
		[LOG_INFO] = "info", [LOG_DEBUG] = "debug",
	};

	for (int level = LOG_ERR; level <= LOG_DEBUG; level++)
		if (!strcmp(levels[level], word))
			return level;
	return -1;
}

static error_t parse_format(const char *word, enum slu_config_format *ret_format)
{
	static const char *const formats[] = {
		[SLU_CONFIG_INI] = "ini",
		[SLU_CONFIG_MAN] = "man",
		[SLU_CONFIG_MARKDOWN] = "markdown",
	};

	for (size_t i = 0; i < SLU_ARRAY_SIZE(formats); i++) {
		if (!strcmp(formats[i], word)) {
			*ret_format = (enum slu_config_format)i;
			return 0;
		}
	}
	return EINVAL;
}

static error_t option_parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_SYSTEM:
	case OPTION_USER:
		if (a->is_mode_given && a->server.is_system != (key == OPTION_SYSTEM))
			argp_error(state, "--system or --user, not both");
		a->server.is_system = key == OPTION_SYSTEM;
		a->is_mode_given = true;
		return 0;
	case OPTION_CONFIG:
		a->server.config_path = arg;
		a->server.config_must_exist = true;
		return 0;
	case OPTION_SOCKET:
		a->server.socket = arg;
		return 0;
	case OPTION_STATE:
		a->server.state = arg;
		return 0;
	case OPTION_FOREGROUND:
		a->daemonize = false;
		return 0;
	case OPTION_DAEMONIZE:
		a->daemonize = true;
		return 0;
	case OPTION_LOG_LEVEL:
		a->server.log_level = parse_level(arg);
		if (a->server.log_level < 0)
			argp_error(state, "--log-level takes err, warning, notice, info or debug");
		return 0;
	case OPTION_TRACE:
		slu_error_set_trace(true);
		return 0;
	case OPTION_PRINT:
		a->print = true;
		if (arg && parse_format(arg, &a->format))
			argp_error(state, "--print-settings takes ini, markdown or man");
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is one word too many", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = option_parse,
	.doc = "The daemon that lets programs share a GPU that is too small for all of them.\v"
	       "'sluice run -- PROGRAM' starts one for you where none runs, so that you hardly "
	       "ever call this by hand.\n\nFor example: sluiced --user --log-level info",
};

/* The default path of the settings. */
static void default_config(struct arguments *a)
{
	const char *xdg = secure_getenv("XDG_CONFIG_HOME"), *user_folder = secure_getenv("HOME");
	int n = -1;

	if (a->server.config_path)
		return;
	if (a->server.is_system)
		n = snprintf(a->config, sizeof(a->config), "%s", SYSTEM_CONFIG);
	else if (xdg && xdg[0] == '/')
		n = snprintf(a->config, sizeof(a->config), "%s/sluice/sluiced.conf", xdg);
	else if (user_folder && user_folder[0] == '/')
		n = snprintf(a->config, sizeof(a->config), "%s/.config/sluice/sluiced.conf",
			     user_folder);
	if (n > 0 && n < (int)sizeof(a->config))
		a->server.config_path = a->config;
}

/* Whether @socket is the default of this mode: its folder may have to be created. */
static bool is_usual(enum slu_path_mode mode, const char *socket)
{
	char usual[PATH_MAX];

	return !slu_path_socket(mode, false, usual, sizeof(usual)) && !strcmp(usual, socket);
}

/* Return: 0, or -errno with the folder that cannot be used. */
static int default_paths(struct arguments *a, const char **ret_folder)
{
	enum slu_path_mode mode = a->server.is_system ? SLU_PATH_SYSTEM : SLU_PATH_USER;
	bool is_activated = getenv("LISTEN_FDS") && !a->server.socket;
	int r;

	if (!is_activated && (!a->server.socket || is_usual(mode, a->server.socket))) {
		r = slu_path_socket(mode, true, a->socket, sizeof(a->socket));
		if (r) {
			*ret_folder = a->socket;
			return slu_fold(r);
		}
		a->server.socket = a->socket;
	}
	if (!a->server.state) {
		r = slu_path_state(mode, true, a->state, sizeof(a->state));
		if (r) {
			*ret_folder = a->state;
			return slu_fold(r);
		}
		a->server.state = a->state;
	}
	return 0;
}

/* Starts over in a child of its own session. Return: in the child, the pipe to report by. */
static int leave_terminal(void)
{
	int ends[2], status, report = 1;
	pid_t child;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return slu_error(-errno);
	child = fork();
	if (child < 0)
		return slu_error(-errno);
	if (!child) {
		close(ends[0]);
		setsid();
		return ends[1];
	}
	close(ends[1]);
	do {
		n = read(ends[0], &report, sizeof(report));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(report) && waitpid(child, &status, 0) == child && WIFEXITED(status))
		report = WEXITSTATUS(status) ? WEXITSTATUS(status) : 1;
	_exit(report);
}

/* From here on the daemon holds no terminal or pipe; the log goes to a file in the state folder. */
static void daemon_detach(const struct arguments *a, int report_fd)
{
	int served = 0, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (chdir("/") < 0)
		slu_log(WARNING, "cannot leave the folder: %m, ignoring");
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (slu_log_to_file(a->log, LOG_MAX_BYTES))
		dup2(null, STDERR_FILENO);
	close(null);
	if (write(report_fd, &served, sizeof(served)) < 0)
		slu_log(WARNING, "the process that started the daemon has ended, ignoring");
	close(report_fd);
}

static int print_settings(const struct arguments *a)
{
	struct slu_config config;

	if (slu_server_read_config(&a->server, &config))
		return EXIT_FAILURE;
	slu_config_print(&config, a->format, stdout);
	slu_config_deinit(&config);
	return EXIT_SUCCESS;
}

/*
 * Relative paths refer to the folder in which it was started, and in the background we leave that.
 * @path may be in @buf already.
 */
static const char *path_absolute(const char *path, char buf[static PATH_MAX])
{
	char here[PATH_MAX / 2], joined[PATH_MAX];

	if (!path || path[0] == '/' || !getcwd(here, sizeof(here)) ||
	    snprintf(joined, sizeof(joined), "%s/%s", here, path) >= PATH_MAX)
		return path;
	return strcpy(buf, joined);
}

/* If a standard stream is closed, a socket would take its place and get the printed text. */
static void fill_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	static struct arguments a = { .server.log_level = -1 };
	struct slu_server *server;
	const char *folder;
	int r, report_fd = -1;

	fill_standard_streams();
	slu_output_guard("sluiced", EXIT_FAILURE);
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	default_config(&a);
	if (a.print)
		return print_settings(&a);
	umask(077);
	a.server.log = getenv("JOURNAL_STREAM") ? SLU_SERVER_LOG_JOURNAL : SLU_SERVER_LOG_STDERR;
	r = default_paths(&a, &folder);
	if (r) {
		slu_log(ERR,
			"the folder %s cannot be used: %s; set XDG_RUNTIME_DIR to one of your own, "
			"or give --socket and --state",
			folder,
			r == -EPERM ? "it is somebody else's, or open to others" : strerror(-r));
		return EXIT_FAILURE;
	}
	if (a.daemonize) {
		a.server.socket = path_absolute(a.server.socket, a.socket);
		a.server.state = path_absolute(a.server.state, a.state);
		a.server.config_path = path_absolute(a.server.config_path, a.config);
		if (snprintf(a.log, sizeof(a.log), "%s/" SLU_PATH_LOG_NAME, a.server.state) >=
		    (int)sizeof(a.log))
			a.log[0] = '\0';
		a.server.log = a.log;
		report_fd = leave_terminal();
		if (report_fd < 0)
			return EXIT_FAILURE;
	}
	r = slu_server_new(&a.server, &server);
	if (r)
		return EXIT_FAILURE;
	if (a.daemonize)
		daemon_detach(&a, report_fd);
	r = slu_server_run(server);
	slu_server_free(server);
	return r ? EXIT_FAILURE : EXIT_SUCCESS;
}
