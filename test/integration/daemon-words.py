#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a person reads: status, history and their pictures, in a terminal of 80 columns and in a pipe."""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

NO_MEMORY = 4  # how the programs of test/clients end
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def two_programs(w):
    """A device for one of them, and both have had a turn."""
    w.start_daemon()
    programs = [w.start([s.CLIENTS / "cl-talk", "--mib", 20, "--all", "--endless"], "opencl", name=name, stdin=subprocess.PIPE)
                for name in ("chat.py", "a-server-with-a-long-name")]
    s.wait_until("both had turns", lambda: len({t["name"] for t in w.history()["turns"] if t["end_ms"]}) == 2)
    return programs


def world(name):
    return s.World(name, memory=32 * s.MIB, settings={"scheduler.slice": "50ms"})


def read_in_terminal(w, words, enough, columns=80, lines=24, env=None, keeps_slave=False):
    """What a terminal shows of a command until `enough` returns true; then the command is ended.
    keeps_slave: the terminal's other end stays open, and `enough` gets it as well."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    program = subprocess.Popen([s.SLUICE, *words, "--socket", w.socket], stdout=slave, stdin=slave, stderr=slave,
                               env=w.environment({"TERM": "xterm"} | (env or {})), start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    if not keeps_slave:
        os.close(slave)
    seen = b""
    try:
        while not (enough(seen.decode(errors="replace"), slave) if keeps_slave else enough(seen.decode(errors="replace"))):
            seen += os.read(master, 4096)
    except OSError:
        pass  # the command has ended and with it the terminal
    finally:
        program.terminate()
        with contextlib.suppress(OSError):
            while not keeps_slave:
                seen += os.read(master, 4096)
        program.wait()
        os.close(master)
        if keeps_slave:
            os.close(slave)
    return seen.decode(errors="replace")


def status_fits_into_80_columns():
    with world("words-80") as w:
        programs = two_programs(w)
        out = subprocess.run([s.SLUICE, "status", "--socket", w.socket], env=w.environment({"COLUMNS": "80"}), capture_output=True, text=True).stdout
        rows = [line for line in out.splitlines() if not line.startswith("  █")]
        s.check(all(len(line) <= 80 for line in rows), "no line is longer", out)
        for word in ("GPU 0", "PROGRAM", "STATE", "chat.py", "a-server-wit", "of 32.0 MiB", "turn:"):
            s.check(word in out, f"'{word}' is there", out)
        for p in programs:
            w.end(p)


def programs_of_one_name_are_told_apart():
    with world("words-twins") as w:
        w.start_daemon()
        programs = [w.start([s.CLIENTS / "cl-talk", "--mib", 20, "--all", "--endless"], "opencl", name="twin", stdin=subprocess.PIPE) for _ in range(2)]
        pids = lambda: {t["pid"] for t in w.history()["turns"] if t["end_ms"]}
        s.wait_until("both had turns", lambda: len(pids()) == 2)
        for verb in ("status", "history"):
            s.wait_until(f"{verb} names each", lambda: all(f"twin[{pid}]" in w.sluice(verb).stdout for pid in pids()), look=w.sluice(verb).stdout.strip)
        s.check({t["name"] for t in w.history()["turns"]} == {"twin"}, "machines have the name alone")
        w.end(programs.pop())
        s.wait_until("who is alone needs no turns", lambda: "everything fits, no turns needed" in w.sluice("status").stdout)
        s.check("turn:" not in w.sluice("status").stdout and "twin[" not in w.sluice("status").stdout, "nor a number", w.sluice("status").stdout)
        w.end(programs.pop())


def watch_repaints_within_the_terminal():
    with world("words-watch") as w:
        programs = two_programs(w)
        seen = read_in_terminal(w, ["status", "--watch"], lambda text: text.count("\x1b[J") >= 2)
        s.check("\x1b[H" in seen and "policy mlfq" in seen, "a screen, and over it the next", repr(seen))
        s.check(seen.startswith("\x1b[?1049h") and seen.rstrip().endswith("\x1b[?1049l"), "it is the other screen, which is left", repr(seen))
        s.check("\x1b[32mrunning\x1b[0m" in seen or "\x1b[33mwaiting\x1b[0m" in seen, "states have colours", repr(seen))
        lines = [ESCAPES.sub("", line) for line in seen.split("\r\n")]
        s.check(max(map(len, lines)) <= 80, "no line is longer than the terminal", lines)
        small = read_in_terminal(w, ["status", "--watch"], lambda text: text.count("\x1b[J") >= 1, lines=6)
        s.check(small.count("\r\n") <= 6, "nor are there more lines", repr(small))
        s.check(re.search("… [2-4] more", small), "what does not fit is counted", repr(small))
        for p in programs:
            w.end(p)


def watch_follows_the_size_of_the_terminal():
    with world("words-resize") as w:
        programs = two_programs(w)
        sizes = []

        def resize(text, slave):
            if not sizes and "\x1b[J" in text:
                sizes.append(len(text))
                fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
            return sizes and text.count("\x1b[J", sizes[0]) >= 2

        seen = read_in_terminal(w, ["status", "--watch"], resize, keeps_slave=True)[sizes[0]:]
        s.check("\x1b[2J" in seen, "what was there is cleared", repr(seen))
        last = seen[seen.index("\x1b[2J"):]
        s.check(max(len(ESCAPES.sub("", line)) for line in last.split("\r\n")) <= 50, "no line is longer than the terminal is now", repr(last))
        for p in programs:
            w.end(p)


def ascii_and_no_colour_where_these_are_asked_for():
    with world("words-ascii") as w:
        programs = two_programs(w)
        for verb in (["status"], ["history"], ["run", "--help"], ["status", "--json"], ["frobnicate"]):
            done = subprocess.run([s.SLUICE, *verb, *(["--socket", w.socket] if verb[0] in ("status", "history") else [])],
                                  env=w.environment({"LC_ALL": "C"}), capture_output=True)
            s.check((done.stdout + done.stderr).isascii(), f"{verb} is ASCII", done)
            s.check(verb != ["status"] or b"#" in done.stdout, "a bar is a bar", done)
        seen = read_in_terminal(w, ["status"], lambda text: "TURNS" in text and text.count("\n") > 5, env={"NO_COLOR": "1"})
        s.check("\x1b[3" not in seen, "no colour", repr(seen))
        for p in programs:
            w.end(p)


def what_is_in_the_way_is_red():
    with world("words-red") as w:
        w.start_daemon()
        (w.folder / "sluice").mkdir()
        (w.folder / "sluice/sluiced.conf").write_text("[scheduler]\nslice = soon\n")
        more = {"XDG_CONFIG_HOME": w.folder}
        seen = read_in_terminal(w, ["doctor"], lambda text: "in the way" in text, env=more)
        s.check("\x1b[31mBAD  \x1b[0m settings" in seen, "in a terminal", repr(seen))
        seen = read_in_terminal(w, ["doctor"], lambda text: "in the way" in text, env=more | {"TERM": "dumb"})
        s.check("\x1b" not in seen and "BAD   settings" in seen, "but not in one that is dumb", repr(seen))


def watch_for_machines_is_a_line_each():
    with world("words-lines") as w:
        w.start_daemon()
        program = subprocess.Popen([s.SLUICE, "status", "--watch", "--json", "--socket", w.socket], stdout=subprocess.PIPE, text=True)
        for _ in range(2):
            s.check(json.loads(program.stdout.readline())["daemon"]["policy"] == "mlfq", "each line is an answer")
        program.terminate()
        program.wait()
        program.stdout.close()


def history_draws_who_had_the_device():
    with world("words-history") as w:
        programs = two_programs(w)
        both = w.sluice("history").stdout
        picture, table = both.split("\n\n", 1)
        s.check("GPU 0, the last" in picture and "█" in picture and "chat.py" in picture and picture.rstrip().endswith("now"),
                "a bar for each, and the time", picture)
        s.check(all(len(line) <= 80 for line in picture.splitlines()), "80 characters in a pipe", picture)
        s.check(len({len(line) for line in picture.splitlines() if line.endswith("%")}) == 1, "the bars end below each other", picture)
        s.check("WHY IT ENDED" in table and "turn is over" in table, "and the reasons", table)
        s.check("WHY" not in w.sluice("history", "--draw").stdout, "the picture alone")
        s.check("█" not in w.sluice("history", "--table").stdout, "the table alone")
        s.wait_until("what moved is shown of each", lambda: len(re.findall(r"(chat.py|a-server-with-a-long-name) +0 +\d+ +\d+\.\d+ MiB +\d+\.\d+ MiB",
                     w.sluice("history", "--table").stdout)) == 2, look=lambda: w.sluice("history", "--table").stdout)
        turns, moves = w.sluice("history", "--table", "--turns", "1").stdout.split("\n\n", 1)
        s.check(len(turns.splitlines()) == 2, "so many turns", turns)
        s.check(len(moves.splitlines()) == 2, "and so many programs", moves)
        s.check("TO DEVICE" in moves and "TO HOST" in moves, "with the direction", moves)
        seen = read_in_terminal(w, ["history", "--draw"], lambda text: "now" in text)
        s.check("\x1b[32m█" in seen, "colour in a terminal", repr(seen))
        for wrong in (("--last", "soon"), ("--last", "0s"), ("--turns", "0"), ("--turns", "-3"), ("--turns", "many")):
            done = w.sluice("history", *wrong)
            s.check(done.returncode == 120 and "expected" in done.stderr, f"{wrong} is refused with what was expected", done)
        for p in programs:
            w.end(p)


def nothing_to_draw_is_said():
    with world("words-empty") as w:
        w.start_daemon()
        s.check(w.sluice("history").stdout == "Nobody had a turn yet.\n", "history")
        s.check("No program is running. Start one with: sluice run -- PROGRAM" in w.sluice("status").stdout, "status")


def out_of_memory_by_what_a_program_may_own_is_in_history():
    """The program, how much it asked for, and the setting; a number bounds both APIs, `auto` only
    CUDA."""
    for api, setting, mib, words in (("cuda", "4M", 8, "and may own 4.00 MiB (memory.visible_memory)"),
                                     ("opencl", "4M", 8, "and may own 4.00 MiB (memory.visible_memory)"),
                                     ("cuda", "auto", 48, "(memory.visible_memory = auto: the device's size)")):
        settings = {"memory.visible_memory": setting, "memory.allow_mapped": "off"}
        with s.World(f"words-own-{api}-{setting}", memory=32 * s.MIB, settings=settings) as w:
            w.start_daemon()
            fill = s.CLIENTS / ("cuda-fill" if api == "cuda" else "cl-fill")
            w.finish(w.start([fill, "--mib", mib, "--buffers", 4, "--rounds", 1], api, name="greedy"), exits=(NO_MEMORY,))
            denials = w.history()["denials"]
            s.check([d["name"] for d in denials] == ["greedy"], "one line of it", denials)
            reason = denials[0]["reason"]
            s.check(f"it asked for {mib // 4}.0" in reason and "in addition to its " in reason and words in reason, "how much, and why", reason)
            table = w.sluice("history", "--table").stdout
            s.check("OUT OF MEMORY" in table and "memory.visible_memory" in table, "people are told", table)
            s.check("out of memory: it asked for" in w.log(), "and so is the log")


s.main(status_fits_into_80_columns, watch_follows_the_size_of_the_terminal,
       ascii_and_no_colour_where_these_are_asked_for, what_is_in_the_way_is_red, programs_of_one_name_are_told_apart, watch_repaints_within_the_terminal, watch_for_machines_is_a_line_each,
       history_draws_who_had_the_device, nothing_to_draw_is_said,
       out_of_memory_by_what_a_program_may_own_is_in_history)
