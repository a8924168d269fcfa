#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check-walk finds a wrong name in the walk, in ARCHITECTURE.md and in the pictures of headers."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import SOURCE, check, main

HEADER = """/*
 * One thing:
 *
 *   OPEN -> SHUT   [slu_thing_shut]   it is shut
 *   SHUT -> OPEN   [slu_thing_open]
 *
 * The parts:
 *
 *   one.c    the first
 *   two.c    the second
 *   three.c  the third; four.c helps
 */
enum slu_thing { SLU_THING_OPEN, SLU_THING_SHUT, _SLU_THING_MAX };
void slu_thing_open(int x);
"""
CLEAN = {
    "src/thing/thing.h": HEADER,
    "src/thing/one.c": '#include "thing/thing.h"\nvoid slu_thing_open(int x)\n{\n}\n',
    "src/thing/two.c": '#include "thing/thing.h"\nstatic int\n*helper(int x,\n\tint y)\n{\n\treturn 0;\n}\n',
    "src/thing/three.c": '#include "thing/thing.h"\nvoid slu_thing_shut(void)\n{\n\thelper(1, 2);\n}\n',
    "src/thing/four.c": '#include "thing/thing.h"\n',
    "src/thing/calls.def": "SLU_ROW(cuThing, int)\n",
    "docs/walk.md": "1. `helper`, `src/thing/two.c`: helps.\n2. `cuThing`,\n   `src/thing/calls.def`: `slu_thing_shut()` follows.\n",
    "ARCHITECTURE.md": "`src/thing/one.c` has `slu_thing_open()`; a new one is `src/thing/policy-x.c`.\n\n"
                       "```\none ─┐\n     ▼\n    two\n```\n",
}


def faults_of(path=None, old="", new=""):
    """What the checker says of the clean tree with one text replaced."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in CLEAN.items():
            (pathlib.Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            if name == path:
                check(old in text, f"{name} has the text to replace", old)
                text = text.replace(old, new)
            (pathlib.Path(folder) / name).write_text(text)
        done = subprocess.run([SOURCE / "tools/check-walk", folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()[:-1]
        check(done.returncode == (1 if lines else 0), "the exit status reports faults", done.stdout, done.stderr)
        return lines


def expect(path, old, new, *words):
    found = faults_of(path, old, new)
    check(len(found) == 1 and found[0].startswith(f"{path}:") and all(word in found[0] for word in words),
          f"'{new}' in {path} is found", *found)


def a_clean_tree_passes():
    check(not faults_of(), "nothing is found", *faults_of())


def a_wrong_name_in_the_walk_is_found():
    expect("docs/walk.md", "`helper`", "`helps`", ":1:", "src/thing/two.c does not define helps")
    expect("docs/walk.md", "two.c", "zwei.c", ":1:", "src/thing/zwei.c")
    expect("docs/walk.md", "slu_thing_shut()", "slu_thing_slam()", ":3:", "slu_thing_slam()")
    expect("docs/walk.md", "`helper`, `src", "`helper` in `src", "not a step")


def a_wrong_name_in_the_architecture_is_found():
    expect("ARCHITECTURE.md", "one.c", "eins.c", ":1:", "src/thing/eins.c")
    expect("ARCHITECTURE.md", "slu_thing_open()", "slu_thing_begin()", "slu_thing_begin()")


def a_wrong_name_in_a_picture_is_found():
    expect("src/thing/thing.h", "[slu_thing_shut]", "[slu_thing_slam]", ":4:", "slu_thing_slam()")
    expect("src/thing/thing.h", "SHUT -> OPEN ", "GONE -> OPEN ", ":5:", "SLU_THING_GONE")
    expect("src/thing/thing.h", "SLU_THING_SHUT,", "SLU_THING_SHUT, SLU_THING_AJAR,", "lacks the state SLU_THING_AJAR")


def a_list_of_files_that_lacks_one_is_found():
    expect("src/thing/thing.h", "; four.c helps", "", "lacks four.c")
    found = faults_of("src/thing/thing.h", "one.c    the first", "once.c   the first")
    check(any("there is no once.c" in line for line in found), "a file that does not exist is found", *found)


def a_wrapped_drawing_is_found():
    expect("ARCHITECTURE.md", "one ─┐\n     ▼\n    two", "one ─┐\n\n    two", ":4:", "'┐' in column 6 meets nothing")
    expect("ARCHITECTURE.md", "one ─┐\n     ▼\n    two", "above-all-of-it\none, two ▼\nthree", ":5:", "in the middle of a text")
    row = " *   OPEN -> SHUT   [slu_thing_shut]   it is shut"
    long = row + " as soon as nothing is inside of it any more,"
    expect("src/thing/thing.h", row, long + "\n * and-that-may-last", ":4:", "goes on at the margin")
    found = faults_of("src/thing/thing.h", row, long + "\n *                                     and-that-may-last")
    check(not found, "a row that goes on under itself passes", *found)


main(a_clean_tree_passes, a_wrong_name_in_the_walk_is_found, a_wrong_name_in_the_architecture_is_found,
     a_wrong_name_in_a_picture_is_found, a_list_of_files_that_lacks_one_is_found, a_wrapped_drawing_is_found)
