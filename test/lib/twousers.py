# SPDX-License-Identifier: Apache-2.0
"""Being somebody else for a moment: for tests with two users, which only root can run."""

import ctypes
import json
import os
import pathlib
import subprocess
import tempfile

import sluice
from sluice import SLUICED, Skip

MASTERS, ALICE, BOB = 54320, 54321, 54322
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000

libc = ctypes.CDLL(None, use_errno=True)


def call(function, *words):
    """Calls a function of libc; strings become bytes, None a null pointer."""
    if function(*(os.fsencode(w) if isinstance(w, (str, pathlib.Path)) else w for w in words)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def mount(source, target, kind, flags, options=None):
    call(libc.mount, source, target, kind, ctypes.c_ulong(flags), options)


def bind(source, target):
    if source.is_symlink():
        target.symlink_to(os.readlink(source))
        return
    if source.is_dir():
        target.mkdir()
    else:
        target.touch()
    mount(source, target, None, MS_BIND | MS_REC)


def enter_open_root(folder):
    """Gives this process a root folder like the machine's own, but open to every user, and with a group sluice.

    A test machine may be a chroot in a folder of mode 0700, in which nobody but root can run anything. Nothing of this is seen
    outside: the mounts are in a namespace of their own, below one that is made private first (a chroot's root is no mount).
    """
    call(libc.unshare, CLONE_NEWNS)
    mount(None, "/dev/shm", None, MS_PRIVATE)
    mount("tmpfs", folder, "tmpfs", 0, "mode=755")
    for entry in pathlib.Path("/").iterdir():
        bind(entry, folder / entry.name)
    mount(None, folder, None, MS_REC | MS_PRIVATE)
    groups = pathlib.Path("/etc/group").read_text()
    if "\nsluice:" not in groups:
        changed = folder / "group"
        changed.write_text(f"{groups}sluice:x:{MASTERS}:\n")
        mount(changed, folder / "etc/group", None, MS_BIND)
    here = os.getcwd()
    os.chroot(folder)
    os.chdir(here)


def main(*tests):
    """sluice.main() in a root folder that every user can enter, where we may make one; else the tests say why they are skipped."""
    if os.geteuid():
        sluice.main(*tests)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-root-", dir="/dev/shm"))
    child = os.fork()
    if not child:
        try:
            enter_open_root(folder)
        except OSError as error:
            sluice.note(f"no root folder of our own: {error}")
        sluice.main(*tests)
    _, status = os.waitpid(child, 0)
    folder.rmdir()
    raise SystemExit(os.waitstatus_to_exitcode(status))


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
