# SPDX-License-Identifier: Apache-2.0
"""The wire as bytes, for tests that must say what no good client says; and one good client.

As a module: Raw, a connection that packs and unpacks messages. As a program (rawclient.py SOCKET JSON): an
honest client in mode ALL that owns bytes which exist in its books only. It prints a line of JSON for all that
happens and takes commands on stdin, one JSON object a line: {"want": BYTES, "runnable": 0|1}, {"reconnect": 1},
{"deaf": 1} (answers nothing any more), {"exit": CODE}.
"""

import contextlib
import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import sys

(HELLO, WELCOME, LIMIT, TURN, CLOSE, DENY, SUMS, WANT, READY, IDLE, REST, FACTS, ASK, ANSWER) = range(1, 15)
NAMES = "? HELLO WELCOME LIMIT TURN CLOSE DENY SUMS WANT READY IDLE REST FACTS ASK ANSWER".split()
DEVICE, PINNED, BACKING = range(3)

HEADER = struct.Struct("<HHI")

# The fields that tests name, in the order in which pack() takes them. What else a message has is zero.
FIELDS = {
    "hello": "version n_devices group program pinned_held_bytes pageable_held_bytes",
    "hello_device": "uuid pci name total_bytes epoch.generation epoch.counter held_bytes floor_bytes min_bytes all_bytes "
                    "largest_bytes mode gate_is_open is_runnable",
    "welcome": "version status generation visible_bytes chunk_bytes loss_grace_ns run_without_daemon checksum_moves "
               "allow_mapped detail",
    "limit": "account.tier account.device pace seq limit_bytes goal_bytes",
    "turn": "device epoch.generation epoch.counter",
    "close": "device epoch.generation epoch.counter deadline_ns",
    "deny": "account.tier account.device bytes",
    "sums": "account.tier account.device is_final seq ceiling_bytes held_bytes floor_bytes refused_bytes",
    "want": "account.tier account.device is_runnable min_bytes all_bytes largest_bytes",
    "rest": "device is_runnable epoch.generation epoch.counter floor_bytes",
    "facts": "device mode device_bytes mapped_bytes ram_bytes disk_bytes moved_in_bytes moved_out_bytes n_launches",
    "ask": "size text",
    "answer": "size status",
}
PAYLOADS = dict(zip(range(1, 15), "hello welcome limit turn close deny sums want turn turn rest facts ask answer".split()))


def load_layout():
    """{"want": {"": size, "all_bytes": (offset, size)}}, as the compiler has it: wire-layout prints it.

    In the environment for children, which may be other users and see no build folder.
    """
    text = os.environ.get("SLUICE_WIRE_LAYOUT")
    if not text:
        build = os.environ.get("SLUICE_BUILD") or pathlib.Path(__file__).resolve().parents[2] / "build"
        text = subprocess.run([pathlib.Path(build) / "src/daemon/wire-layout"], check=True, capture_output=True,
                              text=True).stdout
        os.environ["SLUICE_WIRE_LAYOUT"] = text
    layout = {}
    for line in text.splitlines():
        name, field, offset, size = line.split(" ")
        layout.setdefault(name, {})[field] = (int(offset), int(size))
    return layout


LAYOUT = load_layout()


def size_of(name):
    return LAYOUT[name]["-"][1]


def fill(name, values):
    """The struct of that name with the fields of FIELDS set in their order."""
    payload = bytearray(size_of(name))
    for field, value in zip(FIELDS[name].split(), values, strict=True):
        offset, size = LAYOUT[name][field]
        raw = value.ljust(size, b"\0") if isinstance(value, bytes) else int(value).to_bytes(size, "little")
        assert len(raw) == size, f"{name}.{field} is longer than its field"
        payload[offset:offset + size] = raw
    return payload


def pack(kind, *values):
    payload = fill(PAYLOADS[kind], values)
    return HEADER.pack(kind, len(payload), 0) + bytes(payload)


