#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad peers: whatever they send, or do not read, is rejected clearly, costs bounded memory, and
leaves nothing.
"""

import os
import pathlib
import random
import resource
import select
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))

from daemonworld import DaemonWorld
from rawclient import (ANSWER, ASK, DEVICE, FACTS, HEADER, HELLO, PAYLOADS, READY, REST, SUMS, TURN, WANT, WELCOME, Raw,
                       pack, pack_device, pack_hello, size_of)
from sluice import MIB, SLUICE, check, main, note, seed, wait_until


def world(name, **settings):
    w = DaemonWorld(name, settings=settings)
    w.start_daemon()
    w.fds = w.steady_fds()
    return w


def nothing_remains(w):
    """The same files as before, no connection except the one that asks, and the daemon still
    serves."""
    fds = w.steady_fds()
    check(fds == w.fds, "every file is closed", w.fds, fds)
    client = w.client("good", want=MIB)
    client.wait("ready")
    client.kill()


def hello(name=b"raw"):
    return pack_hello([pack_device(total=100 * MIB)], name)


def packets_that_are_no_message_are_refused_in_words():
    with world("garbage") as w:
        packets = [b"x", b"\0" * 8, os.urandom(4096), b"\0" * 100000, hello()[:-1], hello() + b"\0", HEADER.pack(WANT, 0, 0),
                   HEADER.pack(99, 0, 0), pack(ANSWER, 0, 0), pack(TURN, 0, 1, 1),
                   pack_hello([], n_devices=9), pack_hello([pack_device(mode=3)]), pack_hello([pack_device()], b"x" * 64)]
        for packet in packets:
            with w.raw() as raw:
                raw.send(packet)
                welcome = raw.expect(WELCOME)
                check(welcome["status"] and welcome["detail"], f"{packet[:12]} is refused in words", welcome)
                check(raw.ends(), "and the connection is closed")
        nothing_remains(w)


def messages_out_of_place_end_the_connection():
    with world("place") as w:
        for first in (pack(WANT, DEVICE, 0, 1, 1, 1, 1), pack(REST, 0, 0, 1, 1, 0), pack(READY, 0, 1, 1),
                      pack(FACTS, 0, 0, *[0] * 7), pack(SUMS, 0, 0, 0, 0, 0, 0, 0, 0)):
            with w.raw() as raw:
                raw.send(first)
                check(raw.ends(), "nobody speaks before HELLO")
        seconds = [hello(), pack(ASK, 5, b""), pack(WANT, DEVICE, 3, 1, 1, 1, 1), pack(READY, 7, 1, 1),
                   pack(SUMS, DEVICE, 0, 0, 0, 1 << 63, 1 << 63, 0, 0), pack(WANT, DEVICE, 0, 1, 1 << 62, 1 << 62, 0),
                   b"junk"]
        for second in seconds:
            def join_and_say(second=second):
                raw = Raw(w.socket)
                raw.send(hello())
                check(raw.expect(WELCOME)["status"] == 0, "it joins")
                raw.send(second)
                check(raw.ends(), "the connection is closed")
                os._exit(0)
            child = os.fork()
            if not child:
                join_and_say()
            _, status = os.waitpid(child, 0)
            check(status == 0, f"a joined program that sends {second[:12]} is cut off")
        wait_until("their programs are gone", lambda: not w.answer(verb="status")["programs"])
        nothing_remains(w)


def random_packets_never_hurt():
    with world("random") as w:
        rng = random.Random(seed(7))
        rss = None
        for number in range(1500):
            with w.raw() as raw:
                try:
                    for _ in range(rng.randrange(1, 6)):
                        kind = rng.randrange(0, 17)
                        size = size_of(PAYLOADS[kind]) if kind in PAYLOADS and rng.random() < 0.8 else rng.randrange(0, 3000)
                        body = bytearray(rng.randbytes(size)) if rng.random() < 0.5 else bytearray(size)
                        for _ in range(rng.randrange(4)):
                            if body:
                                body[rng.randrange(len(body))] = rng.randrange(256)
                        if kind == HELLO and len(body) >= 8:
                            body[0:8] = b"\1\0\0\0\0\0\0\0"
                        raw.send(HEADER.pack(kind, size, 0) + body)
                except (BrokenPipeError, ConnectionResetError):
                    pass
            if number == 300:
                rss = w.daemon_rss()
        check(w.daemon_rss() < rss + 8 * MIB, "memory does not grow", rss, w.daemon_rss())
        nothing_remains(w)


def ten_thousand_quick_connects():
    with world("quick") as w:
        rss = w.daemon_rss()
        for number in range(10000):
            raw = Raw(w.socket)
            if number % 3 == 1:
                raw.send(hello()[:100])
            elif number % 3 == 2:
                raw.ask_text(b'{"verb": "status"}')
            raw.close()
        check(w.daemon_rss() < rss + 16 * MIB, "memory does not grow", rss, w.daemon_rss())
        nothing_remains(w)


def too_many_connections_are_refused_and_the_others_stay():
    with world("many", **{"daemon.user_sessions_max": 20}) as w:
        raws = [w.raw() for _ in range(19)]
        with w.raw() as last:
            check(last.ask(verb="status")[0] == 0, "the 20th is served")
            with w.raw() as beyond:
                welcome = beyond.expect(WELCOME)
                check(welcome["status"] and "too many connections" in welcome["detail"], "the 21st is told", welcome)
            for words, code in ((["status", "--socket", w.socket], 122), (["run", "--socket", w.socket, "true"], 0),
                                (["doctor", "--socket", w.socket], 123)):
                done = subprocess.run([SLUICE, *words], capture_output=True, text=True)
                said = done.stdout + done.stderr
                check(done.returncode == code and "refuses the connection: you have too many connections" in said
                      and "user_sessions_max" in said, f"people who use {words[0]} are told", done)
        for raw in raws:
            raw.close()
        wait_until("it serves again", w.serves)
        nothing_remains(w)


def too_many_programs_are_refused():
    with world("programs", **{"daemon.user_programs_max": 2, "daemon.user_groups_max": 5}) as w:
        clients = [w.client(f"c{i}", want=0) for i in range(3)]
        welcomes = [c.wait("welcome") for c in clients]
        refused = [x for x in welcomes if x["status"]]
        check(len(refused) == 1 and "too many programs" in refused[0]["detail"], "one of three is refused", welcomes)
        for client in clients:
            client.kill()
        nothing_remains(w)


def without_file_descriptors_it_goes_on_when_there_are_some():
    with world("fds", **{"daemon.user_sessions_max": 4000, "daemon.sessions_max": 4000}) as w:
        limits = resource.prlimit(w.daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(w.daemon.pid, resource.RLIMIT_NOFILE, (w.fds + 12, limits[1]))
        raws = [w.raw() for _ in range(40)]
        wait_until("it says that no descriptor is free", lambda: "no file descriptor is free" in w.log())
        for raw in raws:
            raw.close()
        wait_until("it serves again", w.serves)
        resource.prlimit(w.daemon.pid, resource.RLIMIT_NOFILE, limits)
        nothing_remains(w)


def one_who_says_nothing_is_closed():
    with world("silent") as w:
        with w.raw() as raw:
            # by one who has asked: whoever comes now has to be quick
            check(raw.ask(verb="set", setting="handshake_timeout", value="50ms")[0] == 0, "one who asks is served")
            with w.raw() as silent:
                check(silent.ends(), "the connection is closed")
            ready, _, _ = select.select([raw.socket], [], [], 0.2)
            check(not ready and raw.ask(verb="set", setting="handshake_timeout", value="10s")[0] == 0,
                  "who has asked may take its time for the next question")
        nothing_remains(w)


def one_who_asks_without_reading_is_cut_off():
    with world("unread") as w:
        with w.raw() as raw:
            try:
                for _ in range(1000):
                    raw.ask_text(b'{"verb": "history"}')
            except (BrokenPipeError, ConnectionResetError):
                pass
            else:
                check(False, "it is cut off before it has asked a thousand times")
        nothing_remains(w)


def one_who_never_answers_is_called_stuck_and_others_go_on():
    with world("deaf", **{"scheduler.slice": "10ms", "scheduler.close_deadline": "50ms",
                          "scheduler.limit_deadline": "50ms"}) as w:
        deaf = w.client("deaf", want=60 * MIB, total=100 * MIB)
        deaf.wait("ready")
        deaf.order(deaf=1)
        good = w.client("good", want=60 * MIB, total=100 * MIB)
        small = w.client("small", want=20 * MIB, total=100 * MIB)
        wait_until("it is called stuck", lambda: w.programs_by_name()["deaf"]["stuck"])
        small.wait("ready")
        wait_until("the one who waits is told for whom", lambda: "deaf" in w.programs_by_name().get("good", {}).get("reason", ""))
        deaf.kill()
        good.wait("ready")
        good.kill()
        small.kill()
        nothing_remains(w)


def requests_have_the_size_that_they_say():
    with world("sizes") as w:
        for size in (0, 5, 100):
            with w.raw() as raw:
                raw.ask_text(b'{"verb": "status"}', size)
                check(raw.answer()[0], f"a size of {size} is not the text's")
        for size in (2041, 1 << 31):
            with w.raw() as raw:
                raw.ask_text(b'{"verb": "status"}', size)
                check(raw.expect(WELCOME)["status"] and raw.ends(), "longer than its packet")
        nothing_remains(w)


def passed_files_are_refused():
    """By the kernel (Linux 6.16), or by the daemon, which closes the connection without taking
    them."""
    with world("passed") as w:
        with w.raw() as raw:
            try:
                raw.send(hello(), [0] * 200)
                check(raw.ends(), "the connection is closed")
            except PermissionError:
                note("the kernel refuses files")
            check(not w.answer(verb="status")["programs"], "nobody joined")
        nothing_remains(w)


if __name__ == "__main__":
    main(packets_that_are_no_message_are_refused_in_words, messages_out_of_place_end_the_connection,
         random_packets_never_hurt, ten_thousand_quick_connects, too_many_connections_are_refused_and_the_others_stay,
         too_many_programs_are_refused, without_file_descriptors_it_goes_on_when_there_are_some,
         one_who_says_nothing_is_closed, one_who_asks_without_reading_is_cut_off,
         one_who_never_answers_is_called_stuck_and_others_go_on, requests_have_the_size_that_they_say,
         passed_files_are_refused)
