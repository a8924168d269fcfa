#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/install-settings keeps settings that somebody has changed."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import SOURCE, check, main


def an_edited_file_stays():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source, made = folder / "x.conf", folder / "root/etc/sluice/x.conf"
        beside = made.with_name("x.conf.new")

        def install(text):
            source.write_text(text)
            return subprocess.run([SOURCE / "tools/install-settings", source, "/etc/sluice"], capture_output=True, text=True, check=True,
                                  env=os.environ | {"DESTDIR": str(folder / "root")}).stderr

        for _ in range(2):
            check(install("first\n") == "" and made.read_text() == "first\n", "it is installed, and again")
        made.write_text("mine\n")
        said = install("second\n")
        check(made.read_text() == "mine\n" and beside.read_text() == "second\n", "the new one is next to it")
        check(str(made) in said and "x.conf.new" in said, "and this is said", said)
        made.write_text("second\n")
        check(install("second\n") == "" and not beside.exists(), "what was taken over is not there twice")


main(an_edited_file_stays)
