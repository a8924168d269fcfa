#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sluice park --deep` and `sluice adopt`: the driver takes everything that a program has off the
device, memory that cannot move and contexts included, and brings it back.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

FAILED, REFUSED = 124, 122

#: 20 MiB of a module's variables, which cannot move, and 8 MiB that can. Each line of input asks for a look at both.
KEEPER = """
import ctypes, sys
cu = ctypes.CDLL("libcuda.so.1")
context, module, table, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_uint64()
ptx = b".version 6.3\\n.target sm_75\\n.address_size 64\\n.visible .global .align 16 .b8 table[20971520];\\n.visible .entry none()\\n{\\nret;\\n}\\n"
TABLE, MEMORY = 20 << 20, 8 << 20
def ok(r):
    assert r == 0, r
ok(cu.cuInit(0))
ok(cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
ok(cu.cuModuleLoadData(ctypes.byref(module), ptx))
ok(cu.cuModuleGetGlobal_v2(ctypes.byref(table), None, module, b"table"))
ok(cu.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(MEMORY)))
pattern = bytes(range(251)) * (TABLE // 251 + 1)
ok(cu.cuMemcpyHtoD_v2(table, pattern, ctypes.c_size_t(TABLE)))
ok(cu.cuMemcpyHtoD_v2(memory, pattern[3:], ctypes.c_size_t(MEMORY)))
ok(cu.cuCtxSynchronize())
print("ready", flush=True)
for line in sys.stdin:
    host = ctypes.create_string_buffer(TABLE)
    ok(cu.cuMemcpyDtoH_v2(host, table, ctypes.c_size_t(TABLE)))
    assert host.raw == pattern[:TABLE], "table"
    ok(cu.cuMemcpyDtoH_v2(host, memory, ctypes.c_size_t(MEMORY)))
    assert host.raw[:MEMORY] == pattern[3:MEMORY + 3], "memory"
    ok(cu.cuMemsetD8_v2(memory, 90, ctypes.c_size_t(MEMORY)))
    ok(cu.cuMemcpyHtoD_v2(memory, pattern[3:], ctypes.c_size_t(MEMORY)))
    print("right", flush=True)
"""


def world(name, **more):
    return s.World(name, softgpu={"profile": "rtx5080"}, **more)


def command(w, *words, exits=0, env=None):
    done = subprocess.run([s.SLUICE, *words, "--socket", w.socket], capture_output=True, text=True,
                          env=w.environment(w.cuda_environment() | (env or {})))
    s.check(done.returncode == exits, f"sluice {' '.join(words)} ends with {exits}, not {done.returncode}", done.stdout, done.stderr,
            w.log()[-2000:])
    return done


def keeper(w, **more):
    program = w.start([sys.executable, "-c", KEEPER], "cuda", stdin=subprocess.PIPE, **more)
    s.check(program.stdout.readline() == "ready\n", "it has its memory", w.log()[-2000:])
    return program


def look_right(program):
    program.stdin.write("look\n")
    program.stdin.flush()
    line = program.stdout.readline()
    s.check(line == "right\n", "it finds what it wrote", line)


def used(w):
    """All bytes of the device that anybody has."""
    view = s.wait_until("the board can be read", lambda: w.look("softgpu0"))
    return view["true_used_bytes"]


def a_suspended_program_has_nothing_on_the_device_and_comes_back():
    with world("suspend") as w:
        w.start_daemon()
        a = keeper(w, name="a")
        s.check(used(w) > 20 * s.MIB, "it has memory that cannot move")
        out = command(w, "park", "--deep", "a").stdout
        s.check(out == f"Suspended a (pid {a.pid}).\n", "it is said who was suspended", out)
        s.check(used(w) == 0, "nothing of it is on the device", w.look("softgpu0"))
        row = w.program("a")
        s.check(row["state"] == "suspended" and row["parked"], "status says so", row)
        # 52 MiB of 64 do not fit next to what cannot move
        w.run([s.CLIENTS / "cuda-fill", "--mib", 52, "--rounds", 2], "cuda", name="b")
        out = command(w, "unpark", "a").stdout
        s.check(out == f"Brought back a (pid {a.pid}).\n", "it is said who came back", out)
        look_right(a)
        row = w.program("a")
        s.check(row["state"] != "suspended" and not row["parked"], "status says so", row)
        w.end(a)


def others_give_up_memory_for_a_program_that_comes_back():
    with world("suspend-back") as w:
        w.start_daemon()
        a = keeper(w, name="a")
        command(w, "park", "--deep", "a")
        # next to what cannot move it fits, next to all of the program it does not
        b = w.start([s.CLIENTS / "cuda-fill", "--mib", 36, "--rounds", 1, "--wait"], "cuda", name="b", stdin=subprocess.PIPE)
        s.check(b.stdout.readline() == "ready\n", "the other one has its memory")
        command(w, "unpark", "a")
        look_right(a)
        w.end(b)
        w.end(a)


