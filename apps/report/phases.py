"""Time of a repetition by phase: per variant, and per rank with the load imbalance."""
import numpy as np

import rates
import series as s
import tables
import textplot
from picture import Picture

COLOURS = {"compute": "#0072B2", "exchange": "#E69F00", "waiting": "#9A9A9A", "read": "#56B4E9",
           "verify": "#CC79A7",
           "write": "#009E73"}
SPARE = ("#D55E00", "#B8A800", "#AA4499", "#8C8C00", "#7A7A7A")
MOST_RANKS = 32
LEAST = 5e-3  # of a bar: what is shorter cannot be seen, and is not in the legend


def colours_of(names):
    spare = iter(SPARE * 8)
    return {name: COLOURS.get(name) or next(spare) for name in names}


def shares(point):
    """Returns (phase, seconds, whether part of a repetition) in stacking order; time outside of all
    phases counts as waiting."""
    timed = [(name, float(point.phases[name].mean()), True) for name in point.phases
             if name in point.timed and name != "waiting"]
    waiting = point.measured["median"] - sum(seconds for _, seconds, _ in timed)
    once = [(name, float(point.phases[name].mean()), False)
            for name in point.phases if name not in point.timed]
    return timed + [("waiting", max(0.0, waiting), True)] + once


def draw_shares(axes, rows):
    import style
    colours = colours_of(dict.fromkeys(name for _, parts in rows for name, _, _ in parts))
    seen = set()
    for y, (_, parts) in enumerate(rows):
        total, left = sum(seconds for _, seconds, _ in parts) or 1.0, 0.0
        for name, value, timed in parts:
            if value < LEAST * total:
                continue
            label = None if name in seen else name if timed else f"{name} (once)"
            seen.add(name)
            axes.barh(y, 100 * value / total, left=left, height=0.62, color=colours[name],
                      edgecolor="white", linewidth=0.4,
                      hatch=None if timed else "////", label=label)
            left += 100 * value / total
        axes.annotate(tables.seconds(total), (1.02, y), xycoords=("axes fraction", "data"),
                      va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [s.in_lines(label) for label, _ in rows])
    middle, half = (len(rows) - 1) / 2, max(s.FEWEST_BARS, len(rows)) / 2
    axes.set_ylim(middle + half, middle - half)  # a single bar is no wall
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("share of a rank's time (%)")
    narrow = max(len(label) for label, _ in rows) > 14  # long labels leave little room for bars
    style.legend_below(axes, columns=2 if narrow else 0)


def scales(points, axis):
    """Returns whether the points scale strongly, or weakly with a number of cores for every size: a
    bar shows each number of ranks and threads."""
    if axis is None or axis.name in s.MACHINE:
        return axis is not None
    machines = s.count(points, s.MACHINE)
    return 1 < machines == s.count(points, (*axis.columns, *s.MACHINE)) <= s.MOST_BARS


def by_variant(run):
    points = [p for p in run.points if p.phases]
    if not points:
        return
    axis = s.choose_axis(points, run.workload)
    if scales(points, axis):
        axis = None
    inside, outside = s.facets(points, axis.columns if axis else (), s.MOST_BARS)
    parts = s.split(points, outside)
    facet, mine = next(iter(parts.items()))
    x = rates.most_shared(s.split(mine, inside), axis) if axis else None
    chosen = rates.at(mine, axis, x)
    varied = [n for n in inside if s.count(chosen, [n]) > 1]
    rows = [(s.label_of(p, varied or ["kernel"]), shares(p)) for p in chosen]
    same = [n for n in inside if n not in varied] + [n for n in ("ranks", "threads")
                                                     if n not in (*inside, *outside)
                                                     and (axis is None or n not in axis.columns)]
    words = [w for w in (facet if outside else "", rates.place(axis, x, chosen),
                         s.size_words(chosen) if axis is None or axis.columns[0] not in s.SIZES
                         else "", s.common(chosen, same)) if w]
    names = dict.fromkeys(name for _, parts_ in rows for name, _, _ in parts_)
    flat = [(label, {name: seconds for name, seconds, _ in parts_},
             tables.seconds(sum(p[1] for p in parts_)))
            for label, parts_ in rows]
    yield Picture(
        "phases", s.titled(f"{run.workload}, time by phase", *words),
        "Mean of the ranks, median of the repetitions; hatched phases occur once per point, not in "
        "every repetition. Waiting: time of the slowest rank beyond the phases of a rank.",
        lambda axes: draw_shares(axes, rows), lambda: textplot.stacks(flat, list(names)),
        1.5 + s.height_of([label for label, _ in rows], 0.28),
        alt="; ".join(f"{label} {note}: " + ", ".join(
            f"{name} {100 * value / (sum(parts.values()) or 1):.0f} %"
            for name, value in parts.items()) for label, parts, note in flat))


