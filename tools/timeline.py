# SPDX-License-Identifier: Apache-2.0
"""Draws who had a device when, and what moved over its bus, as an SVG picture.

Each program has two lanes: its turns (light while its bytes come in, full while it runs, hatched
while it drains), and below them how many of its bytes were on the device. At the bottom are the two
directions of the bus, in the colour of the program whose bytes moved. A legend explains this in the
picture itself. The clock starts at the first turn.
"""

import html

COLOURS = ["#3b76af", "#ef8636", "#519d3e", "#c53a32", "#8d69b8", "#85584e", "#d57dbe", "#7f7f7f"]
WIDTH, LEFT, RIGHT, LANE, GAP, TOP = 1000, 110, 20, 26, 8, 46
GREY = "#7f7f7f"


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
        self.body, self.y = [], TOP

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

    def lane(self, name, colour="#222", size=13):
        self.text(LEFT - 8, self.y + LANE * 0.68, name, "end", size, colour)
        self.body.append(f'<rect x="{LEFT}" y="{self.y}" width="{WIDTH - LEFT - RIGHT}" height="{LANE}" fill="#f4f4f4"/>')

    def area(self, points, top, colour, tip=""):
        """Steps of @points, pairs of seconds and bytes, in a lane whose height is @top bytes."""
        bottom, path = self.y + LANE, []
        for (at, value), (then, _) in zip(points, points[1:] + [(self.end, 0)]):
            y = bottom - LANE * min(value / top, 1)
            path += [f"{self.x(at):.1f},{y:.1f}", f"{self.x(then):.1f},{y:.1f}"]
        if path:
            left, right = path[0].partition(",")[0], path[-1].partition(",")[0]
            self.body.append(f'<polygon points="{left},{bottom} {" ".join(path)} {right},{bottom}" fill="{colour}" '
                             f'fill-opacity="0.55"><title>{html.escape(tip)}</title></polygon>')

    def legend(self):
        """Four signs and what each means, in grey: the colours are the programs'."""
        signs = [("bytes come in", GREY, 0.3), ("runs", GREY, 1), ("drains", "url(#drain-legend)", 1), ("bytes on the device", GREY, 0.55)]
        x = LEFT
        for words, fill, opacity in signs:
            self.body.append(f'<rect x="{x}" y="{self.y + 22}" width="22" height="11" fill="{fill}" fill-opacity="{opacity}"/>')
            self.text(x + 28, self.y + 32, words, size=11, colour="#555")
            x += 62 + 7 * len(words)
        self.y += 16

    def next(self, height=LANE, gap=GAP):
        self.y += height + gap

    def axis(self):
        step, t = nice_step(self.end - self.begin), 0.0
        while self.begin + t <= self.end:
            x = self.x(self.begin + t)
            self.body.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{self.y}" stroke="#bbb" stroke-width="0.6"/>')
            self.text(x, self.y + 14, f"{t:g} s", "middle", 11, "#555")
            t += step

    def svg(self):
        self.axis()
        self.legend()
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y + 26}" '
                f'font-family="sans-serif">\n<defs>' +
                "".join(f'<pattern id="drain{i}" width="5" height="5" patternUnits="userSpaceOnUse" '
                        f'patternTransform="rotate(45)"><rect width="2" height="5" fill="{c}"/></pattern>'
                        for i, c in [*enumerate(COLOURS), ("-legend", GREY)]) +
                f'</defs>\n<rect width="{WIDTH}" height="{self.y + 26}" fill="white"/>\n'
                f'<text x="{LEFT}" y="24" font-size="16" fill="#111">{html.escape(self.title)}</text>\n' +
                "\n".join(self.body) + "\n</svg>\n")


def draw(title, turns, jobs, programs, held, device_bytes):
    """Draws one device.

    turns: dicts with name, begin, ready, closing, end (seconds, 0: not yet). jobs: dicts with engine, name, begin, end,
    bytes. programs: names in the order of the lanes. held: for each name, pairs of seconds and bytes on the device.
    """
    jobs = [j for j in jobs if j["engine"] in ("in", "out")]
    begin = min((t["begin"] for t in turns), default=0.0)
    end = max([t["end"] for t in turns] + [j["end"] for j in jobs], default=1.0)
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
            picture.box(closing, last, colour, tip=f"{name} drains, {last - closing:.3f} s", fill=f"url(#drain{index[name]})")
        picture.next(gap=1)
        picture.lane("memory", colour, 11)
        picture.area(held.get(name, []), device_bytes, colour, f"{name}: bytes on the device; the lane's height is the whole device")
        picture.next()
    for engine, words in (("in", "bus: to device"), ("out", "bus: to host")):
        picture.lane(words)
        for job in (j for j in jobs if j["engine"] == engine and j["bytes"]):
            picture.box(job["begin"], max(job["end"], job["begin"] + 1e-6), COLOURS[index.get(job["name"], 7)],
                        tip=f"{job['name']}: {job['bytes'] >> 10} KiB")
        picture.next()
    return picture.svg()
