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
    """Whether the machine was ours: what its host took from it, and what others on it used, beside the wall clock.

    Of the processors' time that was not idle, ours is that of this process and of its children that have ended. So the
    programs that are measured, and the daemon, must have been waited for before the end.
    """

    MOST = 0.05

    def __enter__(self):
        self.began, self.before = time.monotonic(), (*read_stat(), cpu_seconds())
        return self

    def __exit__(self, *_):
        span = max((time.monotonic() - self.began) * os.cpu_count(), 1e-9)
        stolen, used, ours = (now - then for now, then in zip((*read_stat(), cpu_seconds()), self.before))
        self.stolen, self.others, self.ours = stolen / span, max(used - ours, 0) / span, ours / span
        if not self.is_quiet:
            print(f"disturbed: of the processors' time {self.stolen:.0%} was stolen by the host, {self.others:.0%} used by others, "
                  f"{self.ours:.0%} by us", flush=True)

    @property
    def is_quiet(self):
        return self.stolen < self.MOST and self.others < self.MOST


def read_stat():
    """Seconds of all processors since the start: stolen by the host, and not idle."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, steal = (int(word) for word in stat.readline().split()[1:9])
    return steal / os.sysconf("SC_CLK_TCK"), (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def cpu_seconds():
    """Of this process and of its children that were waited for."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