def imbalance(values):
    """Returns the load imbalance, max / mean - 1 over ranks."""
    mean = float(np.mean(values))
    return float(np.max(values)) / mean - 1 if mean > 0 else 0.0


def widest(points):
    """Returns the point to show by rank: most ranks, then the longest median; None if none has
    several."""
    many = [p for p in points if p.phases and int(p.config["ranks"]) > 1 and p.timed]
    return max(many, key=lambda p: (p.config["ranks"], p.measured["median"]), default=None)


def draw_ranks(axes, point):
    import style
    names = [name for name in point.phases if name in point.timed]
    colours = colours_of(names)
    scale, unit = style.time_unit(point.measured["median"])
    ranks = max(len(point.phases[name]) for name in names)
    left = np.zeros(ranks)
    for name in names:
        values = np.zeros(ranks)
        values[:len(point.phases[name])] = point.phases[name] * scale
        axes.barh(range(ranks), values, left=left, height=0.7, color=colours[name],
                  edgecolor="white", linewidth=0.4,
                  label=f"{name}: {100 * imbalance(values):.0f} % imbalance")
        left += values
    axes.axvline(point.measured["median"] * scale, color=style.QUIET, linestyle=":", linewidth=1.2,
                 label="median repetition")
    shown = s.spread(list(range(ranks)), 16)
    axes.set_yticks(shown, [str(r) for r in shown])
    axes.invert_yaxis()
    axes.set_ylabel("rank")
    axes.set_xlabel(f"time of a repetition ({unit})")
    style.legend_below(axes)


def describe(point, points):
    names = [n for n in s.varying(points) if n not in (*s.MACHINE, *s.SIZES)][:5]
    return s.listed(s.size_words([point]), s.label_of(point, names) if names else "",
                    s.label_of(point, s.MACHINE))


def by_rank(run):
    point = widest(run.points)
    if point is None:
        return
    names = [name for name in point.phases if name in point.timed]
    ranks = int(point.config["ranks"])
    rows = [(f"rank {r}", {n: float(point.phases[n][r]) for n in names if r < len(point.phases[n])},
             tables.seconds(sum(float(point.phases[n][r])
                                for n in names if r < len(point.phases[n]))))
            for r in range(min(ranks, MOST_RANKS))]
    yield Picture(
        "ranks", f"{run.workload}, time by rank: {describe(point, run.points)}",
        "Medians of every phase and rank, which may add up to more than the median of the whole "
        "repetition (dotted), of the slowest point with the most ranks. Imbalance: max / mean - 1 "
        "over the ranks.",
        lambda axes: draw_ranks(axes, point), lambda: textplot.stacks(rows, names),
        1.6 + 0.2 * min(16, max(4, ranks)) + s.legend_height(["median repetition", *(
            f"{n}: 100 % imbalance" for n in names)]),
        alt="; ".join(f"{n}: {100 * imbalance(point.phases[n]):.0f} % imbalance" for n in names))


def table(points):
    """Returns the load imbalance of every phase as a table; empty without points on several ranks.
    """
    many = [p for p in points if p.phases and int(p.config["ranks"]) > 1 and p.timed]
    if not many:
        return []
    shown = [n for n in tables.varying(many, always=("ranks",)) if n not in s.FOUND]
    names = list(dict.fromkeys(n for p in many for n in p.phases if n in p.timed))
    rows = [shown + [f"{n} max / mean" for n in names]]
    for p in many:
        rows.append([tables.number(p.config[n]) for n in shown]
                    + [f"{1 + imbalance(p.phases[n]):.2f}" if n in p.phases else "-"
                       for n in names])
    return rows
