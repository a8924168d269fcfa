/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/terminal.h"

/* the alternate screen without a cursor, and back */
static const char enter[] = "\033[?1049h\033[?25l", leave[] = "\033[?25h\033[?1049l";

static bool is_open;
static volatile sig_atomic_t is_changed; /* the terminal shows something other than we painted */

/* Also called in handlers. A failure cannot be reported. */
static void send(const char *text, size_t size)
{
	ssize_t n = write(STDOUT_FILENO, text, size);

	(void)n;
}

static void handle(int signal, void (*handler)(int signal))
{
	struct sigaction action = { .sa_handler = handler };

	sigaction(signal, &action, NULL);
}

/* Leaves the screen; then the signal has its default effect. */
static void on_end(int signal)
{
	send(leave, sizeof(leave) - 1);
	handle(signal, SIG_DFL);
	raise(signal);
}

static void on_continue(int signal)
{
	(void)signal;
	handle(SIGTSTP, on_end);
	send(enter, sizeof(enter) - 1);
	is_changed = true;
}

static void on_resize(int signal)
{
	(void)signal;
	is_changed = true;
}

static const struct {
	int signal;
	void (*handler)(int signal);
} handlers[] = {
	{ SIGINT, on_end },  { SIGTERM, on_end },      { SIGHUP, on_end },	{ SIGQUIT, on_end },
	{ SIGTSTP, on_end }, { SIGCONT, on_continue }, { SIGWINCH, on_resize },
};

void slu_screen_open(void)
{
	is_open = true;
	is_changed = true;
	send(enter, sizeof(enter) - 1);
	for (size_t i = 0; i < SLU_ARRAY_SIZE(handlers); i++)
		handle(handlers[i].signal, handlers[i].handler);
}

void slu_screen_close(void)
{
	if (!is_open)
		return;
	is_open = false;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(handlers); i++)
		handle(handlers[i].signal, SIG_DFL);
	fflush(stdout);
	send(leave, sizeof(leave) - 1);
}

size_t slu_screen_lines(void)
{
	size_t height = slu_terminal_height();

	/* the last line stays empty: a newline there would scroll all of them */
	return height > 1 ? height - 1 : 1;
}

void slu_screen_paint(const char *text)
{
	size_t width = slu_terminal_width(), n_lines = slu_screen_lines();

	/* a terminal that became narrower has wrapped our lines */
	if (is_changed)
		fputs("\033[2J", stdout);
	is_changed = false;
	fputs("\033[H", stdout);
	for (size_t line = 0; *text && line < n_lines; line++) {
		size_t n = strcspn(text, "\n");
		size_t shown = width ? slu_terminal_cut(text, width, NULL) : n;

		printf("%.*s\033[0m\033[K\n", (int)SLU_MIN(n, shown), text);
		text += n + (text[n] == '\n');
	}
	fputs("\033[J", stdout);
	fflush(stdout);
}

void slu_screen_wait(int ms)
{
	if (!is_changed)
		poll(NULL, 0, ms);
}
