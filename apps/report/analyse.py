"""Profiles of sampled programs: hotspots, and the speed-ups that follow from the serial share."""
import h5py
import numpy as np

import results
import tables as texts
import textplot
from picture import Picture, said_bars, said_lines

MOST_BARS = 12
PROCESSORS = 2.0 ** np.arange(0, 7)


class Profile:
    """One run of tessera analyse."""

    def __init__(self, run, group):
        self.run, self.key = run, run
        self.title = group.attrs.get("option_title") or "analyse"
        self.command = group.attrs.get("command_line", "")
        self.spots = results.rows_of(group["hotspots"])
        self.busy = results.rows_of(group["busy"])
        self.gpu = results.rows_of(group["gpu_calls"]) if "gpu_calls" in group else []

    def serial(self):
        """Returns the serial shares of the work and of the time."""
        samples = np.array([row["samples"] for row in self.busy], dtype=float)
        time = samples / np.array([row["threads"] for row in self.busy], dtype=float)
        return samples[0] / samples.sum(), samples[0] / time.sum()

    def threads(self):
        return max(row["threads"] for row in self.busy)


def read(path):
    """Returns the profiles of a file."""
    with h5py.File(path, "r") as file:
        return [Profile(run, group) for run, group in results.groups_of(file)
                if "hotspots" in group]


def amdahl(serial, processors):
    return 1 / (serial + (1 - serial) / processors)


def speedups(profile):
    """Returns {label: (processors, speed-ups)}."""
    work, time = profile.serial()
    lines = {"linear": (PROCESSORS, PROCESSORS),
             "grown problem (Gustafson)": (PROCESSORS, time + (1 - time) * PROCESSORS),
             "same problem (Amdahl)": (PROCESSORS, amdahl(work, PROCESSORS))}
    if profile.threads() > 1:
        lines["busy processors of this run"] = (np.array([float(profile.threads())]),
                                                np.array([time / work if work else
                                                          float(profile.threads())]))
    return lines


def draw_speedups(axes, profile):
    import style
    lines = speedups(profile)
    for number, (name, (xs, ys)) in enumerate(lines.items()):
        look = style.look(number)
        axes.plot(xs, ys, label=name, **{**look, "marker": look["marker"] if len(xs) == 1 else "",
                                         "linestyle": ":" if number == 0 else "-"})
    style.pow_two_axis(axes.xaxis, PROCESSORS)
    style.log_axis(axes.yaxis, 0.8, 1.3 * PROCESSORS[-1], base=2)
    axes.grid(True, which="major")
    axes.set_xlabel("processors")
    axes.set_ylabel("speed-up")
    style.legend_below(axes)


def bars(profile):
    """Returns (label, percent) of the hotspots, the largest first."""
    rows = sorted(profile.spots, key=lambda row: -row["samples"])[:MOST_BARS]
    return [(short(row["function"]), 100 * row["share"]) for row in rows]


def short(name, most=34):
    return name if len(name) <= most else "..." + name[3 - most:]


def draw_spots(axes, profile):
    import style
    rows = bars(profile)
    axes.barh(range(len(rows)), [value for _, value in rows], color=style.COLOURS[0], height=0.65)
    for place, (_, value) in enumerate(rows):
        axes.annotate(f"{value:.1f}", (value, place), (3, 0), va="center", fontsize=8,
                      textcoords="offset points")
    axes.set_yticks(range(len(rows)), [label for label, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * rows[0][1])
    axes.set_xlabel("% of processor time")


def pictures(profiles):
    """Yields the hotspots, and the speed-ups where several threads were busy."""
    for number, profile in enumerate(profiles, 1):
        rows = bars(profile)
        yield Picture(f"hotspots_{number}", "Hotspots",
                      f"Functions by samples of processor time: {profile.command}",
                      lambda axes, p=profile: draw_spots(axes, p),
                      lambda rows=rows: textplot.bars([(label, value, np.nan, np.nan, "")
                                                       for label, value in rows], "%"),
                      0.9 + 0.2 * len(rows), alt=said_bars(rows, "%"))
        if profile.threads() < 2:
            continue
        lines = speedups(profile)
        work, time = profile.serial()
        yield Picture(f"speedup_{number}", "Speed-up that the profile allows",
                      f"{100 * work:.1f} % of the work and {100 * time:.1f} % of the time run "
                      f"while one thread is busy.",
                      lambda axes, p=profile: draw_speedups(axes, p),
                      lambda lines=lines: textplot.lines(lines, "processors", "speed-up"),
                      3.4, alt=said_lines(lines, "processors", "speed-up"))


def gpu_table(rows):
    """Returns rows of texts: operations or calls by time, as nvprof prints them."""
    whole = sum(row["seconds"] for row in rows)
    rows = sorted(rows, key=lambda row: -row["seconds"])[:MOST_BARS]
    return [["name", "share, %", "calls", "average, us", "least, us", "most, us"], *(
        [row["name"], f"{100 * row['seconds'] / whole:.1f}", texts.number(row["calls"]),
         texts.number(1e6 * row["seconds"] / row["calls"]), texts.number(1e6 * row["least"]),
         texts.number(1e6 * row["most"])] for row in rows)]


def tables(profiles):
    """Yields (heading, rows of texts)."""
    for profile in profiles:
        rows = sorted(profile.spots, key=lambda row: -row["samples"])
        yield "analyse: hotspots", [["phase", "function", "share, %", "of it serial, %"], *(
            [row["phase"], row["function"], f"{100 * row['share']:.1f}",
             f"{100 * row['serial'] / row['samples']:.1f}"] for row in rows[:MOST_BARS])]
        for kind, heading in (("operation", "analyse: operations on GPUs"),
                              ("call", "analyse: calls of CUDA")):
            if rows := [row for row in profile.gpu if row["kind"] == kind]:
                yield heading, gpu_table(rows)
        yield "analyse: samples by busy threads", [["threads", "samples"], *(
            [texts.number(row["threads"]), texts.number(row["samples"])] for row in profile.busy)]
