# SPDX-License-Identifier: Apache-2.0
"""Draws who had a device when, and what went over its bus, as an SVG picture.

Above, a lane for each program: when its bytes were coming in (light), when it ran (full), when it
came to rest (hatched). Below, the two directions of the bus, coloured by whose bytes they were. Last,
how many bytes of each program were on the device.
"""

import html

COLOURS = ["#3b76af", "#ef8636", "#519d3e", "#c53a32", "#8d69b8", "#85584e", "#d57dbe", "#7f7f7f"]
WIDTH, LEFT, RIGHT, LANE, GAP = 1000, 110, 20, 26, 8


def nice_step(span):
    """A step for the time axis: 1, 2 or 5 times a power of ten, some eight of them in @span seconds."""
    step = 0.001
    while span / step > 10:
        for factor in (2, 2.5, 2):
            if span / step > 10:
                step *= factor
    return step


class Picture:
    def __init__(self, title, begin, end):
        self.title, self.begin, self.end = title, begin, max(end, begin + 1e-3)
        self.body, self.y = [], 46

    def x(self, seconds):
        inside = min(max(seconds, self.begin), self.end)
        return LEFT + (inside - self.begin) / (self.end - self.begin) * (WIDTH - LEFT - RIGHT)

    def text(self, x, y, words, anchor="start", size=12, colour="#222"):
        self.body.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">'
                         f'{html.escape(words)}</text>')

    def box(self, begin, end, colour, opacity=1.0, height=LANE, tip="", fill=None):
        left, right = self.x(begin), self.x(end)
        if right <= left:
            return
        self.body.append(f'<rect x="{left:.2f}" y="{self.y}" width="{max(right - left, 0.4):.2f}" height="{height}" '
                         f'fill="{fill or colour}" fill-opacity="{opacity}"><title>{html.escape(tip)}</title></rect>')

    def lane(self, name, colour="#222"):
        self.text(LEFT - 8, self.y + LANE * 0.68, name, "end", 13, colour)
        self.body.append(f'<rect x="{LEFT}" y="{self.y}" width="{WIDTH - LEFT - RIGHT}" height="{LANE}" fill="#f4f4f4"/>')

    def next(self, height=LANE, gap=GAP):
        self.y += height + gap

    def axis(self):
        step, t = nice_step(self.end - self.begin), 0.0
        while self.begin + t <= self.end:
            x = self.x(self.begin + t)
            self.body.append(f'<line x1="{x:.1f}" y1="40" x2="{x:.1f}" y2="{self.y}" stroke="#bbb" stroke-width="0.6"/>')
            self.text(x, self.y + 14, f"{t:g} s", "middle", 11, "#555")
            t += step

    def svg(self):
        self.axis()
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y + 26}" '
                f'font-family="sans-serif">\n<defs>' +
                "".join(f'<pattern id="rest{i}" width="5" height="5" patternUnits="userSpaceOnUse" '
                        f'patternTransform="rotate(45)"><rect width="2" height="5" fill="{c}"/></pattern>'
                        for i, c in enumerate(COLOURS)) +
                f'</defs>\n<rect width="{WIDTH}" height="{self.y + 26}" fill="white"/>\n'
                f'<text x="{LEFT}" y="24" font-size="16" fill="#111">{html.escape(self.title)}</text>\n' +
                "\n".join(self.body) + "\n</svg>\n")


def draw(title, turns, jobs, programs):
    """turns: dicts with name, begin, ready, closing, end (seconds, 0: not yet). jobs: dicts with engine, name, begin,
    end, bytes. programs: names in the order of the lanes."""
    jobs = [j for j in jobs if j["engine"] in ("in", "out")]
    times = [t["begin"] for t in turns] + [j["begin"] for j in jobs]
    ends = [t["end"] for t in turns if t["end"]] + [j["end"] for j in jobs]
    begin, end = min(times, default=0.0), max(ends, default=1.0)
    index = {name: i % len(COLOURS) for i, name in enumerate(programs)}
    picture = Picture(title, begin, end)

    for name in programs:
        colour = COLOURS[index[name]]
        picture.lane(name, colour)
        for turn in (t for t in turns if t["name"] == name):
            last = turn["end"] or end
            ready = turn["ready"] or last
            closing = turn["closing"] or last
            picture.box(turn["begin"], ready, colour, 0.3, tip=f"{name}: bytes come in, {ready - turn['begin']:.3f} s")
            picture.box(ready, closing, colour, tip=f"{name} runs, {closing - ready:.3f} s. {turn.get('reason', '')}")
            picture.box(closing, last, colour, tip=f"{name} comes to rest, {last - closing:.3f} s",
                        fill=f"url(#rest{index[name]})")
        picture.next()
    for engine, words in (("in", "bus: to device"), ("out", "bus: to host")):
        picture.lane(words)
        for job in (j for j in jobs if j["engine"] == engine and j["bytes"]):
            picture.box(job["begin"], max(job["end"], job["begin"] + 1e-6), COLOURS[index.get(job["name"], 7)],
                        tip=f"{job['name']}: {job['bytes'] >> 10} KiB")
        picture.next()
    return picture.svg()
