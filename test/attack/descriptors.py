#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user passes files whose end takes as long as the user likes: nobody else waits for it.

The file is a TCP socket with unsent data that nobody reads and SO_LINGER of ten minutes. Whoever closes the last copy
of it waits. The checks need no clock: nothing reads that data before the daemon has answered somebody else.
"""

import contextlib
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from rawclient import DEVICE, WANT, Raw, pack, pack_device, pack_hello
from sluice import MIB, SLUICED, check, wait_until
from systemworld import SystemWorld, ask_as
from twousers import ALICE, BOB, become, main, need_two_users

LINGER_S = 600
AS_SYSTEMD = 'exec 3<&0; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$@" </dev/null'


def make_lingering():
    """(a socket that takes ten minutes to close, the end of it that nobody reads)"""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    sender = socket.socket()
    sender.connect(server.getsockname())
    receiver, _ = server.accept()
    server.close()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_S))
    sender.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            sender.send(bytes(65536))
    return sender, receiver


def hello(w):
    return pack_hello([pack_device(bytes.fromhex(w.uuid), 100 * MIB)], b"attacker")


def want():
    return pack(WANT, DEVICE, 0, 0, MIB, MIB, MIB)


def message_with_a_file(w):
    return [(want(), True)]


def garbage_with_a_file(w):
    return [(b"garbage", True)]


def hello_with_a_file(w):
    return [(hello(w), True)]


def a_file_behind_garbage(w):
    return [(b"garbage", False), (want(), True)]


def a_file_behind_hello(w):
    return [(hello(w), False), (want(), True)]


WAYS = [message_with_a_file, garbage_with_a_file, hello_with_a_file, a_file_behind_garbage, a_file_behind_hello]


def pass_file(w, way, n=1):
    """BOB passes the only copies of the file on `n` connections and ends. Return: the end that nobody reads."""
    sender, receiver = make_lingering()
    child = os.fork()
    if not child:
        become(BOB)
        for _ in range(n):
            # where the kernel can refuse files, the attacker is refused
            with contextlib.suppress(OSError), Raw(w.socket) as raw:
                for packet, has_file in way(w):
                    raw.send(packet, [sender.fileno()] if has_file else [])
        os._exit(0)
    sender.close()
    os.waitpid(child, 0)
    return receiver


def answers_all(w):
    for uid in (ALICE, 0):
        check(ask_as(w, uid, verb="ping")[0] == 0, "the daemon answers others")


def a_file_that_lingers_stops_nobody():
    need_two_users()
    with SystemWorld("linger") as w:
        w.start_daemon()
        for way in WAYS:
            with pass_file(w, way):
                answers_all(w)
        good = w.client_of(ALICE, "good", want=MIB)
        good.wait("ready")
        good.kill()
        w.daemon.send_signal(signal.SIGTERM)
        check(w.daemon.wait(timeout=60) == 0, "SIGTERM ends the daemon")


def files_in_connections_that_nobody_accepted_do_not_keep_the_daemon():
    """The daemon finds its end and the attacker's connections at the same time."""
    need_two_users()
    with SystemWorld("unaccepted") as w:
        w.start_daemon()
        w.daemon.send_signal(signal.SIGSTOP)
        # more than it accepts at once
        with pass_file(w, message_with_a_file, 200):
            w.daemon.send_signal(signal.SIGTERM)
            w.daemon.send_signal(signal.SIGCONT)
            check(w.daemon.wait(timeout=60) == 0, "SIGTERM ends the daemon")


def files_that_came_before_the_daemon_stop_nobody():
    """Connections that systemd's socket took while no daemon ran: no option of ours has kept files out of them."""
    need_two_users()
    for way in WAYS:
        with SystemWorld("early") as w, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(w.socket))
            listener.listen(64)
            os.chmod(w.socket, 0o666)
            os.chmod(w.folder, 0o755)
            w.environment()
            w.uuid = w.make_board("b0", 100 * MIB)
            receiver = pass_file(w, way, 3)
            (w.folder / "state").mkdir(mode=0o700)
            with open(w.daemon_log, "a") as log:
                w.daemon = subprocess.Popen(["sh", "-c", AS_SYSTEMD, "sh", SLUICED, "--system", "--config",
                                             w.write_settings(), "--state", w.folder / "state", "--log-level", "info"],
                                            stdin=listener, stderr=log, env=w.environment())
            answers_all(w)
            wait_until("the attacker's connections are closed", lambda: not w.programs_by_name())
            w.daemon.send_signal(signal.SIGTERM)
            check(w.daemon.wait(timeout=60) == 0, "SIGTERM ends the daemon")
            receiver.close()


if __name__ == "__main__":
    main(a_file_that_lingers_stops_nobody, files_in_connections_that_nobody_accepted_do_not_keep_the_daemon,
         files_that_came_before_the_daemon_stop_nobody)
