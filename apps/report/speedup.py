"""Pictures of scalability runs: measured speed-ups between the bounds of work and span, and the
growth of the parallelism with n compared with theory."""
import numpy as np

import tables
import textplot
from picture import Picture, said_lines

MOST_PICTURES = 12
BUSY = 0.03  # larger shares of waiting for a core are reported


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
    """Returns rows by kernel and size, sorted by processors, the latest recording of each."""
    panels = {}
    for row in rows:
        panels.setdefault(key_of(row), {})[int(row["processors"])] = row
    return {key: [found[p] for p in sorted(found)] for key, found in panels.items()}


def growths_of(rows):
    """Returns (n, parallelism, theory) as arrays, for every kernel with a theory and at least three
    sizes."""
    series = {}
    for row in rows:
        if row["theory"] > 0 and row["growth"] != "1":
            key = f"{row['kernel']}, threshold {row['threshold']}"
            series.setdefault((key, row["growth"]), {})[int(row["n"])] = row
    return {key: np.array([(n, found[n]["parallelism"], found[n]["theory"])
                           for n in sorted(found)]).T
            for key, found in series.items() if len(found) >= 3}


def thresholds_of(rows):
    """Returns (threshold, seconds on one thread, on the most) by n, for every kernel with at least
    three thresholds."""
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
    """Fits parallelism = a + b * theory by least squares; returns a, b and the explained part of
    the variance."""
    b, a = np.polyfit(theory, parallelism, 1)
    rest = parallelism - (a + b * theory)
    return a, b, 1 - rest.var() / parallelism.var()


def table(rows):
    """Returns the bounds and the measurements as rows of texts."""
    lines = [["point", "processors", "parallelism", "burdened", "at least", "measured", "at most",
              "is"]]
    for key, found in panels_of(rows).items():
        for row in found:
            known = row["speedup"] == row["speedup"]
            lines.append([key, str(row["processors"]), number(row["parallelism"]),
                          number(row["burdened_parallelism"]),
                          f"{row.get('least', row['lower_bound']):.2f}",
                          f"{row['speedup']:.2f} ({row['speedup_low']:.2f} .. "
                          f"{row['speedup_high']:.2f})" if known
                          else "-", f"{row['upper_bound']:.2f}", row["place"] or "-"])
    return lines


def text(rows):
    """Returns the table and the fit of theory to each growth."""
    out = tables.grid(table(rows))
    for (key, growth), (n, parallelism, theory) in growths_of(rows).items():
        a, b, explained = fit(parallelism, theory)
        out += (f"{key}: parallelism {number(parallelism[0])} .. {number(parallelism[-1])} for n "
                f"{n[0]:.0f} .. {n[-1]:.0f};"
                f" {a:.3g} + {b:.3g} ({growth}) explains {100 * explained:.1f} % of its variance\n")
    return out


def draw_bounds(axes, rows):
    import style
    processors = np.array([1] + [row["processors"] for row in rows], dtype=float)
    low = np.array([1] + [row.get("least", row["lower_bound"]) for row in rows])
    ideal = np.array([1] + [row["lower_bound"] for row in rows])
    high = np.array([1] + [row["upper_bound"] for row in rows])
    axes.fill_between(processors, low, high, color="#56B4E9", alpha=0.3, linewidth=0,
                      label="between the bounds")
    axes.plot(processors, high, color="#0072B2", label="at most: min(P, parallelism)")
    axes.plot(processors, ideal, color="#0072B2", linestyle="--",
              label="at least: burdened, ideal cores")
    if (low != ideal).any():
        axes.plot(processors, low, color="#0072B2", linestyle=":",
                  label="at least: burdened, cores slow each other")
    measured = [row for row in rows if row["speedup"] == row["speedup"]]
    if measured:
        middle = np.array([row["speedup"] for row in measured])
        ends = np.array([[row["speedup_low"], row["speedup_high"]] for row in measured]).T
        axes.errorbar([row["processors"] for row in measured], middle,
                      yerr=np.maximum(0, [middle - ends[0], ends[1] - middle]), color="#D55E00",
                      marker="o",
                      linestyle="none", label="measured (range)", zorder=3)
    most = processors[-1]
    if most > 4:
        style.pow_two_axis(axes.xaxis, processors)
        smallest = min([*low, *(row["speedup_low"] for row in measured)])
        style.log_axis(axes.yaxis, max(2.0 ** -8, 0.8 * min(1, smallest)), 1.25 * most,
                       base=2)
    else:
        axes.set_xticks(processors, [f"{p:.0f}" for p in processors])
        axes.set_ylim(bottom=0)
    axes.set_xlabel("processors")
    axes.set_ylabel("speed-up")
    axes.grid(True, which="major")
    style.legend_below(axes)


