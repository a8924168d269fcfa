#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check-hardening finds each kind of hardening that a library lacks."""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from sluice import SOURCE, check, main

CODE = """
#include <string.h>
int use(char *to);
int copy(const char *from, size_t n)
{
	char buffer[64];

	memcpy(buffer, from, n);
	return use(buffer);
}
"""
FLAGS = ["-O2", "-fPIC", "-shared", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro", "-Wl,-z,now",
         "-Wl,-z,noexecstack"]


def faults_of(*options, **replaced):
    """What the checker says of a library, with some of the flags replaced."""
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "x.so"
        flags = [replaced.get(flag.split(",")[-1].split("=")[0].lstrip("-").replace("-", "_"), flag) for flag in FLAGS]
        subprocess.run(["cc", "-w", "-x", "c", "-", "-o", library, *flags], input=CODE, text=True, check=True)
        done = subprocess.run([SOURCE / "tools/check-hardening", *options, library], capture_output=True, text=True)
        check((done.returncode == 0) == ("is hardened" in done.stdout), "the exit status reports faults", done)
        return [line.split(": ")[1] for line in done.stdout.splitlines() if ": " in line]


def a_hardened_library_passes():
    check(faults_of() == [], "nothing is found", *faults_of())


def each_kind_that_is_missing_is_found():
    for flag, new, fault in (("relro", "-Wl,-z,norelro", "relocations stay writable"), ("now", "-Wl,-z,lazy", "symbols are bound late"),
                             ("noexecstack", "-Wl,-z,execstack", "the stack is executable"),
                             ("fstack_protector_strong", "-fno-stack-protector", "no stack protector"),
                             ("D_FORTIFY_SOURCE", "-O2", "copies are not checked")):
        found = faults_of(**{flag: new})
        check(found == [fault], f"{new} is found", *found)


def what_a_build_cannot_have_is_not_demanded():
    check(faults_of("--lazy", now="-Wl,-z,lazy") == [], "a library may bind late")
    check(faults_of("--plain", D_FORTIFY_SOURCE="-O2") == [], "a build without optimisation checks no copies")


main(a_hardened_library_passes, each_kind_that_is_missing_is_found, what_a_build_cannot_have_is_not_demanded)
