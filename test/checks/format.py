#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check-format finds lines of text that are too long, lets tables, links and code pass, and leaves pictures alone."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import SOURCE, check, main


def faults_of(name, text):
    """What the checker says of a tree with one text."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for part in ("src", "devices", "test", "bench", "docs/decisions", "man"):
            (root / part).mkdir(parents=True)
        (root / name).write_text(text)
        done = subprocess.run([SOURCE / "tools/check-format", folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        check(done.returncode == (1 if lines else 0), "the exit status reports faults", done.stdout, done.stderr)
        return lines


def a_long_line_is_found():
    for name in ("README.md", "docs/a.md", "docs/decisions/a.md"):
        found = faults_of(name, "short\n" + "long " * 21 + "\n")
        check(len(found) == 1 and found[0].endswith(f"{name}:2: longer than 100 columns"), f"it is named in {name}", *found)
    check(len(faults_of("man/a.1.scd", "\t" + "x" * 93 + "\n")) == 1, "a tab counts as eight columns")


def tables_links_code_and_characters_pass():
    wide = "x" * 120
    text = f"| {wide} |\n[a]({wide})\n```\n{wide}\n```\n" + "é" * 100 + "\n" + "x" * 100 + "\n"
    found = faults_of("docs/a.md", text)
    check(not found, "nothing is found", *found)


def a_long_comment_is_found():
    found = faults_of("src/a.h", "/*\n * " + "x" * 98 + "\n */\n")
    check(found == ["src/a.h:2: longer than 100 columns"], "it is named", *found)
    found = faults_of("src/a.h", "struct a {\n\t/* " + "x" * 88 + " */\n};\n")
    check(found == ["src/a.h:2: longer than 100 columns"], "a tab counts as eight columns", *found)


def a_picture_is_not_wrapped():
    picture = "/*\n *   OPEN -> SHUT   " + "word " * 20 + "\n *   SHUT -> OPEN   it opens\n */\n"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for part in ("src", "devices", "test", "bench"):
            (root / part).mkdir()
        shutil.copy(SOURCE / ".clang-format", root)
        (root / "src/a.h").write_text(picture.replace(" \n", "\n"))
        subprocess.run([SOURCE / "tools/check-format", folder, "--fix"], check=True)
        check((root / "src/a.h").read_text() == picture.replace(" \n", "\n"), "--fix leaves it alone", (root / "src/a.h").read_text())


main(a_long_line_is_found, tables_links_code_and_characters_pass, a_long_comment_is_found, a_picture_is_not_wrapped)