def draw_growth(axes, kernel, growth, series):
    import style
    n, parallelism, theory = series
    a, b, _ = fit(parallelism, theory)
    axes.plot(n, parallelism, color="#D55E00", marker="o", linestyle="none", label="recorded")
    axes.plot(n, a + b * theory, color="#0072B2", linestyle="--",
              label=f"{a:.3g} + {b:.3g} ({growth})")
    style.pow_two_axis(axes.xaxis, n)
    if parallelism.max() / parallelism.min() > 20:
        style.log_axis(axes.yaxis, parallelism.min() / 1.5, parallelism.max() * 1.5)
    axes.set_xlabel("n (keys)" if "sort" in kernel else "n (rows of the matrices)"
                    if "matmul" in kernel else "n")
    axes.set_ylabel("parallelism (work / span)")
    axes.grid(True, which="major")
    style.legend_below(axes)


def draw_thresholds(axes, kernels):
    import style
    times = np.concatenate([part for _, one, many, _ in kernels.values() for part in (one, many)])
    scale, unit = style.time_unit(times.max())
    for (kernel, (threshold, one, many, processors)), colour in zip(kernels.items(), style.COLOURS):
        one, many = one * scale, many * scale
        axes.plot(threshold, one, color=colour, linestyle="--", marker="o",
                  label=f"{kernel}, 1 thread")
        axes.plot(threshold, many, color=colour, marker="s",
                  label=f"{kernel}, {processors[-1]:.0f} threads")
    style.pow_two_axis(axes.xaxis, [t for series in kernels.values() for t in series[0]])
    style.log_axis(axes.yaxis, scale * times.min() / 1.5, scale * times.max() * 1.5)
    axes.set_xlabel("threshold (elements)")
    axes.set_ylabel(f"time ({unit})")
    axes.grid(True, which="major")
    style.legend_below(axes)


def busy(rows):
    worst = max((row["waited"] for row in rows if row["speedup"] == row["speedup"]), default=0)
    return (f" Other processes used the cores for {100 * worst:.0f} % of the time."
            if worst > BUSY else "")


def bounds_of(found):
    known = [row for row in found if row["speedup"] == row["speedup"]]
    lines = {"at most": ([row["processors"] for row in found],
                         [row["upper_bound"] for row in found]),
             "at least": ([row["processors"] for row in found],
                          [row.get("least", row["lower_bound"]) for row in found])}
    if known:
        lines["measured"] = ([row["processors"] for row in known],
                             [row["speedup"] for row in known])
    return lines


def bounds_text(found):
    return textplot.lines(bounds_of(found), "processors", "speed-up")


def every_picture(rows):
    for number, ((key, growth), series) in enumerate(growths_of(rows).items(), 1):
        explained = fit(series[1], series[2])[2]
        yield Picture(f"growth_{number}", f"{key}: parallelism by n",
                      f"Recorded parallelism and the fit a + b ({growth}), which explains "
                      f"{100 * explained:.1f} % of its variance.",
                      lambda axes, k=key, g=growth, d=series: draw_growth(axes, k, g, d),
                      lambda d=series: textplot.lines({"recorded": (d[0], d[1])}, "n",
                                                      "parallelism", log_y=True),
                      alt=said_lines({"recorded": (series[0], series[1])}, "n", "parallelism"))
    for number, (n, kernels) in enumerate(thresholds_of(rows).items(), 1):
        yield Picture(f"threshold_{number}", f"{', '.join(kernels)}, n {n}: time by threshold",
                      "Medians; dashed: one thread.", lambda axes,
                      k=kernels: draw_thresholds(axes, k),
                      lambda k=kernels: textplot.lines({name: (d[0], d[2])
                                                        for name, d in k.items()}, "threshold",
                                                       "seconds",
                                                       log_y=True), 3.5,
                      alt=said_lines({name: (d[0], d[2]) for name, d in kernels.items()},
                                     "threshold", "seconds"))
    for number, (key, found) in enumerate(panels_of(rows).items(), 1):
        last = found[-1]
        yield Picture(f"speedup_{number}", f"{key}: bounds of the speed-up",
                      f"Parallelism {tables.number(last['parallelism'])}, burdened "
                      f"{tables.number(last['burdened_parallelism'])}; "
                      "bounds after He, Leiserson and Leiserson (2010)." + busy(found),
                      lambda axes, f=found: draw_bounds(axes, f), lambda f=found: bounds_text(f),
                      3.4, alt=said_lines(bounds_of(found), "processors", "speed-up"))


def pictures(rows):
    """Returns growths and thresholds, then speed-ups, limited in number."""
    found = list(every_picture(rows))
    rest = len(found) - MOST_PICTURES
    if rest > 0:
        found = found[:MOST_PICTURES]
        found[-1].caption += f" ({rest} more are in the table.)"
    return found
