#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Data that no launch wrote is not written back on CUDA, without digests: the kernels' PTX says what each launch
writes. Programs with launches that are not understood end right, and write everything back."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import sluice as s
import writeback

SETTINGS = {"memory.hash_clean": "off", "memory.predict": "auto"}


def take_turns(name, *words, settings=None, **more):
    return writeback.take_turns(f"proven-{name}", *words, settings=SETTINGS | (settings or {}), **more)


def is_little(into, out):
    """Each turn writes the program's small buffer, which shares an extent with nothing."""
    s.check(out <= into / 8, "little is written back", into, out)


def weights_that_kernels_only_read_are_not_written_back():
    is_little(*take_turns("read"))


def the_same_with_memory_of_a_pool():
    is_little(*take_turns("pool", "--async"))


def a_program_that_writes_its_weights_now_and_then_ends_right():
    take_turns("change", "--change", 5)


def the_same_with_launches_in_graphs():
    is_little(*take_turns("graphs", "--graphs"))
    take_turns("graphs-change", "--graphs", "--change", 5)


def everything_that_moves_between_two_calls_is_right():
    writeback.is_right_under_torture("proven-torture", 6)


def launches_touch_only_what_is_predicted():
    with s.World("proven-compare", memory=16 * s.MIB, softgpu=writeback.SCALE) as w:
        for words in (["cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 4, "--change", 3],
                      ["cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 2, "--async"],
                      ["cuda-read", "--mib", 1, "--buffers", 4, "--rounds", 6, "--graphs", "--change", 3],
                      ["cuda-fill", "--mib", 2, "--buffers", 4, "--rounds", 3, "--mix"]):
            rows = w.compare_predictions([s.CLIENTS / words[0], *words[1:]])
            s.check(rows and all(row["known_writes"] == row["launches"] for row in rows), "all launches are proven", rows)
            s.check(not sum(row["extra_bytes"] for row in rows), "nothing else is predicted", rows)


def the_setting_turns_it_off():
    into, out = take_turns("off", settings={"memory.predict": "off"}, turns=10)
    s.check(out >= into / 2, "everything is written back", into, out)


s.main(weights_that_kernels_only_read_are_not_written_back, the_same_with_memory_of_a_pool,
       the_same_with_launches_in_graphs, a_program_that_writes_its_weights_now_and_then_ends_right,
       everything_that_moves_between_two_calls_is_right, launches_touch_only_what_is_predicted, the_setting_turns_it_off)
