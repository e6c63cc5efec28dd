"""The one picture: how fast every variant is, where its time goes, and how far from its bounds it is."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

import speedup  # noqa: E402
import tables  # noqa: E402

# Told apart with any colour vision (Okabe and Ito 2008), and by their markers without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
MARKERS = "osD^vPX*"
PHASE_COLOURS = {"compute": "#0072B2", "exchange": "#E69F00", "waiting": "#BBBBBB", "read": "#56B4E9",
                 "verify": "#CC79A7", "write": "#009E73"}
MOST_SERIES = 16


def size_of(point):
    """A matrix product's size is the edge of the cube of the same work."""
    c = point.config
    return float(c["m"] * c["n"] * c["k"]) ** (1 / 3) if {"m", "n", "k"} <= c.keys() else float(c["n"])


def choose_axis(points):
    """What goes along the x axis: (label, value of a point, columns it stands for); None: nothing numeric varies."""
    names = tables.varying(points)
    if {"m", "n", "k"} & set(names) and "n" in points[0].config:
        cubes = all(len({p.config.get(d, p.config["n"]) for d in "mnk"}) == 1 for p in points)
        label = "n" if cubes or "m" not in points[0].config else "edge of the cube of the same work, $(m n k)^{1/3}$"
        return label, size_of, ("m", "n", "k")
    for name in ["ranks", "threads"] + names:
        if name in names and not isinstance(points[0].config[name], str):
            return name, lambda point, n=name: float(point.config[n]), (name,)
    return None


def label_of(point, names):
    return ", ".join(tables.number(point.config[n]) if isinstance(point.config[n], str)
                     else f"{n} {tables.number(point.config[n])}" for n in names) or "all"


def series_of(points, axis):
    """Points by what tells them apart beside the x axis, in the order of the file."""
    names = [n for n in tables.varying(points) if axis is None or n not in axis[2]]
    if not names and "kernel" in points[0].config:
        names = ["kernel"]
    out = {}
    for point in points:
        out.setdefault(label_of(point, names), []).append(point)
    return out


def errors_of(points):
    """Distances from the rate to the ends of its interval, as errorbar wants them."""
    ends = np.array([point.rate_interval for point in points]).T
    rates = np.array([point.rate for point in points])
    return np.maximum(0, np.array([rates - ends[0], ends[1] - rates]))


def ceiling_of(points):
    """The machine's ceiling where all points have the same one."""
    tops = {round(p.rate / p.measured["ceiling_share"], 3) for p in points if p.measured["ceiling_share"] > 0}
    return tops.pop() if len(tops) == 1 else None


def wants_log(rates):
    rates = [rate for rate in rates if rate > 0]
    return bool(rates) and max(rates) / min(rates) > 20


