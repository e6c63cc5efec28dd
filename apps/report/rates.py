"""Rates: a comparison of variants, and rates against the size or another option."""
import numpy as np

import heatmap
import series as s
import tables
import textplot
from picture import Picture, said_bars, said_lines

INTERVAL = "Medians of the repetitions; whiskers are 95 % confidence intervals of the median, " \
    "of fewer than six their range."


FAILED = "FAILED"  # its check
MOST_LEVELS = 2  # horizontal lines of a picture
# Columns of what is computed; the type is a choice of method.
PROBLEM = ("stencil", "shape", "steps", "input", "op", "m", "n", "k")


def failed(point):
    return point.measured["verified"] == 0


def most_shared(groups, axis):
    """Returns the x that most groups share, the largest of them."""
    counts = {}
    for points in groups.values():
        for x in {axis.value(p) for p in points} - {None}:
            counts[x] = counts.get(x, 0) + 1
    return max(counts, key=lambda x: (counts[x], x))


def at(points, axis, x):
    return [p for p in points if axis is None or axis.value(p) in (x, None)]


def place(axis, x, points):
    """Returns text for the picture's position on the axis it does not show."""
    points = [p for p in points if axis is not None and axis.value(p) == x]
    if not points:
        return ""
    if len({tuple(p.config[c] for c in axis.columns) for p in points}) > 1:
        return f"edge {x:.0f}"
    if len({points[0].config[c] for c in axis.columns}) == 1 and len(axis.columns) > 1:
        return f"{' = '.join(axis.columns)} = {points[0].config['n']}"
    return s.label_of(points[0], axis.columns)


def draw_bars(axes, rows, units, ceiling=None):
    import style
    rates = [row[1] for row in rows]
    where = np.arange(len(rows))
    errors = np.maximum(0, np.array([[v - low, high - v] for _, v, low, high, _ in rows]).T)
    axes.barh(where, rates, xerr=errors, color=style.COLOURS[0], height=0.62, ecolor=style.INK,
              error_kw={"elinewidth": 1})
    axes.set_yticks(where, [s.in_lines(row[0]) for row in rows])
    axes.invert_yaxis()
    right = max(max(row[3] for row in rows), max(rates))
    if ceiling and ceiling < 3 * right:
        axes.axvline(ceiling, color=style.QUIET, linestyle=":", linewidth=1.2,
                     label="measured ceiling")
        right = max(right, ceiling)
        style.legend_below(axes)
    axes.set_xlim(0, right * 1.05 or 1)
    for y, (_, rate, _, _, note) in zip(where, rows):
        axes.annotate(f"{tables.rate(rate)}{f' ({note})' if note else ''}", (1.02, y),
                      xycoords=("axes fraction", "data"), va="center", fontsize=8,
                      color=style.WRONG if FAILED in note else style.INK)
    axes.set_xlabel(f"rate ({units})")
    axes.grid(True, axis="x", which="major")
    axes.set_axisbelow(True)


def same_problem(point, other):
    """Returns whether two points compute the same: a 9 x 9 box has no ratio to a 3 x 3 box."""
    return all(point.config.get(name, "") == other.config.get(name, "") for name in PROBLEM)


def references(points):
    """Returns the point that each is compared with, None for none: the first of the same problem;
    for a probe of the memory with a remedy the same probe without, "conflict" for
    "conflict_padded"."""
    if "probe" not in points[0].config:
        first = [next(p for p in points if same_problem(point, p)) for point in points]
        return [None if one is point else one for one, point in zip(first, points)]
    return [max((p for p in points if str(point.config["probe"]).startswith(
        f"{p.config['probe']}_")), key=lambda p: len(p.config["probe"]), default=None)
            for point in points]


def bar_rows(points, names):
    """Returns (label, rate, ends of its interval, note); the note has the share of the ceiling and
    the ratio to the rate of the reference."""
    rows = []
    for point, first in zip(points, references(points)):
        share = point.share
        note = [f"{100 * share:.0f} %"] if share == share else []
        if first is not None and first.rate > 0:
            note.append(f"{point.rate / first.rate:.3g}x")
        if failed(point):
            note.append(FAILED)
        rows.append((s.label_of(point, names), point.rate, *point.rate_interval, ", ".join(note)))
    return rows


def ceiling_of(points):
    """Returns the machine's ceiling if all points have the same one, else None."""
    tops = {round(p.rate / p.share, 3) for p in points if p.share > 0}
    return tops.pop() if len(tops) == 1 else None


def variants(run):
    """Yields bars at the size that most variants share."""
    axis = s.choose_axis(run.points, run.workload)
    taken = axis.columns if axis else ()
    if axis is not None and axis.name in s.MACHINE:
        return
    inside, outside = s.facets(run.points, taken, s.MOST_BARS)
    if not inside:
        return
    ladder = run.workload == "transpose" and "kernel" in inside
    parts = s.split(run.points, outside)
    for number, (facet, points) in enumerate(list(parts.items())[:s.MOST_FACETS], 1):
        x = most_shared(s.split(points, inside), axis) if axis else None
        chosen = at(points, axis, x)
        if len(chosen) < 2:
            continue
        names = [n for n in inside if s.count(chosen, [n]) > 1]
        rows = bar_rows(chosen, names)
        same = [n for n in inside if n not in names]
        same += [n for n in (*s.NAMES, "type", "ranks", "threads") if n not in outside + inside]
        of_size = axis is None or axis.columns[0] not in s.SIZES
        words = [w for w in (facet if outside else "", place(axis, x, chosen),
                             s.size_words(chosen) if of_size else "",
                             s.common(chosen, same)) if w]
        noted = any(p.share == p.share for p in chosen)
        than = "over the probe without the remedy" if "probe" in chosen[0].config else \
            f"over the first ({rows[0][0]})"
        yield Picture(
            f"variants_{number}" if len(parts) > 1 else "variants",
            f"{run.workload}, {'ladder of variants' if ladder else 'variants'}: {', '.join(words)}",
            INTERVAL + " In brackets: " + ("share of the measured ceiling and " if noted
                                           else "") + f"speed-up {than}.",
            lambda axes, r=rows, c=chosen: draw_bars(axes, r, run.rate_units, ceiling_of(c)),
            lambda r=rows: textplot.bars(r, run.rate_units),
            1.3 + s.height_of([row[0] for row in rows], 0.3),
            alt=said_bars(rows, run.rate_units))


