"""The picture of a scalability run: measured speed-ups between the bounds that work and span give, and how the
parallelism grows with n beside what theory says."""
import numpy as np

import tables

MOST_PANELS = 12
BUSY = 0.03  # a larger share of waiting for a core is worth a word


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def key_of(row):
    words = [f"{row['workload']} {row['kernel']}", f"n {row['n']}"]
    if row["threshold"] >= 0:
        words.append(f"threshold {row['threshold']}")
    if row["workload"] == "stencil":
        words.append(f"{row['steps']} steps of {row['stencil']}")
    return ", ".join(words)


def panels_of(rows):
    """Rows by kernel and size, each sorted by processors; of one recorded twice the later."""
    panels = {}
    for row in rows:
        panels.setdefault(key_of(row), {})[int(row["processors"])] = row
    return {key: [found[p] for p in sorted(found)] for key, found in panels.items()}


def growths_of(rows):
    """Of every kernel with a theory and three sizes at least: (n, parallelism, theory), as arrays."""
    series = {}
    for row in rows:
        if row["theory"] > 0 and row["growth"] != "1":
            key = f"{row['kernel']}, threshold {row['threshold']}"
            series.setdefault((key, row["growth"]), {})[int(row["n"])] = row
    return {key: np.array([(n, found[n]["parallelism"], found[n]["theory"]) for n in sorted(found)]).T
            for key, found in series.items() if len(found) >= 3}


def thresholds_of(rows):
    """By n, for every kernel with three thresholds at least: (threshold, seconds on one thread, on the most)."""
    found = {}
    for row in rows:
        if row["threshold"] > 0 and row["speedup"] == row["speedup"]:
            series = found.setdefault(int(row["n"]), {}).setdefault(row["kernel"], {})
            known = series.get(int(row["threshold"]))
            if known is None or known["processors"] <= row["processors"]:
                series[int(row["threshold"])] = row
    out = {}
    for n, kernels in found.items():
        for kernel, series in kernels.items():
            if len(series) >= 3:
                points = [(t, series[t]["seconds"] * series[t]["speedup"], series[t]["seconds"],
                           series[t]["processors"]) for t in sorted(series)]
                out.setdefault(n, {})[kernel] = np.array(points).T
    return out


def fit(parallelism, theory):
    """Parallelism = a + b * theory by least squares, and the part of the variance that this explains."""
    b, a = np.polyfit(theory, parallelism, 1)
    rest = parallelism - (a + b * theory)
    return a, b, 1 - rest.var() / parallelism.var()


def text(rows):
    """The bounds and the measurements as a table."""
    lines = [["what", "processors", "parallelism", "burdened", "at least", "measured", "at most", "is"]]
    for key, found in panels_of(rows).items():
        for row in found:
            known = row["speedup"] == row["speedup"]
            lines.append([key, str(row["processors"]), number(row["parallelism"]),
                          number(row["burdened_parallelism"]), f"{row['least']:.2f}",
                          f"{row['speedup']:.2f} ({row['speedup_low']:.2f} .. {row['speedup_high']:.2f})" if known
                          else "-", f"{row['upper_bound']:.2f}", row["place"] or "-"])
    out = tables.grid(lines)
    for (key, growth), (n, parallelism, theory) in growths_of(rows).items():
        a, b, explained = fit(parallelism, theory)
        out += (f"{key}: parallelism {number(parallelism[0])} .. {number(parallelism[-1])} for n {n[0]:.0f} .. {n[-1]:.0f};"
                f" {a:.3g} + {b:.3g} ({growth}) explains {100 * explained:.1f} % of its variance\n")
    return out


