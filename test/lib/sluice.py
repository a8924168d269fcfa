# SPDX-License-Identifier: Apache-2.0
"""What integration tests, benchmarks and the demo share: a world of its own for each test.

A World is a folder with a private daemon, private stand-in devices and the environment in which
real programs find them. Nothing of it is outside that folder, and close() asserts that nothing of
it is left: no process, no byte held on a device.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
SOURCE = pathlib.Path(os.environ.get("SLUICE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))

SLUICE = BUILD / "src/cli/sluice"
SLUICED = BUILD / "src/daemon/sluiced"
LIMITER = BUILD / "devices/limiter/libsluice-limiter.so"
SOFTGPU = BUILD / "devices/softgpu"
CLIENTS = BUILD / "test/clients"
KILL_AT = CLIENTS / "libkill-at.so"

MIB = 1 << 20


class Skip(Exception):
    """Raised by a test that cannot run here; the text says why."""


class Failure(AssertionError):
    pass


def check(condition, what, *details):
    """An assertion that says what should have been true, and what was there instead."""
    if not condition:
        raise Failure(what + "".join(f"\n{d}" for d in details))


def wait_until(what, condition, seconds=60, look=None):
    """Waits for something that must happen; `seconds` is how long a broken run may hang, no measure.

    look: what to show when it did not happen.
    """
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"waited {seconds} s in vain until {what}" + (f"\n{look()}" if look else ""))
        time.sleep(0.005)


class World:
    def __init__(self, name, memory=64 * MIB, settings=None, softgpu=None, limiter=None, keep=False):
        base = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"sluice-{name}-", dir=base))
        self.memory = memory
        self.socket = self.folder / "sluice.sock"
        self.settings = settings or {}
        self.softgpu = softgpu or {}
        self.limiter = limiter or {}
        self.keep = keep
        self.daemon = None
        self.daemon_log = self.folder / "sluiced.log"
        self.programs = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close(failed=kind is not None)

    # -- the daemon

    def write_settings(self):
        config = self.folder / "sluiced.conf"
        sections = {}
        for key, value in self.settings.items():
            section, _, name = key.rpartition(".")
            sections.setdefault(section, []).append(f"{name} = {value}")
        config.write_text("".join(f"[{s}]\n" + "\n".join(lines) + "\n" for s, lines in sections.items()))
        return config

    def start_daemon(self, env=None, answers=True):
        """Starts it; with answers=False without waiting for it (it may be going to die)."""
        state = self.folder / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        log = open(self.daemon_log, "a")
        self.daemon = subprocess.Popen(
            [SLUICED, "--user", "--foreground", "--config", self.write_settings(), "--socket", self.socket, "--state", state,
             "--log-level", "info"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(env))
        log.close()
        if answers:
            wait_until("the daemon answers", self.daemon_answers)
        return self.daemon

    def daemon_answers(self):
        if self.daemon.poll() is not None:
            raise Failure(f"the daemon ended with {self.daemon.returncode}", self.daemon_log.read_text())
        return subprocess.run([SLUICE, "status", "--json", "--socket", self.socket],
                              capture_output=True).returncode == 0

    def kill_daemon(self):
        self.daemon.kill()
        self.daemon.wait()

    def status(self):
        done = subprocess.run([SLUICE, "status", "--json", "--socket", self.socket], capture_output=True, text=True)
        check(done.returncode == 0, "status answers", done.stderr, self.daemon_log.read_text()[-2000:])
        return json.loads(done.stdout)

    def history(self):
        done = subprocess.run([SLUICE, "history", "--json", "--socket", self.socket], capture_output=True, text=True)
        check(done.returncode == 0, "history answers", done.stderr)
        return json.loads(done.stdout) | {"asked": time.monotonic()}

    def log(self):
        return self.daemon_log.read_text() if self.daemon_log.exists() else ""

    def clock_of(self, history):
        """When the daemon's history began, on the clock of the boards (seconds, monotonic)."""
        return history["asked"] - history["now_ms"] / 1e3

    def look(self, board):
        """A stand-in device as it is, or None while somebody keeps its lock."""
        done = subprocess.run([BUILD / "devices/board/board-look", self.folder / "boards" / board], capture_output=True, text=True)
        check(done.returncode == 0 or "locked" in done.stderr, "the board can be read", done.stderr)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def stop(self, process, board):
        """Stops a process where it does not keep the lock of a stand-in device, as nobody can who is stopped beside a card."""
        while True:
            process.send_signal(signal.SIGSTOP)
            wait_until("it is stopped", lambda: pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
            if self.look(board):
                return
            process.send_signal(signal.SIGCONT)

    def jobs(self, board):
        """The last jobs of a stand-in device's engines; times in seconds, monotonic."""
        return [{"engine": j["engine"], "pid": j["pid"], "begin": j["begin_ns"] / 1e9, "end": j["end_ns"] / 1e9, "bytes": j["bytes"]}
                for j in wait_until("the board can be read", lambda: self.look(board))["jobs"]]

    def check_not_closed_before(self, name, at):
        """A program whose kernel runs is not idle: no turn of it was closed before its kernel had ended, at that time of the boards."""
        history = self.history()
        turns = [t for t in history["turns"] if t["name"] == name]
        early = [t for t in turns if t["closing_ms"] and self.clock_of(history) + t["closing_ms"] / 1e3 < at]
        check(turns and not early, f"{name} was not taken for idle while its kernel ran", turns, self.clock_of(history), at)

    def program(self, name):
        return next((p for p in self.status()["programs"] if p["name"] == name), None)

    def sluice(self, *words):
        return subprocess.run([SLUICE, *words, "--socket", self.socket], capture_output=True, text=True)

    # -- programs

    def environment(self, extra=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "OPENCL_", "LD_", "POCL_"))}
        env |= {
            "SLUICE_BOARDS": str(self.folder / "boards"),
            "XDG_RUNTIME_DIR": str(self.folder),
            "POCL_CACHE_DIR": str(BUILD / "pocl-cache"),
            "SLUICE_BUILD": str(BUILD),
            "SLUICE_SOURCE": str(SOURCE),
        }
        (self.folder / "boards").mkdir(mode=0o700, exist_ok=True)
        return env | {k: str(v) for k, v in (extra or {}).items()}

    def opencl_environment(self):
        return {"OPENCL_LAYERS": LIMITER, "SLUICE_LIMITER_MEMORY": self.memory} | {
            f"SLUICE_LIMITER_{k.upper()}": v for k, v in self.limiter.items()}

    def cuda_environment(self):
        return {"LD_LIBRARY_PATH": SOFTGPU, "SLUICE_SOFTGPU_MEMORY": self.memory} | {
            f"SLUICE_SOFTGPU_{k.upper()}": v for k, v in self.softgpu.items()}

    def start(self, words, api, name=None, sluice=True, env=None, options=(), **popen):
        """Starts a program on the stand-in device of `api` ("opencl", "cuda" or None), managed or not; options: of `sluice run`."""
        extra = {"opencl": self.opencl_environment, "cuda": self.cuda_environment, None: dict}[api]()
        words = [str(w) for w in words]
        if sluice:
            words = [str(SLUICE), "run", "--require", "--socket", str(self.socket),
                     *(["--name", name] if name else []), *options, "--", *words]
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True} | popen
        program = subprocess.Popen(words, env=self.environment(extra | (env or {})), **popen)
        program.label = name or pathlib.Path(words[-1]).name
        self.programs.append(program)
        return program

    def finish(self, program, seconds=300, exits=(0,)):
        """Waits for a program and returns its output; a program that fails or hangs fails the test.

        exits: how it may end; a signal is a negative number.
        """
        try:
            out, _ = program.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            status = self.sluice("status").stdout if self.daemon and self.daemon.poll() is None else "no daemon"
            program.kill()
            out, _ = program.communicate()
            raise Failure(f"{program.label} did not end in {seconds} s\n{status}\n{out}\n"
                          f"{self.daemon_log.read_text()[-4000:] if self.daemon_log.exists() else ''}")
        check(program.returncode in exits, f"{program.label} ends with {exits}, not {program.returncode}", out,
              self.log()[-2000:])
        return out

    def end(self, program, **more):
        """Tells an endless program that it is enough, and checks what it found."""
        program.stdin.close()
        program.stdin = None
        return self.finish(program, **more)

    def run(self, words, api, **more):
        return self.finish(self.start(words, api, **more))

    def compare_predictions(self, words, env=None):
        """Runs a program through the CUDA shim, without a daemon. No launch touches more than was predicted for it. Returns the
        kernels, with their numbers of launches and bytes."""
        truth, predicted = self.folder / "truth", self.folder / "predicted"
        for file in truth, predicted:
            file.unlink(missing_ok=True)
        self.run(words, "cuda", sluice=False, env=(env or {}) | {
            "LD_PRELOAD": BUILD / "src/cuda/libcuda.so.1", "SLUICE_SOFTGPU_TRACE": truth, "SLUICE_PREDICT_TRACE": predicted})
        done = subprocess.run([SOURCE / "tools/softgpu-trace", "--compare", "--json", truth, predicted], capture_output=True, text=True)
        check(not done.returncode, "no byte is missed", words, done.stdout, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        sums = {key: sum(row[key] for row in rows) for key in ("launches", "known_reads", "known_writes", "touched_bytes", "extra_bytes")}
        note(f"{pathlib.Path(words[0]).name}: " + ", ".join(f"{n} {key}" for key, n in sums.items()))
        return rows

    @contextlib.contextmanager
    def full_of(self, mib):
        """Beside a CUDA program that works on so much memory without end, and finds all of it right at the end."""
        endless = self.start([CLIENTS / "cuda-fill", "--mib", mib, "--endless"], "cuda", name="endless", stdin=subprocess.PIPE)
        wait_until("the endless program has its memory", lambda: (self.program("endless") or {}).get("launches"))
        yield
        self.end(endless)

    # -- the end

    def accounts_at_zero(self):
        """With no program left: no program listed, no byte in use or promised on any device, in host memory or on disk."""
        status = self.status()
        return not (status["programs"] or any(d["used_bytes"] or d["charged_bytes"] for d in status["devices"])
                    or status["backing"]["backing_bytes"] or status["backing"]["disk_bytes"])

    def close(self, failed=False):
        for program in self.programs:
            if program.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    program.send_signal(signal.SIGCONT)
                program.kill()
                program.wait()
            for end in (program.stdin, program.stdout):
                if end:
                    end.close()
        try:
            if not failed and self.daemon and self.daemon.poll() is None:
                wait_until("every account is at zero", self.accounts_at_zero,
                           look=lambda: json.dumps(self.status(), indent=1))
                self.daemon.terminate()
                self.daemon.wait(timeout=30)
                check(self.daemon.returncode == 0, f"the daemon leaves with 0, not {self.daemon.returncode}",
                      self.daemon_log.read_text()[-2000:])
        finally:
            if self.daemon and self.daemon.poll() is None:
                self.kill_daemon()
            if not self.keep:
                shutil.rmtree(self.folder, ignore_errors=True)


class Switches:
    """Counts how often a device went from one program to another, by the daemon's history.

    A switch is a turn that began after a turn of another process on the same device. look() must be
    called before the daemon's record of 4,096 turns has gone round once, and with each daemon.
    """

    def __init__(self, world):
        self.world = world
        self.turns = {}

    def look(self):
        for turn in self.world.history()["turns"]:
            if turn["ready_ms"]:
                self.turns[turn["device"], turn["begin_ms"], turn["epoch"], turn["pid"]] = turn
        last, count = {}, 0
        for device, _, _, pid in sorted(self.turns, key=lambda key: (key[0], key[1], str(key[2]))):
            count += last.setdefault(device, pid) != pid
            last[device] = pid
        return count


def note(text):
    """A line for people in the test's output."""
    print(f"# {text}", flush=True)


def scaled(name, fallback):
    """A number of the test that the environment may raise."""
    return int(os.environ.get(name, fallback))


def seed(fallback):
    value = int(os.environ.get("SLUICE_SEED", fallback))
    note(f"seed {value} (set SLUICE_SEED to repeat)")
    return value


def main(*tests):
    """Runs the tests as TAP. With names on the command line, only these."""
    # a test that is ended from outside still cleans up: every World is a context manager
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = [t for t in tests if not sys.argv[1:] or t.__name__ in sys.argv[1:]]
    failed = 0
    print(f"1..{len(chosen)}", flush=True)
    for number, test in enumerate(chosen, 1):
        name = test.__name__.replace("_", " ")
        try:
            test()
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception as error:  # a test that breaks has failed, whatever broke it
            failed += 1
            text = str(error) if isinstance(error, Failure) else traceback.format_exc()
            print("".join(f"# {line}\n" for line in text.splitlines()) + f"not ok {number} - {name}", flush=True)
            print(f"{name}: {text}", file=sys.stderr, flush=True)  # what Meson shows of a test that failed
        else:
            print(f"ok {number} - {name}", flush=True)
    sys.exit(1 if failed else 0)
