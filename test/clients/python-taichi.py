# SPDX-License-Identifier: Apache-2.0
"""Taichi's own examples, unmodified, on the device that TI_ARCH names: python-taichi.py FRAMES EXAMPLE...

There is no screen: a window that only looks at what is drawn takes the place of Taichi's. After so many frames the example
ends, and what its last frame showed is printed, rounded, since sums of floating point depend on the order of threads. The
examples know nothing of Sluice.
"""

import pathlib
import runpy
import sys

import numpy as np
import taichi as ti

EXAMPLES = pathlib.Path(ti.__file__).parent / "examples"


class Enough(Exception):
    pass


class Names(type):
    def __getattr__(cls, name):
        if not name.isupper():
            raise AttributeError(name)
        return name  # of a key


class Window(metaclass=Names):
    """What the examples use of a window; everything that is drawn comes as an array or a field."""
    frames = 0
    running = True

    def __init__(self, name="", res=(512, 512), **_):
        self.res, self.shown, self.n = res, [], 0

    def __getattr__(self, name):
        if name.isupper():
            return name

        def draw(*things, **_):
            for thing in things:
                thing = thing.to_numpy() if hasattr(thing, "to_numpy") else thing
                if isinstance(thing, np.ndarray):
                    self.shown.append((name, thing.shape, float(np.mean(thing, dtype=np.float64)), float(np.std(thing, dtype=np.float64))))
        return draw

    def get_event(self, *_):
        return False

    is_pressed = get_event

    def get_events(self, *_):
        return []

    def get_cursor_pos(self):
        return 0.4, 0.6

    def show(self, *_):
        self.n += 1
        if self.n == Window.frames:
            for name, shape, mean, spread in self.shown:
                print(name, shape, f"{mean:.2g} {spread:.2g}", flush=True)
            raise Enough
        self.shown.clear()


def main(frames, *names):
    Window.frames, ti.GUI = int(frames), Window
    for name in names:
        print(name, flush=True)
        try:
            runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        except Enough:
            pass
        if ti.cfg.arch != ti.cuda:
            sys.exit(f"{name} ran on {ti.cfg.arch}")
        ti.reset()


main(*sys.argv[1:])
