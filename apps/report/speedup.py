"""The picture of a scalability run: measured speed-ups between the bounds that work and span give."""
import numpy as np

import tables

MOST_PANELS = 12


def key_of(row):
    words = [row["workload"], row["kernel"], f"n {row['n']}"]
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


def text(rows):
    """The bounds and the measurements as a table."""
    lines = [["what", "processors", "parallelism", "burdened", "at least", "measured", "at most", "is"]]
    for key, found in panels_of(rows).items():
        for row in found:
            known = row["speedup"] == row["speedup"]
            lines.append([key, str(row["processors"]), tables.number(row["parallelism"]),
                          tables.number(row["burdened_parallelism"]), f"{row['lower_bound']:.2f}",
                          f"{row['speedup']:.2f} ({row['speedup_low']:.2f} .. {row['speedup_high']:.2f})" if known
                          else "-", f"{row['upper_bound']:.2f}", row["place"] or "-"])
    return tables.grid(lines)


def draw_panel(axes, key, rows):
    processors = np.array([1] + [row["processors"] for row in rows], dtype=float)
    low = np.array([1] + [row["lower_bound"] for row in rows])
    high = np.array([1] + [row["upper_bound"] for row in rows])
    axes.fill_between(processors, low, high, color="#56B4E9", alpha=0.3, linewidth=0, label="between the bounds")
    axes.plot(processors, high, color="#0072B2", linewidth=1.5, label="at most: min(P, parallelism)")
    axes.plot(processors, low, color="#0072B2", linewidth=1.5, linestyle="--", label="at least: burdened")
    measured = [row for row in rows if row["speedup"] == row["speedup"]]
    if measured:
        middle = np.array([row["speedup"] for row in measured])
        ends = np.array([[row["speedup_low"], row["speedup_high"]] for row in measured]).T
        axes.errorbar([row["processors"] for row in measured], middle,
                      yerr=np.maximum(0, [middle - ends[0], ends[1] - middle]), color="#D55E00", marker="o",
                      markersize=7, linestyle="none", capsize=4, label="measured (95 % interval)", zorder=3)
        for row in measured:
            if row["waited"] > 0.03:
                axes.annotate(f" others had the cores\n {100 * row['waited']:.0f} % of the time",
                              (row["processors"], row["speedup"]), fontsize=8, color="#D55E00", va="center")
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
    axes.set_title(f"{key}\nparallelism {tables.number(last['parallelism'])}, burdened "
                   f"{tables.number(last['burdened_parallelism'])}", fontsize=10)
    axes.set_xlabel("processors")
    axes.set_ylabel("speed-up")
    axes.grid(True, which="major", color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def draw(rows, figure):
    """Fills the figure with a panel for every kernel and size."""
    panels = dict(list(panels_of(rows).items())[:MOST_PANELS])
    across = min(3, len(panels))
    grid = figure.subplots(-(-len(panels) // across), across, squeeze=False).ravel()
    for axes, (key, found) in zip(grid, panels.items()):
        draw_panel(axes, key, found)
    for axes in grid[len(panels):]:
        axes.set_visible(False)
    figure.axes[0].legend(loc="upper left", fontsize=8, frameon=False)


def height(rows):
    """Inches that the panels want."""
    return 4.6 * -(-min(MOST_PANELS, len(panels_of(rows))) // 3)
