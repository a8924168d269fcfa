/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of config.h: reads settings from files. inih splits lines into names and values; its
 * reader is ours, so that we know the line we are at, see the section ourselves (inih cuts long
 * ones), and can report each line that is neither blank, comment, section nor name = value, while
 * inih reports only the first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/config.h"

#define WHY_MAX	 1024
#define SECT_MAX 128

struct reading {
	struct slu_config *config;
	const struct slu_config_reporter *reporter;
	const char *path;
	const char *at, *end;
	unsigned line;
	char section[SECT_MAX];
	bool section_is_wrong; /* was reported; the lines in it are not reported again */
	int r;
};

static void line_complain(struct reading *reading, const char *text)
{
	if (!reading->r)
		reading->r = SLU_CONFIG_E_WRONG;
	if (reading->reporter)
		reading->reporter->report(reading->reporter->data, reading->path, reading->line,
					  text);
}

static bool section_is_known(struct reading *reading, const char *section)
{
	char why[WHY_MAX];
	struct slu_config scratch = {};

	/* no setting has an empty name, so the answer shows whether the section exists */
	(void)slu_config_set(&scratch, section, "", "", why, sizeof(why));
	slu_config_deinit(&scratch);
	if (!strncmp(why, "expected [", 10)) {
		line_complain(reading, why);
		return false;
	}
	return true;
}

static void enter_section(struct reading *reading, const char *line)
{
	const char *close = strchr(line, ']');
	const char *rest = close ? close + 1 + strspn(close + 1, " \t") : NULL;
	size_t length;

	reading->section_is_wrong = true;
	if (!close || (rest[0] && rest[0] != ';' && rest[0] != '#')) {
		line_complain(reading, "expected ']' at the end of a section's name");
		return;
	}
	length = (size_t)(close - line - 1);
	if (length >= sizeof(reading->section)) {
		line_complain(reading, "expected a section's name of at most 127 characters");
		return;
	}
	memcpy(reading->section, line + 1, length);
	reading->section[length] = '\0';
	reading->section_is_wrong = !section_is_known(reading, reading->section);
}

/* inih's reader: the next line if it is a name and a value, else an empty one. */
static char *next_line(char *buf, int size, void *stream)
{
	struct reading *reading = stream;
	const char *line = reading->at, *newline;
	size_t length;

	if (line == reading->end)
		return NULL;
	newline = memchr(line, '\n', (size_t)(reading->end - line));
	reading->at = newline ? newline + 1 : reading->end;
	length = (size_t)((newline ? newline : reading->end) - line);
	reading->line++;
	buf[0] = '\0';

	/* without leading blanks inih cannot take it for a continued value */
	while (length && (*line == ' ' || *line == '\t')) {
		line++;
		length--;
	}
	while (length &&
	       (line[length - 1] == ' ' || line[length - 1] == '\t' || line[length - 1] == '\r'))
		length--;
	if (!length || line[0] == '#' || line[0] == ';')
		return buf;
	if (memchr(line, '\0', length)) {
		line_complain(reading, "expected text, found a zero byte");
		return buf;
	}
	if (length > (size_t)size - 2) {
		line_complain(reading, "expected a shorter line");
		return buf;
	}
	memcpy(buf, line, length);
	buf[length] = '\0';
	if (buf[0] == '[') {
		enter_section(reading, buf);
		buf[0] = '\0';
	} else if (!strchr(buf, '=')) {
		line_complain(reading, "expected name = value or [section]");
		buf[0] = '\0';
	}
	return buf;
}

static int take_setting(void *user, const char *section, const char *name, const char *value)
{
	struct reading *reading = user;
	char why[WHY_MAX];
	int r;

	(void)section;
	if (reading->section_is_wrong)
		return 1;
	if (!reading->section[0]) {
		line_complain(reading, "expected a [section] before the first setting");
		return 1;
	}
	r = slu_config_set(reading->config, reading->section, name, value, why, sizeof(why));
	if (r > 0)
		line_complain(reading, why);
	else if (r < 0)
		reading->r = r;
	return 1;
}

int slu_config_read_text(struct slu_config *config, const char *path, const char *text, size_t size,
			 const struct slu_config_reporter *reporter)
{
	struct reading reading = {
		.config = config,
		.reporter = reporter,
		.path = path,
		.at = text,
		.end = text + size,
	};
	int r;

	if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		reading.at += 3;
	r = ini_parse_stream(next_line, &reading, take_setting, &reading);
	if (r < 0)
		return slu_error(-ENOMEM);
	if (r > 0 && !reading.r) {
		reading.line = (unsigned)r;
		line_complain(&reading, "expected name = value or [section]");
	}
	return reading.r < 0 ? slu_fold(reading.r) : reading.r;
}

/* /dev/null: the file that people name to have no settings. */
static bool is_null(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

static int read_file(struct slu_config *config, const char *path,
		     const struct slu_config_reporter *reporter)
{
	slu_cleanup(slu_closep) int fd = -1;
	slu_cleanup(slu_freep) char *text = NULL;
	struct stat st;
	size_t used = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return slu_error(-errno);
	if (!(S_ISREG(st.st_mode) || is_null(&st)) || st.st_size > SLU_CONFIG_FILE_MAX) {
		if (reporter)
			reporter->report(reporter->data, path, 0,
					 "expected a file of at most 1 MiB");
		return SLU_CONFIG_E_WRONG;
	}
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return slu_error(-ENOMEM);
	while (used < (size_t)st.st_size) {
		ssize_t n = read(fd, text + used, (size_t)st.st_size - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return slu_error(-errno);
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return slu_fold(slu_config_read_text(config, path, text, used, reporter));
}

static int is_drop_in(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return entry->d_name[0] != '.' && n > 5 && !strcmp(entry->d_name + n - 5, ".conf");
}

static int read_drop_ins(struct slu_config *config, const char *path,
			 const struct slu_config_reporter *reporter)
{
	char folder[4096], file[4096 + 256];
	struct dirent **entries;
	int n, result = 0;

	if (snprintf(folder, sizeof(folder), "%s.d", path) >= (int)sizeof(folder))
		return slu_error(-ENAMETOOLONG);
	n = scandir(folder, &entries, is_drop_in, alphasort);
	if (n < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : slu_error(-errno);
	for (int i = 0; i < n; i++) {
		int r;

		snprintf(file, sizeof(file), "%s/%s", folder, entries[i]->d_name);
		r = read_file(config, file, reporter);
		if (r < 0 && reporter)
			reporter->report(reporter->data, file, 0, strerror(-r));
		if (r && result >= 0)
			result = r;
		free(entries[i]);
	}
	free(entries);
	return result;
}

int slu_config_read(struct slu_config *config, const char *path, bool must_exist,
		    const struct slu_config_reporter *reporter)
{
	int r, result;

	result = read_file(config, path, reporter);
	if (result == -ENOENT && !must_exist)
		result = 0;
	if (result < 0) {
		char text[128];

		snprintf(text, sizeof(text), "%s%s", strerror(-result),
			 must_exist ? "; leave --config out to use the usual file" : "");
		if (reporter)
			reporter->report(reporter->data, path, 0, text);
		return result;
	}
	r = read_drop_ins(config, path, reporter);
	return r < 0 ? slu_fold(r) : r ? r : result;
}
