#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check-functions finds long functions without a reason, unused ones, and files without a head."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import SOURCE, check, main

SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
LONG = "int a_run(int x,\n\t  int y)\n{\n" + "\tx++;\n" * 81 + "}\n"


def faults_of(**files):
    """What the checker says of a tree with these files in src/; "_" in a name stands for its dot."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "src").mkdir()
        for name, text in files.items():
            (root / "src" / name.replace("_", ".")).write_text(text)
        done = subprocess.run([SOURCE / "tools/check-functions", folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()[:-1]
        check(done.returncode == (1 if lines else 0), "the exit status reports faults", done.stdout, done.stderr)
        return lines


def a_long_function_gives_its_reason():
    found = faults_of(a_c="static int b;\n\n" + LONG, a_h="")
    check(len(found) == 1 and found[0].startswith("src/a.c:3: 81 lines"), "it is named", *found)
    found = faults_of(a_c="static int b;\n\n/* Adds.\n * Long: it counts. */\n" + LONG, a_h="")
    check(not found, "a reason is enough", *found)
    found = faults_of(a_c=LONG.replace("\tx++;\n", "", 1), a_h="")
    check(not found, "80 lines need none", *found)


def an_unused_function_is_found():
    head, body = "int slu_a_get(void);\n", "int slu_a_get(void)\n{\n\treturn 0;\n}\n"
    found = faults_of(a_h=head, a_c=body, b_c=SPDX + "/* Part of a.h: slu_a_get() is in no code here. */\n")
    check(found == ["src/a.h: slu_a_get() is used nowhere"], "a comment is no use", *found)
    found = faults_of(a_h=head, a_c=body, b_c=SPDX + '/* Part of a.h. */\nconst char *b = "/*";\nint c = slu_a_get();\n')
    check(not found, "a string is no comment", *found)


def a_file_without_a_header_says_what_it_is():
    found = faults_of(a_c=SPDX + "int b;\n")
    check(len(found) == 1 and found[0].startswith("src/a.c: no header"), "it is named", *found)
    check(not faults_of(a_c=SPDX + "/* Part of b.h. */\nint b;\n"), "a comment is enough")


main(a_long_function_gives_its_reason, an_unused_function_is_found, a_file_without_a_header_says_what_it_is)
