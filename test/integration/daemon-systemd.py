#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Under systemd, simulated: the socket is passed, readiness is reported, the watchdog is fed; and
with systemd's own tools if they are installed.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from daemonworld import DaemonWorld
from sluice import BUILD, MIB, SLUICED, Skip, check, main, wait_until

TIGHT = {"total": 100 * MIB}
# as systemd does it: files from the third on, named for this process
AS_SYSTEMD = 'export LISTEN_PID=$$ WATCHDOG_PID=$$; exec "$@"'


class Manager:
    """Does for a service what systemd does: holds the socket, and receives the service's
    notifications."""

    def __init__(self, w, kind=socket.SOCK_SEQPACKET, n=1):
        self.w, self.n = w, n
        self.listener = socket.socket(socket.AF_UNIX, kind)
        self.listener.bind(str(w.socket))
        self.listener.listen()
        self.ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ear.bind(str(w.folder / "notify"))
        self.ear.settimeout(60)
        self.heard = []
        (w.folder / "state").mkdir(exist_ok=True)

    def start(self, **env):
        files = "".join(f" {3 + i}<&{self.listener.fileno()}" for i in range(self.n))
        env = {"LISTEN_FDS": self.n, "NOTIFY_SOCKET": self.w.folder / "notify"} | env
        with open(self.w.daemon_log, "a") as log:
            self.w.daemon = subprocess.Popen(
                ["sh", "-c", f"exec{files}; {AS_SYSTEMD}", "sh", SLUICED, "--user", "--state", self.w.folder / "state"],
                env=self.w.environment(env), pass_fds=[self.listener.fileno()], stderr=log)
        return self.w.daemon

    def hear(self, word):
        """Waits until the service has sent the word, and returns how often it has."""
        while not any(word in said for said in self.heard):
            self.heard += self.ear.recv(4096).decode().split("\n")
        return sum(word in said for said in self.heard)

    def close(self):
        self.listener.close()
        self.ear.close()


def activated(name, **more):
    w = DaemonWorld(name)
    return w, Manager(w, **more)


def it_serves_the_socket_that_it_is_given_and_says_so():
    w, manager = activated("sd-serves")
    with w:
        manager.start()
        manager.hear("READY=1")
        check(w.status()["daemon"]["pid"] == w.daemon.pid, "it answers there")
        a = w.client("a", want=MIB, **TIGHT)
        a.wait("ready")
        a.kill()
        w.daemon.terminate()
        check(w.daemon.wait(timeout=60) == 0, "it ends with 0")
        manager.hear("STOPPING=1")
        check(w.socket.exists(), "the socket is the manager's, and stays")
        manager.close()


def who_connects_while_it_is_away_is_served_by_the_next_one():
    w, manager = activated("sd-next")
    with w:
        manager.start()
        manager.hear("READY=1")
        a = w.client("a", want=50 * MIB, **TIGHT)
        a.wait("ready")
        w.kill_daemon()
        a.wait("lost")
        b = w.client("b", want=MIB, **TIGHT)  # the kernel keeps its connection for us
        manager.start()
        a.wait("welcome", 2)
        b.wait("welcome")
        check(w.programs_by_name()["a"]["device_bytes"] == 50 * MIB, "a has what it had")
        manager.close()


def it_feeds_the_watchdog():
    w, manager = activated("sd-watchdog")
    with w:
        manager.start(WATCHDOG_USEC=200000)
        for number in range(1, 4):
            while manager.hear("WATCHDOG=1") < number:
                manager.heard += manager.ear.recv(4096).decode().split("\n")
        manager.close()


def a_reload_is_told_with_its_begin_and_its_end():
    w, manager = activated("sd-reload")
    with w:
        manager.start()
        manager.hear("READY=1")
        manager.heard.clear()
        w.daemon.send_signal(signal.SIGHUP)
        manager.hear("RELOADING=1")
        manager.hear("READY=1")
        manager.close()


def files_that_are_no_such_socket_are_refused():
    for name, more, words in (("two", {"n": 2}, "got 2 files"), ("stream", {"kind": socket.SOCK_STREAM}, "ListenSequentialPacket")):
        w, manager = activated(f"sd-{name}", **more)
        with w:
            check(manager.start().wait(timeout=60) == 1, "it does not start")
            check("expected one listening unix socket" in w.log() and words in w.log(), "and says what it expected", w.log())
            manager.close()


