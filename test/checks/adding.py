#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A policy and a setting are added to a scratch copy as ARCHITECTURE.md says, and nothing else needs a change.

The policy is the example of docs/writing-a-policy.md.

The copy is built without optimisation, and no more of it than the daemon, its manual and one unit test.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import SOURCE, check, main

# the example of the page about policies
PAGE = (SOURCE / "docs/writing-a-policy.md").read_text()
POLICY = re.search(r"```c\n(.*?)```", PAGE, re.DOTALL).group(1)

SETTING = 'SLU_SETTING("daemon", added_timeout, TIME, added_ns, "7s", MS, HOUR, "", "A time that was added.")\n'

# kind of thing in ARCHITECTURE.md: {file: (text after which a line is put, the line)}; no text: a new file
ADDED = {
    "A policy": {
        "src/core/sched/policy-patient.c": (None, POLICY),
        "src/core/sched/policy.c": ("#define POLICIES(ROW) \\\n", "\tROW(patient) \\\n"),
        "src/core/meson.build": ("'sched/policy.c', ", "'sched/policy-patient.c', "),
    },
    "A setting": {
        "src/daemon/settings.def": ('SLU_SETTING("daemon",', SETTING),
    },
}


def add(tree, name, after, line):
    path = tree / name
    text = "" if after is None else path.read_text()
    check(after is None or after in text, f"{name} has a place for it", repr(after))
    place = 0 if after is None else text.index(after) + (0 if after.startswith("SLU_SETTING") else len(after))
    path.write_text(text[:place] + line + text[place:])


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout + done.stderr


def architecture_names_the_files():
    text = (SOURCE / "ARCHITECTURE.md").read_text()
    for kind, files in ADDED.items():
        row = re.search(rf"^\* \*\*{kind}\*\*:(.*(?:\n  .*)*)$", text, re.MULTILINE)
        check(row, f"'Adding things' has {kind}")
        named = {pathlib.PurePath(name.replace("policy-x", "policy-patient")).name for name in re.findall(r"`([^`]*)`", row.group(1))}
        for name in files:
            check(pathlib.PurePath(name).name in named, f"the row of {kind} names {name}", row.group(0))


def what_is_added_is_there():
    with tempfile.TemporaryDirectory() as folder:
        tree, build = pathlib.Path(folder) / "tree", pathlib.Path(folder) / "build"
        shutil.copytree(SOURCE, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", "build", "build-*"))
        for files in ADDED.values():
            for name, (after, line) in files.items():
                add(tree, name, after, line)
        status, words = run("meson", "setup", build, tree, "-Doptimization=0", "-Dwerror=true")
        check(status == 0, "it can be configured", words)
        manual = ["man/sluiced.conf.5.scd"] if shutil.which("scdoc") else []
        status, words = run("ninja", "-C", build, "src/daemon/sluiced", "src/core/test-core-policy", *manual)
        check(status == 0, "it can be built", words)

        daemon, config = build / "src/daemon/sluiced", pathlib.Path(folder) / "sluiced.conf"
        config.write_text("[daemon]\nadded_timeout = 3s\n[scheduler]\npolicy = patient\n")
        status, words = run(daemon, "--config", config, "--print-settings")
        check("\nadded_timeout = 3s\n" in words and "\npolicy = patient\n" in words, "both are read and printed", words)
        config.write_text("[daemon]\nadded_timeout = soon\n[scheduler]\npolicy = none\n")
        status, words = run(daemon, "--config", config, "--print-settings")
        check(status != 0, "a wrong value is refused", words)
        check("added_timeout: expected a time such as 250ms, 2s or 1h, from 1ms to 1h, not 'soon'" in words, "with its range", words)
        check("policy: expected one of patient|" in words, "with the names of all policies", words)
        for page in manual:
            text = (build / page).read_text()
            check("*added_timeout* = 7s\n\tA time that was added." in text, "the manual has the setting", text)
            check("patient: the longest wait goes first;" in text, "the manual has the policy", text)
        status, words = run(build / "src/core/test-core-policy")
        check(status == 0 and "# patient: who came first" in words, "the policy passes what every policy must", words)


main(architecture_names_the_files, what_is_added_is_there)