def draw_panel(axes, key, rows):
    processors = np.array([1] + [row["processors"] for row in rows], dtype=float)
    low = np.array([1] + [row["least"] for row in rows])
    ideal = np.array([1] + [row["lower_bound"] for row in rows])
    high = np.array([1] + [row["upper_bound"] for row in rows])
    axes.fill_between(processors, low, high, color="#56B4E9", alpha=0.3, linewidth=0, label="between the bounds")
    axes.plot(processors, high, color="#0072B2", linewidth=1.5, label="at most: min(P, parallelism)")
    axes.plot(processors, ideal, color="#0072B2", linewidth=1.5, linestyle="--", label="at least: burdened, ideal cores")
    axes.plot(processors, low, color="#0072B2", linewidth=1.5, linestyle=":", label="at least: where cores slow each other")
    measured = [row for row in rows if row["speedup"] == row["speedup"]]
    if measured:
        middle = np.array([row["speedup"] for row in measured])
        ends = np.array([[row["speedup_low"], row["speedup_high"]] for row in measured]).T
        axes.errorbar([row["processors"] for row in measured], middle,
                      yerr=np.maximum(0, [middle - ends[0], ends[1] - middle]), color="#D55E00", marker="o",
                      markersize=7, linestyle="none", capsize=4, label="measured (95 % interval)", zorder=3)
        for row in measured:
            if row["waited"] > BUSY:
                axes.annotate(f"others had the cores\n{100 * row['waited']:.0f} % of the time",
                              (row["processors"], row["speedup"]), xytext=(9, 0), textcoords="offset points",
                              fontsize=8, color="#D55E00", va="center")
    most = processors[-1]
    if most > 4:
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        smallest = min([*low, *(row["speedup_low"] for row in measured)])
        axes.set_ylim(max(2.0 ** -8, 0.8 * min(1, smallest)), 1.25 * most)
        axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(processors, [f"{p:.0f}" for p in processors])
    axes.minorticks_off()
    last = rows[-1]
    axes.set_title(f"{key.replace(', ', chr(10), 1)}\nparallelism {number(last['parallelism'])}, burdened "
                   f"{number(last['burdened_parallelism'])}", fontsize=10)
    axes.set_xlabel("processors")
    axes.set_ylabel("speed-up")


def draw_growth(axes, key, growth, series):
    n, parallelism, theory = series
    a, b, explained = fit(parallelism, theory)
    axes.plot(n, parallelism, color="#D55E00", marker="o", linestyle="none", label="recorded")
    axes.plot(n, a + b * theory, color="#0072B2", linestyle="--", label=f"{a:.3g} + {b:.3g} ({growth})")
    axes.set_xscale("log", base=2)
    if parallelism.max() / parallelism.min() > 20:
        axes.set_yscale("log")
    axes.set_title(f"{key}\nexplained by theory: {100 * explained:.1f} %", fontsize=10)
    axes.set_xlabel("n")
    axes.set_ylabel("parallelism")
    axes.legend(loc="upper left", fontsize=8, frameon=False)


def draw_thresholds(axes, n, kernels):
    for (kernel, (threshold, one, many, processors)), colour in zip(kernels.items(), ("#0072B2", "#D55E00", "#009E73")):
        axes.plot(threshold, one, color=colour, linestyle="--", marker="o", label=f"{kernel}, 1 thread")
        axes.plot(threshold, many, color=colour, marker="s", label=f"{kernel}, {processors[-1]:.0f} threads")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_title(f"n {n}, by threshold", fontsize=10)
    axes.set_xlabel("threshold")
    axes.set_ylabel("seconds")
    axes.legend(loc="best", fontsize=8, frameon=False)


def panels_to_draw(rows):
    """Functions that draw into axes: growths and thresholds first, then speed-ups."""
    growths = [lambda axes, k=key, s=series: draw_growth(axes, *k, s) for key, series in growths_of(rows).items()]
    speedups = [lambda axes, k=key, f=found: draw_panel(axes, k, f) for key, found in panels_of(rows).items()]
    growths += [lambda axes, n=n, k=kernels: draw_thresholds(axes, n, k) for n, kernels in thresholds_of(rows).items()]
    return (growths + speedups)[:MOST_PANELS], len(growths)


def draw(rows, figure):
    """Fills the figure with a panel for every kernel and size."""
    panels, growths = panels_to_draw(rows)
    across = min(3, len(panels))
    grid = figure.subplots(-(-len(panels) // across), across, squeeze=False).ravel()
    for axes, panel in zip(grid, panels):
        panel(axes)
        axes.grid(True, which="major", color="#DDDDDD", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(panels):]:
        axes.set_visible(False)
    if growths < len(panels):
        grid[growths].legend(loc="upper left", fontsize=8, frameon=False)


def height(rows):
    """Inches that the panels want."""
    return 4.6 * -(-len(panels_to_draw(rows)[0]) // 3)