def the_real_activator_starts_it_at_the_first_connection():
    tool = shutil.which("systemd-socket-activate")
    if not tool:
        raise Skip("there is no systemd-socket-activate")
    with DaemonWorld("sd-activate") as w:
        (w.folder / "state").mkdir()
        with open(w.daemon_log, "w") as log:
            w.daemon = subprocess.Popen(
                [tool, "--seqpacket", "-l", w.socket, "-E", "SLUICE_BOARDS", SLUICED, "--user", "--state", w.folder / "state"],
                env=w.environment(), stderr=log)
        wait_until("it listens", w.socket.exists)
        a = w.client("a", want=MIB, **TIGHT)
        a.wait("ready")
        check(w.status()["daemon"]["pid"] == w.daemon.pid, "it became the daemon")
        a.kill()


def the_unit_is_one_that_systemd_understands():
    tool, unit = shutil.which("systemd-analyze"), BUILD / "data/sluiced.service"
    if not tool or not unit.exists():
        raise Skip("there is no systemd-analyze")
    with DaemonWorld("sd-unit") as w:
        text = unit.read_text()
        command = next(line for line in text.splitlines() if line.startswith("ExecStart="))
        (w.folder / "sluiced.service").write_text(text.replace(command, f"ExecStart={SLUICED} --system"))
        source = pathlib.Path(os.environ.get("SLUICE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
        shutil.copy(source / "data/sluiced.socket", w.folder / "sluiced.socket")
        done = subprocess.run([tool, "verify", "--man=no", w.folder / "sluiced.service", w.folder / "sluiced.socket"], capture_output=True, text=True)
        ours = [line for line in done.stderr.splitlines() if "sluiced" in line]
        check(not ours, "there is nothing to say against it", done)


# Makes a control group of our own, so that systemd makes its groups in there, and goes on in it.
GROUP = """
set -e
mount --make-rprivate /
umount -l /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/$NAME
echo $$ > /sys/fs/cgroup/$NAME/cgroup.procs
exec "$@"
"""
NO_GROUP = """
mount --make-rprivate /
umount -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
find /sys/fs/cgroup/$NAME -depth -type d -exec rmdir {} +
"""

# What runs as the first process of a machine of its own, as far as namespaces make one. It has no unit but ours: those of the
# machine around it would clean its folders and change its kernel. And all but the folder of the test is read-only there.
MACHINE = r"""
set -e
mount --make-rprivate /
mount --bind "$FOLDER" "$FOLDER"
umount -l /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 none /sys/fs/cgroup
mkdir "$FOLDER/bin" "$FOLDER/units" "$FOLDER/etc" "$FOLDER/empty"
cp "$SLUICED" "$CLIENT" "$FOLDER/bin"
cp "$SOCKET" "$FOLDER/units/sluiced.socket"
sed "s|^ExecStart=.*|ExecStart=/run/bin/sluiced --system|" "$UNIT" > "$FOLDER/units/sluiced.service"
for name in sysinit basic sockets shutdown; do
    printf '[Unit]\nDefaultDependencies=no\n' > "$FOLDER/units/$name.target"
done
printf '[Unit]\nDefaultDependencies=no\nWants=sluiced.socket visit.service\n' > "$FOLDER/units/visit.target"
printf '[Unit]\nDefaultDependencies=no\nAfter=sluiced.socket\n[Service]\nType=oneshot\nExecStart=/bin/sh %s\n' "$VISIT" \
    > "$FOLDER/units/visit.service"
printf 'StandardOutput=file:%s\nStandardError=inherit\nEnvironment=FOLDER=%s\n' "$FOLDER/said" "$FOLDER" \
    >> "$FOLDER/units/visit.service"
for file in passwd group; do cp /etc/$file "$FOLDER/etc"; done
echo 'sluice:x:54399:54399::/:/bin/false' >> "$FOLDER/etc/passwd"
for group in sluice:54399 render:54398; do
    grep -q "^${group%:*}:" "$FOLDER/etc/group" || echo "${group%:*}:x:${group#*:}:" >> "$FOLDER/etc/group"
done
for file in passwd group; do mount --bind "$FOLDER/etc/$file" /etc/$file; done
for folder in /etc/systemd /usr/lib/systemd/system /usr/lib/systemd/system-generators /usr/lib/tmpfiles.d /usr/lib/sysctl.d; do
    [ ! -d $folder ] || mount --bind "$FOLDER/empty" $folder
done
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd /run/bin
cp "$FOLDER"/bin/* /run/bin
cp -r "$FOLDER/units" /run/systemd/system
for folder in /tmp /var; do
    case $FOLDER in $folder/*) ;; *) mount -t tmpfs tmpfs $folder ;; esac
done
mount -o bind,remount,ro / 2>/dev/null || { mount --bind / / && mount -o bind,remount,ro /; }
mount --bind /proc/sys /proc/sys && mount -o bind,remount,ro /proc/sys
exec env -i container=sluice "PATH=$PATH" $FIRST
"""

# What a person there does: a question starts the daemon, and systemctl ends it.
VISIT = r"""
ask() {
    python3 -c 'import sys; sys.path.insert(0, "/run/bin"); from rawclient import Raw
status, answer = Raw("/run/sluice/sluice.sock").ask(verb="status"); print("answer", status, answer["daemon"]["mode"])'
}
state() { systemctl show sluiced.service -p ActiveState -p Result -p NRestarts | sort | tr '\n' ' '; echo; }
export SLUICE_BUILD=$FOLDER/build
ask
state
systemctl kill -s KILL --kill-whom=main sluiced.service
ask
ask
state
systemctl stop sluiced.socket sluiced.service
state
echo done
"""


def a_real_systemd_starts_it_restarts_it_and_stops_it():
    systemd = pathlib.Path("/lib/systemd/systemd")
    if os.geteuid():
        raise Skip("only root can make a machine of its own")
    if not systemd.exists() or not shutil.which("systemctl"):
        raise Skip("there is no systemd")
    os.environ["NAME"] = f"sluice-test-{os.getpid()}"
    group = ["unshare", "--mount", "sh", "-c", GROUP, "sh"]
    if subprocess.run([*group, "true"], capture_output=True).returncode:
        raise Skip("no control groups of our own here")
    unshare = [*group, "unshare", "--pid", "--fork", "--mount", "--mount-proc", "--cgroup", "--ipc", "--uts", "--net", "--kill-child"]
    with DaemonWorld("sd-real") as w:
        source = pathlib.Path(os.environ.get("SLUICE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
        (w.folder / "visit").write_text(VISIT)
        layout = w.folder / "build/src/daemon"
        layout.mkdir(parents=True)
        shutil.copy(BUILD / "src/daemon/wire-layout", layout)
        env = os.environ | {"SLUICED": SLUICED, "CLIENT": source / "test/lib/rawclient.py",
                            "UNIT": BUILD / "data/sluiced.service", "SOCKET": source / "data/sluiced.socket",
                            "VISIT": w.folder / "visit", "FOLDER": w.folder,
                            "FIRST": f"{systemd} --system --unit=visit.target --log-target=null --show-status=no"}
        said = w.folder / "said"
        with open(w.folder / "machine", "w") as log:
            machine = subprocess.Popen([*unshare, "sh", "-c", MACHINE], env={k: str(v) for k, v in env.items()},
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        w.programs.append(machine)

        def lines():
            return said.read_text().splitlines() if said.exists() else []
        try:
            wait_until("the visit is over", lambda: lines()[-1:] == ["done"] or machine.poll() is not None,
                       look=lambda: str(lines()) + (w.folder / "machine").read_text())
        finally:
            machine.kill()  # and all processes of its machine with it
            machine.wait()
            wait_until("its groups are gone", lambda: subprocess.run(["unshare", "--mount", "sh", "-c", NO_GROUP],
                                                                     capture_output=True).returncode == 0)
        got = lines()
        check(got[:2] == ["answer 0 system", "ActiveState=active NRestarts=0 Result=success "], "a question starts it", got,
              (w.folder / "machine").read_text())
        check(got[2:5] == ["answer 0 system"] * 2 + ["ActiveState=active NRestarts=1 Result=success "],
              "it is there again after a kill", got)
        check(got[5:] == ["ActiveState=inactive NRestarts=1 Result=success ", "done"], "it stops when it is told", got)


def the_exposure_of_the_unit_stays_low():
    tool, unit = shutil.which("systemd-analyze"), BUILD / "data/sluiced.service"
    if not tool or not unit.exists():
        raise Skip("there is no systemd-analyze")
    done = subprocess.run([tool, "security", "--offline=yes", "--threshold=20", "--no-pager", unit], capture_output=True, text=True)
    if "unrecognized option" in done.stderr or "Unknown" in done.stderr:
        raise Skip("this systemd-analyze cannot look at files")
    check(done.returncode == 0, "its exposure is at most 2.0", done.stdout.splitlines()[-1:], done.stderr)


if __name__ == "__main__":
    main(it_serves_the_socket_that_it_is_given_and_says_so, who_connects_while_it_is_away_is_served_by_the_next_one,
         it_feeds_the_watchdog, a_reload_is_told_with_its_begin_and_its_end, files_that_are_no_such_socket_are_refused,
         the_real_activator_starts_it_at_the_first_connection, the_unit_is_one_that_systemd_understands,
         a_real_systemd_starts_it_restarts_it_and_stops_it, the_exposure_of_the_unit_stays_low)
