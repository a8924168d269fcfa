# SPDX-License-Identifier: Apache-2.0
"""Being somebody else for a moment: for tests with two users, which only root can run."""

import json
import os
import subprocess

from sluice import SLUICED, Skip

ALICE, BOB = 54321, 54322


def become(uid, groups=()):
    os.setgroups(list(groups))
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def as_user(uid, work, groups=()):
    """What `work` returns, or the name of what it raises, in a child that is that user."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        try:
            become(uid, groups)
            answer = work()
        except Exception as error:
            answer = type(error).__name__
        os.write(write_end, json.dumps(answer).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text)


def need_two_users():
    if os.geteuid():
        raise Skip("only root can be two users")
    # a folder above that is closed to others, and be it the root folder, leaves them without programs
    if as_user(ALICE, lambda: subprocess.run(["/bin/true"], stderr=subprocess.DEVNULL).returncode) != 0:
        raise Skip("another user cannot run any program here")
    if as_user(ALICE, lambda: os.access(SLUICED, os.X_OK)) is not True:
        raise Skip(f"another user cannot run {SLUICED}")
