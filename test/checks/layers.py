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


def faults_of(name, text, others=None):
    """What the checker says of a tree with one file, and perhaps others that have no fault."""
    with tempfile.TemporaryDirectory() as folder:
        for path, content in {**(others or {}), name: text}.items():
            path = pathlib.Path(folder) / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        done = subprocess.run([SOURCE / "tools/check-layers", folder], capture_output=True, text=True)
        lines = done.stdout.splitlines()[:-1]
        check(done.returncode == (1 if lines else 0), "the exit status tells of faults", done.stdout, done.stderr)
        return lines


def a_clean_file_passes():
    check(not faults_of("src/core/planted.c", CLEAN), "nothing is found")


def each_header_that_reaches_outside_is_found():
    headers = ["<dirent.h>", "<sys/ioctl.h>", "<dlfcn.h>", "<pthread.h>", "<time.h>", "<sys/timerfd.h>", '"base/clock.h"',
               '"base/lock.h"', '"base/log.h"', '"daemon/server.h"', '"wire/channel.h"', '"client/client.h"']
    for name in ("src/core/planted.c", "src/core/planted.h", "src/core/sched/planted.c", "src/peer/planted.c", "src/ptx/planted.def"):
        found = faults_of(name, "".join(f"#include {header}\n" for header in headers))
        check(len(found) == len(headers), f"each of {headers} in {name} is found", *found)


def a_call_that_reaches_outside_is_found():
    lines = ['\tfprintf(stderr, "x");', '\tputs("x");', '\tFILE *f;', '\tname = getenv("HOME");']
    found = faults_of("src/place/planted.c", "\n".join(lines))
    check(len(found) == len(lines), "each is found", *found)
    check(not faults_of("src/place/planted.c", '\tsnprintf(text, sizeof(text), "x");\n'), "formatting is allowed")


def floors_of_one_folder_are_kept_apart():
    check(faults_of("devices/softgpu/interp/planted.c", '#include "softgpu/driver/execution/stream.h"\n'), "the interpreter does not use the driver")
    check(faults_of("devices/softgpu/driver/memory/planted.c", '#include "softgpu/interp/warp.h"\n'),
          "the driver uses the interpreter's public headers only")
    check(faults_of("devices/softgpu/driver/memory/planted.c", '#include "softgpu/driver/images/link.h"\n'), "memory does not use images")
    check(faults_of("devices/softgpu/driver/planted.c", '#include "softgpu/driver/images/link.h"\n'), "a folder's row is not its sub-folder's")
    check(faults_of("src/cuda/planted.c", '#include "client/instance.h"\n'), "a front end uses the client's public headers only")


def scheduler_and_accounts_are_kept_apart():
    for name, header in (("credit", "sched/admit.h"), ("credit", "fit/plan.h"), ("credit", "group.h"),
                         ("sched", "credit/account.h"), ("sched", "credit/capacity.h"), ("sched", "fit/balance.h"),
                         ("fit", "sched/turns.h")):
        found = faults_of(f"src/core/{name}/planted.c", f'#include "core/{header}"\n')
        check(len(found) == 1, f"{name}/ may not include {header}", *found)
    for name, header in (("sched", "fit/plan.h"), ("fit", "credit/capacity.h"), ("fit", "group.h")):
        check(not faults_of(f"src/core/{name}/planted.c", f'#include "core/{header}"\n'), f"{name}/ may include {header}")


def a_forbidden_header_behind_another_is_found():
    shared = {"src/core/state.h": '#include "core/client.h"\n', "src/core/client.h": '#include "core/group.h"\n', "src/core/group.h": ""}
    found = faults_of("src/core/credit/planted.c", '#include "core/state.h"\n', shared)
    check(len(found) == 1 and "core/group.h" in found[0], "credit/ may not see groups through state.h", *found)
    shared["src/core/client.h"] = ""
    check(not faults_of("src/core/credit/planted.c", '#include "core/state.h"\n', shared), "state.h alone is allowed")


def a_call_behind_a_shared_type_is_found():
    shared = {"src/core/credit/capacity.h": "void slu_core_capacity_rise(struct slu_core_capacity *capacity);\n"}
    found = faults_of("src/core/sched/planted.c", "\tslu_core_capacity_rise(&device->capacity);\n", shared)
    check(len(found) == 1, "sched/ may not call credit/", *found)
    check(not faults_of("src/core/fit/planted.c", "\tslu_core_capacity_rise(&device->capacity);\n", shared), "fit/ may")


def a_folder_without_a_row_is_found():
    check(faults_of("src/unknown/planted.c", ""), "it is named")


main(a_clean_file_passes, each_header_that_reaches_outside_is_found, a_call_that_reaches_outside_is_found,
     floors_of_one_folder_are_kept_apart, scheduler_and_accounts_are_kept_apart, a_forbidden_header_behind_another_is_found,
     a_call_behind_a_shared_type_is_found, a_folder_without_a_row_is_found)
