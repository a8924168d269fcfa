#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check-layers finds what is planted in a folder that must not reach outside, and nothing in a clean one."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import SOURCE, check, main

CLEAN = '#include <stdint.h>\n#include "core/core.h"\n#include "base/util.h"\n'


def faults_of(name, text):
    """What the checker says of a tree with one file."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "src" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        done = subprocess.run([SOURCE / "tools/check-layers", folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()[:-1]
        check(done.returncode == (1 if lines else 0), "the exit status tells of faults", done.stdout, done.stderr)
        return lines


def a_clean_file_passes():
    check(not faults_of("core/planted.c", CLEAN), "nothing is found")


def each_header_that_reaches_outside_is_found():
    headers = ["<dirent.h>", "<sys/ioctl.h>", "<dlfcn.h>", "<pthread.h>", "<time.h>", "<sys/timerfd.h>", '"base/clock.h"',
               '"base/lock.h"', '"base/log.h"', '"daemon/server.h"', '"wire/channel.h"', '"client/client.h"']
    for name in ("core/planted.c", "core/planted.h", "core/sched/planted.c", "peer/planted.c", "ptx/planted.def"):
        found = faults_of(name, "".join(f"#include {header}\n" for header in headers))
        check(len(found) == len(headers), f"each of {headers} in {name} is found", *found)


def a_call_that_reaches_outside_is_found():
    lines = ['\tfprintf(stderr, "x");', '\tputs("x");', '\tFILE *f;', '\tname = getenv("HOME");']
    found = faults_of("place/planted.c", "\n".join(lines))
    check(len(found) == len(lines), "each is found", *found)
    check(not faults_of("place/planted.c", '\tsnprintf(text, sizeof(text), "x");\n'), "formatting is allowed")


def floors_of_one_folder_are_kept_apart():
    check(faults_of("softgpu/interp/planted.c", '#include "softgpu/driver/stream.h"\n'), "the interpreter does not use the driver")
    check(faults_of("core/credit/planted.c", '#include "core/sched/admit.h"\n'), "credit does not use the scheduler's files")
    check(faults_of("cuda/planted.c", '#include "client/instance.h"\n'), "a front end uses the client's public headers only")


def a_folder_without_a_row_is_found():
    check(faults_of("unknown/planted.c", ""), "it is named")


main(a_clean_file_passes, each_header_that_reaches_outside_is_found, a_call_that_reaches_outside_is_found,
     floors_of_one_folder_are_kept_apart, a_folder_without_a_row_is_found)