def programs_that_work_all_the_time_are_suspended_again_and_again():
    with world("suspend-busy", settings={"memory.checksum_moves": "on", "scheduler.slice": "50ms"}) as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cuda-fill", "--mib", 40, "--buffers", 5, "--seed", i, "--endless"], "cuda", name=f"p{i}",
                            stdin=subprocess.PIPE) for i in range(2)]
        for i in range(2):
            s.wait_until("it works", lambda: (w.program(f"p{i}") or {}).get("launches"))
        for i in range(6):
            who = f"p{i % 2}"
            command(w, "park", "--deep", who)
            s.check(w.program(who)["state"] == "suspended", "it is suspended", w.program(who))
            before = w.program(who)["launches"]
            command(w, "unpark", who)
            s.wait_until("it works again", lambda: w.program(who)["launches"] > before)
        for p in programs:
            w.end(p)


def machines_hear_who_was_suspended():
    with world("suspend-json") as w:
        w.start_daemon()
        a = keeper(w, name="a")
        for words in ("park", "--deep", "a"), ("unpark", "a"):
            reply = json.loads(command(w, *words, "--json").stdout)
            s.check(reply["programs"] == [{"name": "a", "pid": a.pid}], "the programs are listed", reply)
        look_right(a)
        w.end(a)


def a_suspend_that_fails_leaves_the_program_running():
    """The driver's first steps fail, one after the other."""
    with world("suspend-fails") as w:
        w.start_daemon()
        for n in 1, 2:
            a = keeper(w, name="a", env={"SLUICE_SOFTGPU_FAULT": f"suspend:{n}"})
            done = command(w, "park", "--deep", "a", exits=FAILED)
            s.check("was not suspended" in done.stderr and "goes on as before" in done.stderr, "it is said", done.stderr)
            row = w.program("a")
            s.check(row["state"] != "suspended" and not row["parked"], "it is as before", row)
            look_right(a)
            command(w, "park", "--deep", "a")
            command(w, "unpark", "a")
            look_right(a)
            w.end(a)


def a_restore_that_fails_can_be_tried_again():
    with world("suspend-again") as w:
        w.start_daemon()
        orders = w.folder / "orders"
        orders.write_text("")
        a = keeper(w, name="a", env={"SLUICE_SOFTGPU_FAULT_FILE": orders})
        command(w, "park", "--deep", "a")
        (w.folder / "new").write_text("suspend:1")
        (w.folder / "new").rename(orders)
        done = command(w, "unpark", "a", exits=FAILED)
        s.check("was not brought back" in done.stderr and "stays suspended" in done.stderr, "it is said", done.stderr)
        s.check(w.program("a")["state"] == "suspended" and used(w) == 0, "it is suspended still", w.program("a"))
        command(w, "unpark", "a")
        look_right(a)
        w.end(a)


def a_suspended_program_stays_so_over_a_restart_of_the_daemon():
    with world("suspend-restart") as w:
        w.start_daemon()
        a = keeper(w, name="a")
        command(w, "park", "--deep", "a")
        w.kill_daemon()
        w.start_daemon()
        s.wait_until("the program is listed", lambda: w.program("a"))
        s.check(w.program("a")["state"] == "suspended", "it is known as suspended", w.program("a"))
        command(w, "unpark", "a")
        look_right(a)
        w.end(a)


def a_suspended_program_that_is_killed_leaves_nothing():
    with world("suspend-kill") as w:
        w.start_daemon()
        a = keeper(w, name="a")
        command(w, "park", "--deep", "a")
        command(w, "kick", "a")
        w.finish(a, exits=(-9,))
        s.wait_until("it is gone", lambda: not w.program("a"))
        w.run([s.CLIENTS / "cuda-fill", "--mib", 52, "--rounds", 1], "cuda", name="b")


def a_program_outside_sluice_is_adopted_and_released():
    with world("adopt") as w:
        w.start_daemon()
        a = keeper(w, sluice=False)
        out = command(w, "adopt", str(a.pid)).stdout
        s.check(out == f"Suspended the program (pid {a.pid}).\n" and used(w) == 0, "nothing of it is on the device", out, w.look("softgpu0"))
        w.run([s.CLIENTS / "cuda-fill", "--mib", 52, "--rounds", 2], "cuda", name="b")
        command(w, "adopt", "--release", str(a.pid))
        look_right(a)
        w.end(a)


def adopt_says_what_it_cannot_do():
    with world("adopt-no") as w:
        w.start_daemon()
        a = keeper(w, name="a")
        done = command(w, "adopt", str(a.pid), exits=REFUSED)
        s.check("shares the GPU by Sluice already" in done.stderr, "it is a program of Sluice", done.stderr)
        done = command(w, "adopt", str(os.getpid()), exits=FAILED)
        s.check("the driver knows no CUDA program of that pid" in done.stderr, "this is no CUDA program", done.stderr)
        done = command(w, "adopt", "many", exits=120)
        s.check("'many' is not a pid" in done.stderr, "this is no pid", done.stderr)
        look_right(a)
        w.end(a)


if __name__ == "__main__":
    s.main(a_suspended_program_has_nothing_on_the_device_and_comes_back,
           programs_that_work_all_the_time_are_suspended_again_and_again, others_give_up_memory_for_a_program_that_comes_back,
           machines_hear_who_was_suspended, a_suspend_that_fails_leaves_the_program_running, a_restore_that_fails_can_be_tried_again,
           a_suspended_program_stays_so_over_a_restart_of_the_daemon, a_suspended_program_that_is_killed_leaves_nothing,
           a_program_outside_sluice_is_adopted_and_released, adopt_says_what_it_cannot_do)
