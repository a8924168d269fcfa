# SPDX-License-Identifier: Apache-2.0
"""A system daemon with programs of several users, for tests that only root can run."""

import os
import shutil
import subprocess

from daemonworld import CLIENT, Client, DaemonWorld
from rawclient import Raw
from sluice import MIB, SLUICED, wait_until
from twousers import as_user

TIGHT = {"total": 100 * MIB}


def ask_as(w, uid, groups=(), **request):
    def work():
        with Raw(w.socket) as raw:
            return raw.ask(**request)
    return as_user(uid, work, groups)


class SystemWorld(DaemonWorld):
    """A system daemon, in a folder that everybody may enter."""

    def __init__(self, name, policy="fifo", settings=None, **more):
        super().__init__(name, settings={"scheduler.policy": policy} | (settings or {}), **more)

    def start_daemon(self, env=None, answers=True):
        os.chmod(self.folder, 0o755)
        state = self.folder / "state"
        state.mkdir(mode=0o700, exist_ok=True)
        with open(self.daemon_log, "a") as log:
            self.daemon = subprocess.Popen(
                [SLUICED, "--system", "--config", self.write_settings(), "--socket", self.socket, "--state", state,
                 "--log-level", "info"],
                stdin=subprocess.DEVNULL, stderr=log, env=self.environment(env))
        if answers:
            wait_until("the daemon answers", self.daemon_answers)
        self.uuid = self.make_board("b0", 100 * MIB)
        # the others may not be allowed into the folder of the sources
        self.script = shutil.copy(CLIENT, self.folder)
        return self.daemon

    def client_of(self, uid, name, **options):
        words = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "python3"]
        return Client(self, name, words, self.script, **{"uuid": self.uuid} | TIGHT | options)