def draw_lines(axes, groups, axis, units, ceiling, levels):
    import style
    for label, rate in levels.items():
        axes.axhline(rate, color=style.QUIET, linestyle="--", linewidth=1.2, label=label)
    for index, (label, points) in enumerate(groups.items()):
        points = sorted(points, key=axis.value)
        axes.errorbar([axis.value(p) for p in points], [p.rate for p in points],
                      yerr=s.errors_of(points), label=label,
                      **style.look(index))
    every = [p for points in groups.values() for p in points]
    if wrong := [p for p in every if failed(p)]:
        axes.plot([axis.value(p) for p in wrong], [p.rate for p in wrong], color=style.WRONG,
                  marker="x", markersize=11, markeredgewidth=2, linestyle="none", zorder=4,
                  label="check FAILED")
    style.value_axis(axes.xaxis, [axis.value(p) for p in every])
    log = s.wants_log([*(p.rate for p in every), *levels.values()])
    if ceiling and ceiling < 5 * max(p.rate for p in every):
        axes.axhline(ceiling, color=style.QUIET, linestyle=":", linewidth=1.2,
                     label="measured ceiling")
    if log:
        rates = [rate for rate in (*(p.rate for p in every), *levels.values()) if rate > 0]
        ends = [low for low in (p.rate_interval[0] for p in every) if low > min(rates) / 10]
        style.log_axis(axes.yaxis, min([*rates, *ends]) / 1.5,
                       max(axes.get_ylim()[1], 1.5 * max(rates)))
    else:
        tops = [axes.get_ylim()[1], *(1.05 * rate for rate in levels.values())]
        axes.set_ylim(0, max(tops))  # last, as it freezes the upper limit
    axes.set_xlabel(axis.label)
    axes.set_ylabel(f"rate ({units})")
    axes.grid(True, which="major")
    style.legend_below(axes)


def levels_of(points, axis, outside):
    """Returns {label: rate} of the variants without a value on the axis, such as naive by width of
    columns; of several points of a variant none."""
    names = [n for n in s.varying(points) if n not in axis.columns and n not in outside]
    groups = s.split([p for p in points if axis.value(p) is None], names)
    return {label: mine[0].rate for label, mine in groups.items() if len(mine) == 1} \
        if len(groups) <= MOST_LEVELS else {}


def along(run, axis, name):
    known = [p for p in run.points if axis.value(p) is not None]
    every = [p for p in known if axis.value(p) > 0] or known
    inside, outside = s.facets(every, axis.columns, s.MOST_SERIES)
    if not inside and "kernel" in s.varying(run.points):
        inside = ["kernel"]  # of the lines and of those without a value
    everywhere = s.split(run.points, outside)
    parts = {facet: points for facet, points in s.split(every, outside).items()
             if any(len({axis.value(p) for p in group}) > 1
                    for group in s.split(points, inside).values())}
    for number, (facet, points) in enumerate(list(parts.items())[:s.MOST_FACETS], 1):
        groups = s.split(points, inside)
        words = [w for w in (facet if outside else "", s.size_words(points),
                             s.common(points, [n for n in (*s.NAMES, "algorithm", "type", "ranks",
                                                           "threads")
                                               if n not in outside and n not in inside])) if w]
        left = len(parts) - s.MOST_FACETS
        more = "" if left <= 0 else f" Picture {number} of {s.MOST_FACETS}; {left} more " \
            "combinations are in the tables."
        plain = {label: ([axis.value(p) for p in sorted(g, key=axis.value)],
                         [p.rate for p in sorted(g, key=axis.value)])
                 for label, g in groups.items()}
        levels = levels_of(everywhere[facet], axis, outside)
        log = s.wants_log([*(p.rate for p in points), *levels.values()])
        at_all = sorted({axis.value(p) for p in points})
        plain |= {label: (at_all, [rate] * len(at_all)) for label, rate in levels.items()}
        yield Picture(
            f"{name}_{number}" if len(parts) > 1 else name,
            f"{run.workload} by {axis.label.split(' (')[0]}: {', '.join(words)}",
            INTERVAL + more,
            lambda axes, g=groups, p=points, v=levels: draw_lines(axes, g, axis, run.rate_units,
                                                                  ceiling_of(p), v),
            lambda d=plain, lg=log: textplot.lines(d, axis.label, f"rate ({run.rate_units})",
                                                   log_y=lg),
            3.0 + 0.17 * (1 + len(plain) // 2),
            alt=said_lines(plain, axis.label, f"rate in {run.rate_units}"))


def lines(run):
    """Yields rates against the sizes, or against the only other varying number (two are a map)."""
    axis = s.choose_axis(run.points, run.workload)
    if axis is not None and axis.name not in s.MACHINE and not heatmap.axes_of(run.points):
        yield from along(run, axis, "by_" + axis.name)
