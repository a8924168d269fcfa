#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cl-programs.py LAYER PROGRAM: a real program, plain, with the layer, and with everything evicted
between two calls: its results are the same three times.

PROGRAM is piglit (api and custom) or two (the same if the driver has two devices). Programs that
also run on a small device are in cl-real.py.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

LAYER = os.path.abspath(sys.argv[1])
HOWS = {
    "plain": {},
    "layer": {"OPENCL_LAYERS": LAYER},
    "torture": {"OPENCL_LAYERS": LAYER, "SLUICE_TORTURE": "1"},
}
SHOWN = 20 # differences, at most


def need(*paths):
    for path in paths:
        if not (shutil.which(path) or os.path.exists(path)):
            print(f"1..0 # SKIP {path} is not installed")
            sys.exit(0)


def environment(how):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
    env.pop("OPENCL_LAYERS", None)
    env.setdefault("POCL_MEMORY_LIMIT", "2")
    env.update(HOWS[how])
    return env


def piglit(how, *words):
    """The result of every test and subtest."""
    need("piglit")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["piglit", "run", "quick_cl", folder + "/out", "-t", "^api", "-t", "^custom", *words],
            env=environment(how), check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=500)
        found = [p for p in pathlib.Path(folder, "out").iterdir() if p.name.startswith("results.json")]
        if found[0].suffix == ".bz2":
            import bz2
            data = json.loads(bz2.decompress(found[0].read_bytes()))
        else:
            data = json.loads(found[0].read_text())
    results = {}
    for name, test in data["tests"].items():
        results[name] = test["result"]
        for part, result in test.get("subtests", {}).items():
            results[f"{name} {part}"] = result
    return results


def two(how):
    """Contexts of all devices, and each test on each of them, except two that never end on PoCL
    itself then."""
    os.environ["POCL_DEVICES"] = "pthread pthread"
    return piglit(how, "-x", "cllinkprogram", "-x", "clgetkernelarginfo")


def main():
    run = {"piglit": piglit, "two": two}[sys.argv[2]]
    plain = run("plain")
    if len(plain) < 3:
        sys.exit(f"plain: too little to compare: {plain}")
    print(f"1..{len(HOWS) - 1}")
    failed = False
    for number, how in enumerate(list(HOWS)[1:], 1):
        with tempfile.NamedTemporaryFile("r") as log:
            HOWS[how]["SLUICE_LOG"] = log.name
            results = run(how)
            # loaders pass over a layer that they cannot load, without a word
            if "mode launch, opencl" not in log.read():
                results = {"the layer": "did not attach"}
        differ = [k for k in sorted(set(plain) | set(results), key=str)
                  if plain.get(k) != results.get(k)]
        for key in differ[:SHOWN]:
            print(f"# {key}: plain {plain.get(key)}, {how} {results.get(key)}")
        failed = failed or bool(differ)
        print(f"{'not ok' if differ else 'ok'} {number} - {sys.argv[2]} {how}: "
              f"{len(plain)} results are those of the plain driver")
    sys.exit(1 if failed else 0)


main()
