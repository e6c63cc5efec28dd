"""Bars of the kinds of misses: compulsory, capacity and conflict misses of traced points in the
caches of --cache."""
import numpy as np

import locality
import series
import textplot
from picture import Picture, said_bars

KINDS = ("compulsory", "capacity", "conflict")
MOST_BARS = 12


def split(misses):
    """Returns misses by kind, none of them negative: what few sets save of the capacity misses of
    LRU is not a conflict."""
    compulsory, capacity, conflict = misses
    return [compulsory, capacity + min(0, conflict), max(0, conflict)]


def of_caches(points):
    """Returns [(label, misses by kind)] of the points in each of their caches, of all arrays
    together. The labels have the cache where there are several."""
    found = []
    for point, label in zip(points, locality.short_labels(points)):
        table = point.rows("caches", array="all")
        found += [(label, name, split([float(table[kind][row]) for kind in KINDS]))
                  for row, name in enumerate(table.get("geometry", ()))]
    several = len({name for _, name, _ in found}) > 1
    return [(f"{label}, {name}" if several else label, misses) for label, name, misses in found]


def bars_of(rows):
    return [(label, sum(misses), np.nan, np.nan,
             ", ".join(f"{misses[i]:.0f} {kind}" for i, kind in enumerate(KINDS) if misses[i]))
            for label, misses in rows]


def draw(axes, rows):
    import style
    where, left = np.arange(len(rows)), np.zeros(len(rows))
    for number, kind in enumerate(KINDS):
        width = np.array([misses[number] for _, misses in rows])
        axes.barh(where, width, left=left, color=style.COLOURS[(2, 0, 1)[number]], height=0.62,
                  label=kind)
        left += width
    axes.set_yticks(where, [series.in_lines(label) for label, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.locator_params(axis="x", nbins=4)
    style.plain_axis(axes.xaxis)
    axes.set_xlabel("misses (lines)")
    axes.grid(True, axis="x", which="major")
    axes.set_axisbelow(True)
    style.legend_below(axes)


def pictures(points):
    """Yields bars of the kinds of misses, up to twelve a picture, where some are conflicts: the
    others are in the miss curves."""
    for workload, mine in locality.by_workload(points).items():
        rows = of_caches(mine)
        if not any(misses[KINDS.index("conflict")] for _, misses in rows):
            continue
        for start in range(0, len(rows), MOST_BARS):
            part = rows[start:start + MOST_BARS]
            yield Picture(f"kinds_{workload}_{start // MOST_BARS + 1}",
                          series.titled(f"{workload}, kinds of misses",
                                        locality.common_size(mine)),
                          "Compulsory: first accesses. Capacity: in a fully associative cache, "
                          "too. Conflict: only because sets are full.",
                          lambda axes, p=part: draw(axes, p),
                          lambda p=part: textplot.bars(bars_of(p), "misses"),
                          1.4 + series.height_of([label for label, _ in part], 0.3),
                          alt=said_bars(bars_of(part), "misses"))
