#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A user steers what they could not signal."""

import contextlib
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from rawclient import WELCOME, Raw, pack_device, pack_hello
from sluice import MIB, check
from systemworld import SystemWorld, ask_as
from twousers import BOB, main, need_two_users


@contextlib.contextmanager
def privileged(w, device):
    """A program that joined with BOB's rights and has those of root in reserve, as one has that is set-uid."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        os.setresuid(0, BOB, 0)
        raw = Raw(w.socket)
        raw.send(pack_hello([device], b"privileged"))
        os.write(tell, b"." if (raw.expect(WELCOME)["status"] == 0) == (device != INVENTED) else b"?")
        while True:
            signal.pause()
    try:
        check(os.read(told, 1) == b".", "it is known to the daemon")
        yield child
    finally:
        os.close(told)
        os.close(tell)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


INVENTED = pack_device(b"\7" * 16, 100 * MIB)


def nobody_steers_what_they_could_not_signal():
    need_two_users()
    with SystemWorld("deputy") as w:
        w.start_daemon()
        for device in (pack_device(bytes.fromhex(w.uuid), 100 * MIB), INVENTED):
            with privileged(w, device) as pid:
                for request in ({"program": "privileged"}, {"program": str(pid)}, {"all": True}):
                    for verb in ("kick", "park"):
                        status, answer = ask_as(w, BOB, verb=verb, **request)
                        check(status or not answer["programs"], "bob may not", answer)
                check(not os.waitpid(pid, os.WNOHANG)[0], "the program lives")
                program = w.programs_by_name()["privileged"]
                check(not program["parked"], "and is not parked", program)
        own = w.client_of(BOB, "own", want=MIB)
        own.wait("ready")
        check(ask_as(w, BOB, verb="kick", program="own")[0] == 0, "his own he may")
        own.process.wait()


if __name__ == "__main__":
    main(nobody_steers_what_they_could_not_signal)