def unpack(kind, payload):
    """{the last word of each field's name: value}"""
    name, fields = PAYLOADS[kind], {}
    for field in FIELDS[name].split():
        offset, size = LAYOUT[name][field]
        raw = payload[offset:offset + size]
        fields[field.split(".")[-1]] = raw.split(b"\0")[0].decode() if field == "detail" else int.from_bytes(raw, "little")
    return fields


def pack_device(uuid=b"\1" * 16, total=1 << 30, name=b"raw", epoch=(0, 0), held=0, floor=0, least=0, everything=0,
                largest=0, mode=0, is_open=0, runnable=0):
    return bytes(fill("hello_device", (uuid, b"", name, total, *epoch, held, floor, least, everything, largest, mode,
                                       is_open, runnable)))


def pack_hello(devices, name=b"raw", version=1, group=0, n_devices=None, backing=0):
    devices = list(devices)
    payload = fill("hello", (version, len(devices) if n_devices is None else n_devices, group, name, 0, backing))
    offset, _ = LAYOUT["hello"]["devices"]
    for number, device in enumerate(devices):
        start = offset + number * size_of("hello_device")
        payload[start:start + len(device)] = device
    return HEADER.pack(HELLO, len(payload), 0) + bytes(payload)


class Raw:
    def __init__(self, path, timeout=30):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # blocking: one with a timeout would be turned away when the queue of the listener is full
        self.socket.connect(str(path))
        self.socket.settimeout(timeout)

    def send(self, packet, fds=()):
        if fds:
            socket.send_fds(self.socket, [packet], fds)
        else:
            self.socket.send(packet)

    def receive(self):
        """(kind, {field: value}) or None at the end; a passed file is in "fd"."""
        try:
            packet, fds, _, _ = socket.recv_fds(self.socket, 4096, 4)
        except ConnectionResetError:
            return None
        if not packet:
            return None
        kind, _, _ = HEADER.unpack_from(packet)
        fields = unpack(kind, packet[HEADER.size:])
        if fds:
            fields["fd"] = fds[0]
        return kind, fields

    def expect(self, kind):
        """The next message of that kind; others are passed over."""
        while True:
            got = self.receive()
            if got is None:
                raise AssertionError(f"the daemon closed the connection instead of sending {NAMES[kind]}")
            if got[0] == kind:
                return got[1]

    def ends(self):
        """Reads until the daemon has closed the connection."""
        while self.receive() is not None:
            pass
        return True

    def ask_text(self, text, size=None):
        self.send(pack(ASK, len(text) if size is None else size, text))

    def answer(self):
        got = self.expect(ANSWER)
        with os.fdopen(got["fd"]) as file:
            return got["status"], json.loads(file.read())

    def ask(self, **request):
        self.ask_text(json.dumps(request).encode())
        return self.answer()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Honest:
    """Mode ALL on one device: it moves in no time.

    facts: how often it tells where its bytes are; what it holds it tells always.
    """

    def __init__(self, path, want=0, name="raw", group=0, uuid="01" * 16, total=1 << 30, runnable=1, version=1, facts=1 << 30):
        self.path = path
        self.facts = facts
        self.want, self.runnable, self.total, self.version = want, runnable, total, version
        self.name, self.group, self.uuid = name.encode(), group, bytes.fromhex(uuid)
        self.held = {DEVICE: 0, PINNED: 0, BACKING: 0}
        self.limit = dict(self.held)
        self.seq = dict(self.held)
        self.epoch, self.is_open, self.is_deaf = (0, 0), False, False
        self.moved_in = self.moved_out = 0
        self.raw = None

    def say(self, event, **more):
        print(json.dumps({"event": event} | more), flush=True)

    def send(self, packet):
        with contextlib.suppress(ConnectionError):  # the end is read, after what came before it
            self.raw.send(packet)

    def connect(self):
        while True:
            try:
                self.raw = Raw(self.path)
                break
            except (FileNotFoundError, ConnectionError):
                select.select([], [], [], 0.01)
        self.limit, self.seq = dict(self.held), dict.fromkeys(self.held, 0)
        self.send(pack_hello([pack_device(
            self.uuid, self.total, self.name, self.epoch, self.held[DEVICE], 0, self.want, self.want, self.want, 0,
            self.is_open, self.runnable)], self.name, self.version, self.group, backing=self.held[BACKING]))

    def send_want(self):
        self.send(pack(WANT, BACKING, 0, 0, 0, self.want, 0))
        self.send(pack(WANT, DEVICE, 0, self.runnable, self.want, self.want, self.want))

    def send_sums(self, tier):
        held = self.held[tier]
        self.send(pack(SUMS, tier, 0, 0, self.seq[tier], max(self.limit[tier], held), held, 0, 0))

    def apply_limits(self):
        """Brings in what it may in its turn, gives up what it must at rest, opens when all is there."""
        before = self.held[DEVICE]
        if self.epoch != (0, 0):
            self.held[DEVICE] = max(before, min(self.limit[DEVICE], self.want))
        else:
            self.held[DEVICE] = min(before, self.limit[DEVICE])
        self.moved_in += max(0, self.held[DEVICE] - before)
        self.moved_out += max(0, before - self.held[DEVICE])
        if self.held[DEVICE] != before:
            self.send_sums(DEVICE)
            self.facts -= 1
        if self.held[DEVICE] != before and self.facts >= 0:
            self.send(pack(FACTS, 0, 0, self.held[DEVICE], 0, self.want - self.held[DEVICE], 0, self.moved_in,
                               self.moved_out, 0))
        if self.epoch != (0, 0) and not self.is_open and self.held[DEVICE] >= self.want:
            self.is_open = True
            self.send(pack(READY, 0, *self.epoch))
            self.say("ready", epoch=self.epoch)

    def take(self, kind, m):
        if kind == WELCOME:
            self.say("welcome", **m)
            if not m["status"]:
                self.send_want()
        elif kind == LIMIT:
            tier = m["tier"]
            self.seq[tier], self.limit[tier] = m["seq"], m["limit_bytes"]
            if tier == BACKING:
                self.held[BACKING] = min(self.limit[BACKING], self.want)
            self.send_sums(tier)
            self.say("limit", tier=tier, limit=m["limit_bytes"])
            self.apply_limits()
        elif kind == TURN:
            self.epoch, self.is_open = (m["generation"], m["counter"]), False
            self.say("turn", epoch=self.epoch)
            self.apply_limits()
        elif kind == CLOSE:
            epoch = (m["generation"], m["counter"])
            if epoch == self.epoch:
                self.epoch, self.is_open = (0, 0), False
            self.send(pack(REST, 0, self.runnable, *epoch, 0))
            self.say("close", epoch=epoch)
            self.apply_limits()
        else:
            self.say(NAMES[kind].lower(), **m)

    def command(self, line):
        order = json.loads(line)
        if "exit" in order:
            sys.exit(order["exit"])
        if "deaf" in order:
            self.is_deaf = True
        if "want" in order:
            self.want = order["want"]
            self.runnable = order.get("runnable", 1)
            self.send_want()
        if "reconnect" in order:
            self.raw.close()
            self.say("lost")
            self.connect()

    def run(self):
        commands = sys.stdin.buffer.raw
        self.connect()
        pending = b""
        while True:
            listens = [] if self.is_deaf else [self.raw.socket]
            ready, _, _ = select.select([commands, *listens], [], [])
            if commands in ready:
                got = commands.read(4096)
                if not got:
                    return
                *lines, pending = (pending + got).split(b"\n")
                for line in lines:
                    self.command(line)
            elif ready:
                got = self.raw.receive()
                if got is None:
                    self.raw.close()
                    self.say("lost")
                    self.connect()
                else:
                    self.take(*got)


if __name__ == "__main__":
    Honest(sys.argv[1], **json.loads(sys.argv[2])).run()
