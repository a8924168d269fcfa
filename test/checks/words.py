#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check-words finds a retired word wherever it is planted, and lets ordinary English pass."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import SOURCE, check, main


def faults_of(files, allowed=""):
    """What the checker says of a tree with these files and the real glossary."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        files = {"docs/glossary.md": (SOURCE / "docs/glossary.md").read_text(), "tools/check-words.allow": allowed} | files
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        done = subprocess.run([SOURCE / "tools/check-words", folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()[:-1]
        check(done.returncode == (1 if lines else 0), "the exit status reports faults", done.stdout, done.stderr)
        return lines


def a_retired_word_is_found_with_its_place_and_its_replacement():
    found = faults_of({"src/core/planted.c": "int x;\n/* the group is in a knot */\n"})
    check(len(found) == 1 and found[0].startswith("src/core/planted.c:2: 'knot' is retired; say: deadlock"), "it is named", *found)


def identifiers_messages_docs_and_file_names_are_searched():
    planted = {"src/core/knot.c": "", "devices/a/planted.h": "void slu_memory_bury(void);\n", "docs/planted.md": "It settles.\n",
               "man/planted.1.scd": "\tno room is left\n", "test/planted.py": 'check(x, "a ghost")\n', "bench/planted.c": "int homeBytes;\n",
               "src/peer/planted.c": "unsigned n_left;\n", "src/opencl/several.c": "", "README.md": "born in RAM\n",
               "src/place/planted.def": "ROW(PAPER_COPY)\n"}
    found = faults_of(planted)
    for name in planted:
        check(any(line.startswith(name + ":") for line in found), f"the word in {name} is found", *found)
    check(len(found) == len(planted), "nothing else is found", *found)


def ordinary_english_passes():
    text = ("$HOME, XDG_CACHE_HOME and the user's home folder; a file in /home/user\n"
            "several buffers are left; at log level info; a paper; by trial; mushrooms\n"
            "void test_a_program_of_several_streams_is_known_by_its_marks(void);\n")
    found = faults_of({"src/core/planted.c": text, "docs/planted.md": text})
    check(not found, "nothing is found", *found)


def an_allowed_entry_covers_its_folder_and_must_match():
    planted = {"src/core/a.c": "int ghost;\n", "src/core/sched/b.c": "int ghost;\n"}
    found = faults_of(planted, "ghost src/core\n")
    check([line.split(":")[0] for line in found] == ["src/core/sched/b.c"], "the folder below is another one", *found)
    found = faults_of(planted, "ghost src/core\nghost src/core/sched\nknot src/core\n")
    check(len(found) == 1 and "knot src/core" in found[0], "the entry without a match is named", *found)


def the_glossary_and_the_rules_agree():
    text = (SOURCE / "docs/glossary.md").read_text()
    found = faults_of({"docs/glossary.md": text.rstrip("\n") + "\n| thingamajig | thing |\n"})
    check(len(found) == 1 and "thingamajig" in found[0], "a row without a rule is named", *found)
    found = faults_of({"docs/glossary.md": text.replace("| doubt |", "| misgiving |")})
    check(len(found) == 2, "a rule without a row is named too", *found)


main(a_retired_word_is_found_with_its_place_and_its_replacement, identifiers_messages_docs_and_file_names_are_searched,
     ordinary_english_passes, an_allowed_entry_covers_its_folder_and_must_match, the_glossary_and_the_rules_agree)
