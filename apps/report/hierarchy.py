"""Hierarchical roofline (Yang, Kurth and Williams 2020): timed kernels whose accesses were traced
by `tessera locality`, at the arithmetic intensity of every level of the memory."""
import re

import numpy as np

import roofline
import series as s
import tables
import textplot
from picture import Picture

MOST_POINTS = 12
COLOURS = {"L1": "#D55E00", "L2": "#009E73", "L3": "#CC79A7", roofline.MEMORY: "#0072B2"}
WIDTHS = {"L1": 5, "L2": 9.5, "L3": 7.2, roofline.MEMORY: 4.5}  # of the markers
BEFORE = {"L2": "L1", "L3": "L2"}  # the cache whose misses a level serves; memory: the last one


def is_of(traced, point, workload):
    """Returns whether a traced point has the kernel and the problem of a timed one."""
    t, c = traced.config, point.config
    if (traced.workload, t["kernel"], t["element_bytes"]) != (
            workload, c.get("kernel"), roofline.BYTES.get(c.get("type"))) or t.get("pad"):
        return False
    if workload == "matmul":
        same = all(t[name] == c[name] for name in "mnk")
    else:
        same = (f"{t['m']}x{t['n']}", t["stencil"], t["steps"]) == tuple(
            c.get(name) for name in ("shape", "stencil", "steps"))
    own = {name.replace("-", "_"): value for name, value in point.used.items()}
    return same and all(str(t[name]) == str(c.get(name, own.get(name)))
                        for name in traced.tuned_by)


def traffic(traced, caches):
    """Returns {level: bytes that it gives to the next smaller one}: of L1 those of all loads and
    stores, of the others the lines that an LRU cache of the next smaller one's size misses."""
    c, curve = traced.config, sorted(traced.misses.items())
    wide = re.search(r"vectors of (\d+) B", c.get("leaf", ""))
    found = {"L1": float(c["loads"] + c["stores"]) * (int(wide[1]) if wide
                                                      else int(c["element_bytes"]))}
    last = max(caches, key=caches.get)
    for level in ("L2", "L3", roofline.MEMORY):
        cache = caches.get(BEFORE.get(level, last))
        if cache and (level == roofline.MEMORY or level in caches):
            misses = [count for size, count in curve if size <= cache] or [curve[0][1]]
            found[level] = float(misses[-1]) * int(c["line_bytes"])
    return found


def rows_of(run, kind, every):
    """Returns [(label, GFLOP/s, {level: FLOP per byte})] of the timed points that were traced, and
    the roofs; [] without either."""
    mine, cores, nodes = roofline.of_one_machine(run, kind)
    tops = roofline.roofs(run, kind, cores, nodes) if mine else None
    rows = []
    for point in mine if tops else ():
        caches = point.run.caches if point.run else {}
        traced = next((t for t in every if caches and is_of(t, point, run.workload)), None)
        if traced is None or not traced.misses:
            continue
        flops = roofline.flops_and_bytes(point, run.workload)[0]
        rows.append((s.listed(s.label_of(point, ("kernel",)), s.size_words([point])),
                     flops / point.measured["median"] / 1e9,
                     {level: flops / amount for level, amount in traffic(traced, caches).items()
                      if level in tops[1] and amount > 0}))
    return rows, tops, cores


def bounds(intensities, tops):
    """Returns {level: GFLOP/s that its bandwidth and the peak allow}."""
    return {level: min(tops[0], tops[1][level] * x) for level, x in intensities.items()}


def draw(axes, rows, tops):
    import style
    roofline.draw_roofs(axes, tops, [x for _, _, levels in rows for x in levels.values()],
                        [y for _, y, _ in rows], COLOURS)
    for index, (label, y, levels) in enumerate(rows):
        marker = style.look(index)["marker"]
        axes.plot(list(levels.values()), [y] * len(levels), color=style.QUIET, linewidth=0.8,
                  zorder=2)
        for level, x in levels.items():  # smaller ones on larger ones: equal levels are rings
            axes.plot(x, y, color=COLOURS[level], marker=marker, linestyle="none", zorder=3,
                      markersize=WIDTHS[level],
                      markerfacecolor=COLOURS[level] if index < len(style.MARKERS) else "white")
        axes.plot([], [], color=style.INK, marker=marker, linestyle="none", label=label,
                  markerfacecolor=style.INK if index < len(style.MARKERS) else "white")
    style.legend_below(axes)


def pictures(run, every):
    """Yields a picture per element type of the points that were timed and traced."""
    for kind in roofline.BYTES:
        rows, tops, cores = rows_of(run, kind, every)
        if not rows:
            continue
        shown = s.spread(rows, MOST_POINTS)
        plain = {level: tuple(np.array([(levels[level], y) for _, y, levels in shown
                                        if level in levels]).T) for level in tops[1]}
        yield Picture(
            f"roofline_{kind}_traced",
            s.titled(f"{run.workload}, roofline of traced traffic", kind, s.word("cores", cores)),
            "A point for every level, in the colour of its roof, at the FLOP per byte that the "
            "level gives to the next smaller one: L1 all loads and stores, the others the misses "
            "of an LRU cache (`tessera locality`), without write-backs. A kernel is bound by the "
            "roof that its point of that colour is closest to; levels of equal traffic are rings.",
            lambda axes, r=shown, t=tops: draw(axes, r, t),
            lambda d=plain: textplot.lines(d, "FLOP per byte", "GFLOP/s", log_y=True),
            3.4 + s.legend_height([*("memory 99.9 GB/s" for _ in tops[1]),
                                   *(label for label, _, _ in shown)]),
            alt="; ".join(f"{label} {tables.rate(y)} GFLOP/s, tightest roof {tightest(x, tops)}"
                          for label, y, x in shown))


def tightest(intensities, tops):
    """Returns the lowest roof in words: "L2, 37.1 GFLOP/s"."""
    level, most = min(bounds(intensities, tops).items(), key=lambda one: one[1])
    return f"{'peak' if most >= tops[0] else level}, {tables.rate(most)} GFLOP/s"


def table(run, every):
    """Returns rows of texts: FLOP per byte of every level, the lowest roof and the share of it."""
    lines = []
    for kind in roofline.BYTES:
        rows, tops, _ = rows_of(run, kind, every)
        for label, y, levels in rows:
            lines.append([kind, label, *(tables.rate(levels[level]) if level in levels else "-"
                                         for level in roofline.LEVELS), tables.rate(y),
                          tightest(levels, tops),
                          f"{100 * y / min(bounds(levels, tops).values()):.0f} %"])
    return [["type", "point", *(f"{level} FLOP/B" for level in roofline.LEVELS), "GFLOP/s",
             "lowest roof", "of it"], *lines] if lines else []