def draw_lines(axes, series, axis, units):
    for index, (label, points) in enumerate(series.items()):
        points = sorted(points, key=axis[1])
        axes.errorbar([axis[1](p) for p in points], [p.rate for p in points], yerr=errors_of(points), label=label,
                      color=COLOURS[index % len(COLOURS)], marker=MARKERS[index % len(MARKERS)], markersize=6,
                      linestyle="-" if index < len(COLOURS) else "--", linewidth=1.5, capsize=3)
    xs = sorted({axis[1](p) for points in series.values() for p in points})
    if len(xs) > 1 and xs[0] > 0 and xs[-1] / xs[0] > 3:
        axes.set_xscale("log", base=2)
    ticks = xs if len(xs) <= 8 else xs[:: len(xs) // 6]
    axes.set_xticks(ticks, [f"{x:.0f}" if x >= 10 or x == int(x) else f"{x:.2g}" for x in ticks])
    axes.minorticks_off()
    if wants_log([p.rate for points in series.values() for p in points]):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel(axis[0])
    axes.set_ylabel(units)
    axes.grid(True, which="major", color="#DDDDDD", linewidth=0.6)


def draw_bars(axes, series, units):
    points = [points[-1] for points in series.values()]
    rates = [p.rate for p in points]
    where = np.arange(len(points))
    axes.barh(where, rates, xerr=errors_of(points), capsize=3, color=COLOURS[0], height=0.6)
    axes.set_yticks(where, list(series))
    axes.invert_yaxis()
    if wants_log(rates):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
    for y, point in zip(where, points):
        axes.annotate(f" {point.rate:.3g}", (point.rate_interval[1], y), va="center", fontsize=9)
    axes.margins(x=0.15)
    axes.set_xlabel(units)


def phase_point(series, axis):
    """For every series the point at the x that most of them share (the largest such), and that x."""
    if axis is None:
        return {label: points[-1] for label, points in series.items()}, None
    counts = {}
    for points in series.values():
        for x in {axis[1](p) for p in points}:
            counts[x] = counts.get(x, 0) + 1
    best = max(counts, key=lambda x: (counts[x], x))
    chosen = {label: next((p for p in points if axis[1](p) == best), None) for label, points in series.items()}
    return {label: point for label, point in chosen.items() if point is not None}, best


def shares(point):
    """(phase, seconds, part of a repetition) in the order to stack them; what no phase names is waiting."""
    timed = [(name, point.phases[name], True) for name in point.phases if name in point.timed]
    waiting = point.measured["median"] - sum(seconds for _, seconds, _ in timed)
    once = [(name, point.phases[name], False) for name in point.phases if name not in point.timed]
    return timed + [("waiting", max(0.0, waiting), True)] + once


def draw_phases(axes, series, axis):
    chosen, x = phase_point(series, axis)
    spare = iter(("#D55E00", "#F0E442", "#999933", "#882255"))
    colours = dict(PHASE_COLOURS)
    seen = set()
    for y, point in enumerate(chosen.values()):
        parts = shares(point)
        total = sum(seconds for _, seconds, _ in parts) or 1.0
        left = 0.0
        for name, value, timed in parts:
            colour = colours.setdefault(name, next(spare, "#444444"))
            label = None if name in seen else name if timed else f"{name} (once)"
            seen.add(name)
            axes.barh(y, 100 * value / total, left=left, height=0.6, color=colour, edgecolor="white", linewidth=0.5,
                      hatch=None if timed else "///", label=label)
            left += 100 * value / total
        axes.annotate(f" {tables.seconds(total)}", (100, y), va="center", fontsize=9)
    axes.set_yticks(range(len(chosen)), list(chosen))
    axes.invert_yaxis()
    axes.set_xlim(0, 118)
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("% of the time a rank spends")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, fontsize=8, frameon=False)
    where = "" if x is None else f" at {'n' if axis[0] == 'n' else 'size' if 'edge' in axis[0] else axis[0]} = {x:.0f}"
    axes.set_title(f"where the time goes{where}", fontsize=11)


def draw_workload(left, right, run):
    axis = choose_axis(run.points)
    series = series_of(run.points, axis)
    if len(series) > MOST_SERIES:  # the fastest; more would be a thicket
        ordered = sorted(series, key=lambda label: -max(p.rate for p in series[label]))[:MOST_SERIES]
        series = {label: points for label, points in series.items() if label in ordered}
    if axis is None:
        draw_bars(left, series, run.rate_units)
    else:
        draw_lines(left, series, axis, run.rate_units)
        top = ceiling_of([p for points in series.values() for p in points])
        if top is not None:
            left.axhline(top, color="#666666", linestyle=":", linewidth=1.2)
            left.annotate("measured ceiling", (0.01, top), xycoords=("axes fraction", "data"), fontsize=8,
                          va="bottom", color="#444444")
        left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, fontsize=8, frameon=False)
    first = run.points[0].config
    same = [n for n in ("type", "op", "ranks", "threads") if n in first
            and len({p.config[n] for p in run.points}) == 1]
    fixed = ", ".join(str(first[n]) if n in ("type", "op") else f"{first[n]} {n if first[n] != 1 else n[:-1]}" for n in same)
    left.set_title(f"{run.workload}{': ' + fixed if fixed else ''} (median, 95 % interval)", fontsize=11)
    draw_phases(right, series, axis)


def draw(workloads, png):
    """Writes the picture: a row of two panels for every workload, speed-ups for a run that looked at them."""
    heights = [speedup.height(run.scalability) if run.scalability else 5.2 for run in workloads.values()]
    figure = plt.figure(figsize=(13, sum(heights)), layout="constrained")
    parts = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for part, run in zip(parts, workloads.values()):
        if run.scalability:
            speedup.draw(run.scalability, part)
            continue
        left, right = part.subplots(1, 2, gridspec_kw={"width_ratios": [3, 2]})
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        draw_workload(left, right, run)
    attributes = next(iter(workloads.values())).attributes
    figure.suptitle(f"{attributes.get('hosts', '')}: {attributes.get('processor', '')}   "
                    f"{attributes.get('start_time', '')}", fontsize=9, color="#444444")
    figure.savefig(png, dpi=130)
    plt.close(figure)
