#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`sluice sim`: scenarios, tables of jobs, their faults, and what is printed and drawn."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import sluice as s

SCENARIO = """
[device]
memory = 16G

[scheduler]
policy = rr
slice = 2s

[program long]
memory = 10G
iterations = 300

[program <short> & sweet]
arrives = 1s
memory = 10G
iterations = 30
priority = high
"""


def sim(*words, **files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (pathlib.Path(folder) / name).write_text(text)
        done = subprocess.run([s.SLUICE, "sim", *words], cwd=folder, capture_output=True, text=True)
        drawn = pathlib.Path(folder) / "drawn.svg"
        return done, drawn.read_text() if drawn.exists() else None


def policies_differ():
    done, _ = sim("--json", "--policy", "fifo,fair", "a", a=SCENARIO)
    runs = {run["policy"]: run for run in json.loads(done.stdout)}
    s.check(list(runs) == ["fifo", "fair"], "a run for each policy, in their order", runs)
    ends = {name: [p["ended_ms"] for p in run["programs"]] for name, run in runs.items()}
    s.check(ends["fifo"][1] > ends["fifo"][0], "under fifo the second one waits for the first", ends)
    s.check(ends["fair"][1] < ends["fair"][0], "under fair it does not", ends)
    s.check(all(run["n_ended"] == 2 for run in runs.values()), "all end", runs)


def the_policy_is_the_scenarios():
    done, _ = sim("--json", "a", a=SCENARIO)
    s.check([run["policy"] for run in json.loads(done.stdout)] == ["rr"], "as the file says", done)
    done, _ = sim("--policy", "all", "a", a=SCENARIO)
    lines = done.stdout.splitlines()
    s.check(lines[0].split()[:3] == ["POLICY", "ENDED", "MEAN"] and len(lines) > 4, "a table of all", done)


def a_table_of_jobs():
    table = "# comment\nname,arrives,memory,iteration,iterations\n" + "".join(f"job{i},{i}s,4G,50ms,{10 + i}\n" for i in range(20))
    done, _ = sim("--json", "--jobs", "t.csv", **{"t.csv": table})
    run = json.loads(done.stdout)[0]
    s.check(run["n_ended"] == 20 and run["programs"][7]["iterations"] == 17, "all of them run", run)
    again, _ = sim("--json", "--seed", "5", "--jobs", "t.csv", **{"t.csv": table})
    other = json.loads(again.stdout)[0]
    names = [p["name"] for p in other["programs"]]
    s.check(sorted(names) == sorted(p["name"] for p in run["programs"]) and names[:5] != [f"job{i}" for i in range(5)], "another order", names)
    s.check([p["arrived_ms"] for p in other["programs"]] == [1000.0 * i for i in range(20)], "at the same times", other)


def the_drawing_is_xml():
    done, drawn = sim("--policy", "rr,fair", "--svg", "drawn.svg", "a", a=SCENARIO)
    s.check(done.returncode == 0 and drawn, "it is drawn", done)
    root = xml.etree.ElementTree.fromstring(drawn)
    texts = [e.text for e in root.iter() if e.tag.endswith("text")]
    s.check("<short> & sweet" in texts and "fair: turns" in texts, "with the names", texts)
    s.check({"to the device", "to the host", "10 s", "0"} <= set(texts), "with the bus, and round times", texts)
    fills = [e.get("fill") for e in root.iter() if e.tag.endswith("rect")]
    s.check("#444" in fills and "#aaa" in fills, "copies in both directions are drawn", fills)
    _, drawn = sim("--svg", "drawn.svg", "a", a=SCENARIO.replace("[program long]", "[program a name that is much too long]"))
    texts = [e.text for e in xml.etree.ElementTree.fromstring(drawn).iter() if e.tag.endswith("text")]
    s.check("a name that is…" in texts, "a long name is cut", texts)


def faults_name_the_line():
    for text, words in (("[device]\nmemory = much\n", "a, line 2: cannot read the value 'much'."),
                        ("[device]\ncolour = red\n", "a, line 2: unknown key 'colour'."),
                        ("[program x]\npriority = urgent\n", "a, line 2: cannot read the value 'urgent'."),
                        ("[program x]\niteration = 0s\n", "a, line 2: cannot read the value '0s'."),
                        ("", "the scenario has no program."),
                        ("[program x]\nmemory = 1G\n", "no program of the scenario ever ends."),
                        ("nonsense\n", "a, line 1: ")):
        done, _ = sim("a", a=text)
        s.check(done.returncode == 120 and words in done.stderr, words, done)
    for text, words in (("name,colour\n", "t, line 1: unknown column 'colour'."),
                        ("name,memory\nx\n", "t, line 2: not as many words as columns after 'x'."),
                        ("name,memory\nx,much\n", "t, line 2: cannot read the value 'much'.")):
        done, _ = sim("--jobs", "t", t=text)
        s.check(done.returncode == 120 and words in done.stderr, words, done)
    done, _ = sim("--policy", "best", "a", a=SCENARIO)
    s.check(done.returncode == 120 and "no policy is named 'best'; there are: mlfq, rr" in done.stderr, "the policies are named", done)
    done, _ = sim()
    s.check(done.returncode == 120 and "name a scenario" in done.stderr, "a scenario is needed", done)
    done, _ = sim("absent")
    s.check(done.returncode == 120 and "cannot read absent: No such file" in done.stderr, "and must exist", done)


s.main(policies_differ, the_policy_is_the_scenarios, a_table_of_jobs, the_drawing_is_xml, faults_name_the_line)
