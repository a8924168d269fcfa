#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command of sluice is one file and one row: planted in a copy of the tree it is in help, completion and the manual's check."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import BUILD, SOURCE, check, main

ROW = 'SLU_COMMAND(greet, RARE, LOCAL, ANYONE, "say hello")\n'
FILE = '''
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/verb.h"

#include <stdio.h>

struct options {
	const char *whom;
};

static const struct slu_cli_option option_table[] = {
	{ .name = "whom", .arg = "NAME", .doc = "the world by default", .kind = SLU_CLI_TEXT, .offers = "moon sun" },
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct options o = { .whom = "world" };

	slu_cli_parse(&slu_cli_greet, argc, argv, &o);
	printf("hello %s\\n", o.whom);
	return SLU_CLI_OK;
}

const struct slu_cli_verb slu_cli_greet = { .options = option_table, .doc = "Say hello.", .run = run };
'''
TARGET = "src/cli/sluice"
MAIN = "src/cli/sluice.p/main.c.o"


def commands():
    """How the build makes the command: compile main.c, and link."""
    done = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", TARGET], capture_output=True, text=True, check=True)
    lines = [shlex.split(line) for line in done.stdout.splitlines() if line.strip()]
    return (next(words for words in lines if MAIN in words and "-c" in words),
            next(words for words in lines if words[-1] != MAIN and TARGET in words and "-c" not in words))


def compile_file(words, folder, source):
    """The words with another source and object, which looks at the copy of the tree first."""
    made = folder / f"{source.stem}.o"
    words = [*words[:words.index("-c")], "-c", str(source)]
    words[words.index("-o") + 1] = str(made)
    for option in ("-MF", "-MQ"):
        words[words.index(option) + 1] = str(made) + ".d"
    at = next(i for i, word in enumerate(words) if word.startswith("-I"))
    subprocess.run([*words[:at], f"-I{folder}/src", *words[at:]], cwd=BUILD, check=True)
    return str(made)


def build(folder):
    for part in ("cli", "wire"):
        shutil.copytree(SOURCE / "src" / part, folder / "src" / part)
    with open(folder / "src/wire/commands.def", "a") as table:
        table.write(ROW)
    (folder / "src/cli/verb-greet.c").write_text(FILE)
    compiling, linking = commands()
    made = [compile_file(compiling, folder, folder / "src/cli" / name) for name in ("main.c", "verb-greet.c")]
    linking[linking.index("-o") + 1] = str(folder / "sluice")
    at = linking.index(MAIN)
    subprocess.run([*linking[:at], *made, *linking[at + 1:]], cwd=BUILD, check=True)
    return folder / "sluice"


def completed(sluice, *words):
    """What the shell would offer for the last word."""
    script = (f"source {shlex.quote(str(SOURCE / 'data/completions/sluice'))}; sluice() {{ {shlex.quote(str(sluice))} \"$@\"; }};"
              "COMP_WORDS=(sluice \"$@\") COMP_CWORD=$#; _sluice; echo \"${COMPREPLY[@]}\"")
    return subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True).stdout.split()


def one_file_and_one_row_are_a_command():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sluice = build(folder)
        say = lambda *words: subprocess.run([sluice, *words], capture_output=True, text=True)
        check("  greet     say hello\n" in say("help").stdout, "help lists it", say("help").stdout)
        check(say("greet").stdout == "hello world\n" and say("greet", "--whom", "moon").stdout == "hello moon\n", "it runs")
        check("--whom=NAME" in say("greet", "--help").stdout, "it has help of its own", say("greet", "--help"))
        check(say("gret").returncode == 120 and "Did you mean 'sluice greet'?" in say("gret").stderr, "it is suggested", say("gret"))
        check(completed(sluice, "gr") == ["greet"], "the shell completes it", completed(sluice, "gr"))
        check(completed(sluice, "greet", "--w") == ["--whom"], "and its option", completed(sluice, "greet", "--w"))
        check(completed(sluice, "greet", "--whom", "m") == ["moon"], "and the argument", completed(sluice, "greet", "--whom", "m"))
        done = subprocess.run([SOURCE / "tools/check-manual", sluice, SOURCE], capture_output=True, text=True)
        check(done.returncode == 1 and "'greet'" in done.stdout, "the check misses it in the manual", done)


main(one_file_and_one_row_are_a_command)
