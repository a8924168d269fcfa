# SPDX-License-Identifier: Apache-2.0
"""A World whose programs are raw clients: for tests of the daemon alone."""

import contextlib
import json
import os
import pathlib
import select
import signal
import subprocess
import sys

from rawclient import Raw
from sluice import BUILD, MIB, Failure, World, check, wait_until

BOARD = BUILD / "src/daemon/daemon-board"
CLIENT = pathlib.Path(__file__).with_name("rawclient.py")


class Client:
    """An honest raw client in a process of its own."""

    def __init__(self, world, name="raw", words=None, script=CLIENT, **options):
        self.events = []
        self.pending = b""
        self.process = subprocess.Popen([*(words or [sys.executable]), script, world.socket,
                                         json.dumps({"name": name} | options)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        world.programs.append(self.process)

    @property
    def pid(self):
        return self.process.pid

    def order(self, **order):
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        self.process.stdin.flush()

    def read(self, seconds):
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        if not ready:
            return False
        got = os.read(self.process.stdout.fileno(), 65536)
        *lines, self.pending = (self.pending + got).split(b"\n")
        self.events += [json.loads(line) for line in lines]
        return bool(got)

    def count(self, event):
        while self.read(0):
            pass
        return sum(e["event"] == event for e in self.events)

    def wait(self, event, number=1):
        """Waits for the number-th event of that kind and returns it."""
        wait_until(f"pid {self.pid} tells {event} for the {number}. time: {self.events[-4:]}",
                   lambda: self.read(0.05) and False or self.count(event) >= number)
        return [e for e in self.events if e["event"] == event][number - 1]

    def kill(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def forked(work):
    """A child that does `work`, keeps its connections and waits to be killed."""
    child = os.fork()
    if not child:
        kept = work()  # noqa: F841  held open by being named
        while True:
            signal.pause()
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class DaemonWorld(World):
    """Asks the daemon itself, not through the command."""

    def environment(self, extra=None):
        # a sanitizer that keeps freed memory would look like a daemon that does
        return super().environment({"ASAN_OPTIONS": "quarantine_size_mb=1"} | (extra or {}))

    def daemon_answers(self):
        if self.daemon.poll() is not None:
            raise Failure(f"the daemon ended with {self.daemon.returncode}", self.log())
        try:
            return self.status()
        except (FileNotFoundError, ConnectionRefusedError):
            return None

    def status(self):
        return self.answer(verb="status")

    def client(self, name="raw", **options):
        return Client(self, name, **options)

    def raw(self):
        return Raw(self.socket)

    def ask(self, **request):
        with self.raw() as raw:
            return raw.ask(**request)

    def answer(self, **request):
        status, answer = self.ask(**request)
        check(status == 0, f"{request} is answered", answer)
        return answer

    def programs_by_name(self):
        return {p["name"]: p for p in self.answer(verb="status")["programs"]}

    def make_board(self, name, size=64 * MIB):
        done = subprocess.run([BOARD, self.folder / "boards" / name, str(size)], capture_output=True, text=True)
        check(done.returncode == 0, "a board is made", done.stderr)
        return done.stdout.strip()

    @contextlib.contextmanager
    def outsider(self, name, size, held):
        process = subprocess.Popen([BOARD, self.folder / "boards" / name, str(size), str(held)],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            process.stdout.readline()
            check(process.stdout.readline() == "held\n", "the outsider has its bytes")
            yield process
        finally:
            process.stdin.close()
            process.wait()
            process.stdout.close()

    def serves(self):
        with self.raw() as raw:
            try:
                return raw.ask(verb="status")[0] == 0
            except (AssertionError, ConnectionError):
                return False  # turned away

    def steady_fds(self, sessions=1):
        """Open files of the daemon when that many connections are left, with ours the last one."""
        with self.raw() as raw:
            wait_until("all other connections are gone",
                       lambda: raw.ask(verb="status")[1]["daemon"]["sessions"] == sessions)
            # one thing after another: when this one is turned away, the files of the answer are closed
            with self.raw() as probe:
                probe.send(b"?")
                probe.ends()
            return self.daemon_fds()

    def daemon_fds(self):
        return len(os.listdir(f"/proc/{self.daemon.pid}/fd"))

    def daemon_rss(self):
        with open(f"/proc/{self.daemon.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def log(self):
        return self.daemon_log.read_text()
