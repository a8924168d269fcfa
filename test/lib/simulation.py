# SPDX-License-Identifier: Apache-2.0
"""What benchmarks of `sluice sim` share: scenarios as dicts, and a run of them."""

import json
import os
import pathlib
import subprocess
import tempfile

SLUICE = pathlib.Path(os.environ["SLUICE_BUILD"]) / "src/cli/sluice"


def text(sections):
    """Scenario text of {"section": {"key": value}}."""
    return "".join(f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()) for name, keys in sections.items())


def simulate(sections, policies, jobs=()):
    """The runs of `sluice sim --json`, by policy. @jobs: dicts with the same keys each, for --jobs."""
    with tempfile.TemporaryDirectory() as folder:
        scenario, table = pathlib.Path(folder) / "a.scenario", pathlib.Path(folder) / "jobs.csv"
        scenario.write_text(text(sections))
        words = [SLUICE, "sim", "--json", "--policy", ",".join(policies), scenario]
        if jobs:
            table.write_text("\n".join([",".join(jobs[0]), *(",".join(map(str, job.values())) for job in jobs)]) + "\n")
            words += ["--jobs", table]
        out = subprocess.run(words, check=True, capture_output=True, timeout=300)
        return {run["policy"]: run for run in json.loads(out.stdout)}
