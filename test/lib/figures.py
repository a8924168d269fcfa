# SPDX-License-Identifier: Apache-2.0
"""What benchmarks share: conditions said first, then one JSON object a line and figure."""

import json
import os
import resource
import time


def conditions(text):
    print(text, flush=True)


def figure(name, value, unit, bound=None, goal=None, valid=True, **more):
    rounded = float(f"{value:.4g}") if isinstance(value, float) else value
    print(json.dumps({"name": name, "value": rounded, "unit": unit,
                      "bound": None if bound is None else float(f"{bound:.4g}"), "goal": goal, "valid": valid} | more), flush=True)


class Disturbance:
    """Whether the machine gave us the time that we asked for: a spin of known length, beside the wall clock."""

    def __enter__(self):
        self.began, self.stolen = time.monotonic(), read_steal()
        return self

    def __exit__(self, *_):
        span = time.monotonic() - self.began
        self.share = (read_steal() - self.stolen) / max(span * os.cpu_count(), 1e-9)

    @property
    def is_quiet(self):
        return self.share < 0.05


def read_steal():
    """Seconds that the host took from this machine's processors."""
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
