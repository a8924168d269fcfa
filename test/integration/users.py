#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two daemons, two users, with real programs: the second daemon names the owner of the device, and
another user can neither join a private daemon nor read bytes that left the device. (daemon-users.py
asks a system daemon the same, in messages.)
"""

import contextlib
import json
import os
import pathlib
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s
from twousers import ALICE, BOB, as_user, become, main, need_two_users

SETTINGS = {"scheduler.slice": "20ms", "memory.reserve_percent": 0}


@contextlib.contextmanager
def alices_world():
    """A private daemon and two programs of alice's, some of whose bytes are away; yields what the
    tests need to know about them."""
    told, tell = os.pipe()
    hold, go = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.close(go)
            become(ALICE)
            with s.World("alice", memory=3 * s.MIB // 2, settings=SETTINGS, softgpu={"scale": 256}) as w:
                w.start_daemon()
                programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", 1, "--rounds", 1, "--endless"], "cuda", name=f"a{i}",
                                    stdin=subprocess.PIPE) for i in range(2)]
                s.wait_until("bytes have left the device", lambda: any(p["moved_out_bytes"] for p in w.status()["programs"]),
                             look=lambda: w.sluice("status").stdout + w.log()[-3000:])
                os.write(tell, json.dumps({"folder": str(w.folder), "socket": str(w.socket), "pids": [
                    p.pid for p in programs]}).encode())
                os.close(tell)
                os.read(hold, 1)
                for program in programs:
                    w.end(program)
            status = 0
        except Exception as error:
            s.note("alice: " + "\n# ".join(str(error).splitlines()))
        finally:
            os._exit(status)
    os.close(tell)
    os.close(hold)
    with os.fdopen(told) as file:
        text = file.read()
    try:
        s.check(text, "alice's programs run")
        yield json.loads(text)
    finally:
        os.close(go)
        _, status = os.waitpid(child, 0)
    s.check(status == 0, "alice's programs end right")


def nobody_else_reads_bytes_that_left_the_device():
    need_two_users()
    with alices_world() as alice:
        for pid in alice["pids"]:
            for name in ("mem", "maps", "environ", "fd", "map_files"):
                path = pathlib.Path("/proc", str(pid), name)

                def read():
                    return os.listdir(path) and "listed" if path.is_dir() else path.open("rb").read(1) and "read"
                s.check(as_user(BOB, read) == "PermissionError", f"bob cannot read {path}")
        # whatever the folder above them allows: nothing in it is anybody else's to open
        os.chmod(alice["folder"], 0o755)
        paths = list(pathlib.Path(alice["folder"]).rglob("*"))
        kinds = {"sluice.sock": stat.S_ISSOCK, "roster": stat.S_ISREG, "memory": stat.S_ISREG}
        for name, is_kind in kinds.items():
            s.check(any(name in p.name and is_kind(p.stat().st_mode) for p in paths), f"there is a {name}", paths)
        for path in paths:
            if path.is_dir() or path.name in ("sluiced.log", "sluiced.conf"):
                continue  # the test's own

            def open_it():
                return os.close(os.open(path, os.O_RDONLY)) or "opened"
            s.check(as_user(BOB, open_it) in ("PermissionError", "OSError") and not path.stat().st_mode & 0o077,
                    f"bob cannot open {path}", oct(path.stat().st_mode))
        others = [p for p in pathlib.Path("/dev/shm").iterdir()
                  if p.stat().st_uid == ALICE and str(p) != alice["folder"]]
        s.check(not others, "alice's programs left nothing beside", others)


def nobody_else_joins_a_private_daemon():
    need_two_users()
    with alices_world() as alice:
        os.chmod(alice["folder"], 0o755)

        def run():
            done = subprocess.run([s.SLUICE, "run", "--require", "--socket", alice["socket"], "--", "echo", "ran"],
                                  capture_output=True, text=True, env={"XDG_RUNTIME_DIR": "/nonexistent"})
            return [done.returncode, done.stdout, done.stderr]
        code, out, why = as_user(BOB, run)
        s.check(code and "ran" not in out, "bob's program does not run", code, out, why)
        s.note(f"bob is told: {why.splitlines()[0]}")

        def look():
            done = subprocess.run([s.SLUICE, "status", "--socket", alice["socket"]], capture_output=True, text=True)
            return [done.returncode, done.stdout, done.stderr]
        code, out, why = as_user(BOB, look)
        s.check(code and "a0" not in out + why, "nor does he see who is there", out, why)


def the_second_daemon_says_whose_the_device_is():
    with s.World("first", memory=4 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as first, \
            s.World("second", memory=4 * s.MIB, settings=SETTINGS, softgpu={"scale": 256}) as second:
        boards = {"SLUICE_BOARDS": first.folder / "boards"}
        first.start_daemon()
        words = [s.CLIENTS / "cuda-fill", "--mib", 1, "--rounds", 1, "--endless"]
        owner = first.start(words, "cuda", name="owner", stdin=subprocess.PIPE)
        s.wait_until("the first one has the device", lambda: (first.program("owner") or {}).get("launches"))
        second.start_daemon(env=boards)
        stranger = second.start(words, "cuda", name="stranger", stdin=subprocess.PIPE, env=boards)
        refused = s.wait_until("the second one refuses it", lambda: (
            p := second.program("stranger")) and p["connection"] == "refused" and p,
            look=lambda: second.sluice("status").stdout + second.log() + first.log())
        s.check(str(first.daemon.pid) in refused["reason"], "it says whose the device is", refused)
        s.note(f"the program is told: {refused['reason']}")
        outsiders = s.wait_until("the first one sees an outsider", lambda: first.status()["devices"][0]["outsiders"])
        s.check(outsiders[0]["pid"] == stranger.pid, "and who it is", outsiders)
        second.end(stranger)
        first.end(owner)


main(nobody_else_reads_bytes_that_left_the_device, nobody_else_joins_a_private_daemon,
     the_second_daemon_says_whose_the_device_is)
