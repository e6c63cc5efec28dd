"""Strong scaling (fixed problem, Amdahl 1967) and weak scaling (problem grows with the cores,
Gustafson 1988)."""
import dataclasses
import math

import numpy as np

import series as s
import tables
import textplot
from picture import Picture, said_lines


FEWEST = 3  # points of a fit: the law has two parameters


@dataclasses.dataclass
class Scaling:
    label: str
    cores: np.ndarray    # ranks x threads
    seconds: np.ndarray  # medians
    low: np.ndarray      # ends of their intervals
    high: np.ndarray
    work: np.ndarray
    fits: np.ndarray     # points used by the fit: no more threads than CPUs
    sizes: str           # of the problem, in words; growing ones with their cores

    @property
    def speedup(self):
        """Returns the speed-up over the run on the fewest cores, taken as ideal."""
        return self.cores[0] * self.rate_ratio(self.seconds)

    def rate_ratio(self, seconds):
        return self.work / self.work[0] * self.seconds[0] / seconds

    @property
    def efficiency(self):
        """Returns the share of the ideal speed-up."""
        return self.speedup / self.cores

    @property
    def ends(self):
        """Returns the ends of the speed-up's interval, the first run taken as exact."""
        return self.cores[0] * self.rate_ratio(self.high), self.cores[0] * self.rate_ratio(self.low)


@dataclasses.dataclass
class Fit:
    serial: float  # serial fraction, 0 .. 1
    error: float   # its standard error
    count: int

    def __str__(self):
        return f"serial {percent(self.serial, 3)} +- {percent(self.error, 2)} %"


def percent(value, digits):
    return f"{100 * value:.{digits}g}" if value > 5e-5 else "0"


def amdahl(cores, seconds):
    """Fits the serial fraction s of T(p) = T1 (s + (1 - s) / p): least squares of the relative
    errors, both parts >= 0."""
    p, t = np.asarray(cores, dtype=float), np.asarray(seconds, dtype=float)
    design, wanted = np.stack([1 / t, 1 / (p * t)], axis=1), np.ones(len(t))
    parts = np.linalg.lstsq(design, wanted, rcond=None)[0]
    if parts.min() < 0:  # one part is zero: fits the other alone
        alone = [max(0.0, float(column @ wanted / (column @ column))) for column in design.T]
        rest = [np.sum((wanted - design[:, i] * alone[i]) ** 2) for i in (0, 1)]
        parts = np.array([alone[0], 0.0]) if rest[0] <= rest[1] else np.array([0.0, alone[1]])
    serial = parts[0] / parts.sum()
    error = math.nan
    if len(t) > 2:
        variance = np.sum((wanted - design @ parts) ** 2) / (len(t) - 2)
        covariance = variance * np.linalg.inv(design.T @ design)
        slope = np.array([parts[1], -parts[0]]) / parts.sum() ** 2
        error = math.sqrt(max(0.0, slope @ covariance @ slope))
    return Fit(float(serial), error, len(t))


def gustafson(cores, speedup):
    """Fits the serial fraction a of the scaled speed-up S(p) = p - a (p - 1): least squares of the
    relative errors."""
    p, measured = np.asarray(cores, dtype=float), np.asarray(speedup, dtype=float)
    x, y = (p - 1) / p, (p - measured) / p
    if not (x > 0).any():
        return None
    serial = float(x @ y / (x @ x))
    error = math.nan
    if len(p) > 2:
        error = math.sqrt(np.sum((y - serial * x) ** 2) / (len(p) - 2) / (x @ x))
    return Fit(min(1.0, max(0.0, serial)), error, len(p))


def per_machine(points):
    """Groups the points of one problem such that only ranks or only threads vary."""
    many = len({int(p.config["ranks"]) for p in points}) > 1
    fixed, groups = "threads" if many else "ranks", {}
    for p in points:
        groups.setdefault(int(p.config[fixed]), {})[p.cores] = p
    return [[found[c] for c in sorted(found)] for found in groups.values() if len(found) > 1]


def asked(point, leave_out):
    return tuple((k, v) for k, v in point.used.items() if k not in leave_out)


def label_of(group, groups):
    """Returns the requested options that distinguish this group."""
    options = [g[0].used for g in groups]
    machine = "threads" if len({int(p.config["ranks"]) for p in group}) > 1 else "ranks"
    names = [n for n in dict.fromkeys(name for o in options for name in o)
             if n not in ("ranks", "threads") and len({o.get(n) for o in options}) > 1]
    mine = group[0].used
    words = [s.word(n.replace("-", "_"), mine[n]) for n in names if n in mine]
    if len({int(g[0].config[machine]) for g in groups}) > 1:
        words.append(s.word(machine, int(group[0].config[machine])))
    return ", ".join(words) or "all"


def sizes_of(group):
    same = s.size_words(group)
    ends = [f"{s.size_words([p])} on {s.word('cores', p.cores)}" for p in (group[0], group[-1])]
    return same or " to ".join(ends)


def scaling_of(group, label):
    def column(name):
        return np.array([float(p.measured[name]) for p in group])
    fits = np.array([p.run is None or p.run.cpus == 0 or p.cores <= p.run.cpus for p in group])
    return Scaling(label, np.array([p.cores for p in group], dtype=float), column("median"),
                   column("ci_low"), column("ci_high"), column("work"), fits, sizes_of(group))


def made_of(groups):
    return [scaling_of(group, label_of(group, groups)) for group in groups]


def strong(points):
    """Returns series of the same problem on increasing numbers of cores."""
    problems = {}
    for p in points:
        problems.setdefault(asked(p, ("ranks", "threads")), []).append(p)
    groups = [g for mine in problems.values() for g in per_machine(mine)]
    groups.sort(key=lambda g: -g[0].measured["work"])
    return made_of(groups)


def weak(points):
    """Returns series with constant work per core, within half a percent."""
    families = {}
    for p in points:
        families.setdefault(asked(p, ("ranks", "threads") + s.SIZES), []).append(p)
    groups = []
    for mine in families.values():
        shares = {}
        for p in mine:
            share = p.measured["work"] / p.cores
            near = next((k for k in shares if abs(k / share - 1) < 0.005),
                        share) if share > 0 else None
            if near is not None:
                shares.setdefault(near, []).append(p)
        groups += [g for same in shares.values() for g in per_machine(same)]
    return [one for one in made_of(groups) if one.work[-1] > one.work[0]]


def fit_of(one, kind):
    """Returns the fitted law; None below FEWEST points, through which it would pass exactly."""
    mine = one.fits
    if mine.sum() < FEWEST:
        return None
    return amdahl(one.cores[mine], one.seconds[mine]) if kind == "strong" else \
        gustafson(one.cores[mine] / one.cores[0], one.speedup[mine] / one.cores[0])


def law(one, fit, kind, p):
    """Returns the fitted speed-up on p cores, on the scale of the measured ones."""
    if kind == "weak":
        return one.cores[0] * (p / one.cores[0] - fit.serial * (p / one.cores[0] - 1))
    time = fit.serial + (1 - fit.serial) / p
    mine = one.fits
    scale = np.exp(np.mean(np.log(one.seconds[mine]
                                  / (fit.serial + (1 - fit.serial) / one.cores[mine]))))
    return one.cores[0] * one.seconds[0] / (scale * time)


def draw_points(axes, one, values, how, label=None):
    """Draws values of a series, (middle, low, high); hollow where there were more threads than
    CPUs."""
    middle, low, high = values
    for chosen, face in ((one.fits, how["color"]), (~one.fits, "white")):
        if chosen.any():
            axes.errorbar(one.cores[chosen], middle[chosen],
                          yerr=np.maximum(0, [middle[chosen] - low[chosen],
                                              high[chosen] - middle[chosen]]),
                          **how, linestyle="none", markerfacecolor=face,
                          label=label if chosen is one.fits or not one.fits.any() else None)


def draw(panels, found, fits, kind):
    """Draws the speed-ups above and the efficiencies below, each with the ideal one."""
    import style
    axes, below = panels
    cores = [c for one in found for c in one.cores]
    least, top = min(cores), max(cores)
    smooth = np.geomspace(least, top, 60)
    lowest, highest = least, top
    axes.plot([least, top], [least, top], color=style.QUIET, linestyle=":", linewidth=1.2)
    below.plot([least, top], [100, 100], color=style.QUIET, linestyle=":", linewidth=1.2,
               label="ideal")
    for index, (one, fit) in enumerate(zip(found, fits)):
        how = {"color": style.COLOURS[index % len(style.COLOURS)],
               "marker": style.MARKERS[index % len(style.MARKERS)]}
        low, high = one.ends
        label = "measured" if one.label == "all" else one.label
        draw_points(axes, one, (one.speedup, low, high), how)
        draw_points(below, one, [100 * v / one.cores for v in (one.speedup, low, high)], how,
                    f"{label} ({fit})" if fit else label)
        if fit:
            inside = smooth[(smooth >= one.cores[0]) & (smooth <= one.cores[-1])]
            fitted = law(one, fit, kind, inside)
            axes.plot(inside, fitted, color=how["color"], linewidth=1.2, linestyle="--")
            below.plot(inside, 100 * fitted / inside, color=how["color"], linewidth=1.2,
                       linestyle="--")
        lowest = min(lowest, one.speedup.min(), max(low.min(), one.speedup.min() / 8))
        highest = max(highest, one.speedup.max(), min(high.max(), 2 * one.speedup.max()))
    style.pow_two_axis(axes.xaxis, cores)
    style.log_axis(axes.yaxis, lowest * 0.8, highest * 1.25, base=2)
    if lowest >= 0.9 * least:  # the ideal line leads from tick to tick
        style.pow_two_axis(axes.yaxis, cores)
    axes.set_ylabel("speed-up" if kind == "strong" else "scaled speed-up")
    most = 115 * max(1, *(min(2 * one.efficiency.max(), (one.ends[1] / one.cores).max())
                          for one in found))  # whiskers, if they leave room for the points
    below.set_ylim(0, most)
    step = 25 * math.ceil(most / 150)
    below.set_yticks(np.arange(0, most, step))
    below.set_xlabel("cores used (ranks x threads)")
    below.set_ylabel("efficiency (%)")
    for one in panels:
        one.grid(True, which="major")
    style.legend_below(below)


LAWS = {"strong": "Amdahl's law (1967), S = 1 / (s + (1 - s) / p), its serial fraction s fitted",
        "weak": "Gustafson's law (1988), S = p - a (p - 1), its serial fraction a fitted"}


def caption(kind, found, fits):
    words = ["Dotted: ideal."]
    if any(fits):
        words.append(f"Dashed: {LAWS[kind]} by least squares of the relative errors, with its "
                     "standard error.")
    if not all(fits):
        words.append(f"No law is fitted to fewer than {FEWEST} points.")
    words.append("Whiskers: intervals of the median.")
    if any((~one.fits).any() for one in found):
        words.append("Hollow: more threads than cpus, left out of the fit.")
    return " ".join(words)


def pictures(run):
    for kind, every in (("strong", strong(run.points)), ("weak", weak(run.points))):
        for number in range(0, min(len(every), 3 * s.MOST_SERIES), s.MOST_SERIES):
            found = every[number:number + s.MOST_SERIES]
            sizes = {one.sizes for one in found}
            points = [p for p in run.points if p.config.get("type")]
            fits = [fit_of(one, kind) for one in found]
            label = "speed-up" if kind == "strong" else "scaled speed-up"
            plain = {"measured" if one.label == "all" else one.label: (one.cores, one.speedup)
                     for one in found}
            yield Picture(
                kind if len(every) <= s.MOST_SERIES else f"{kind}_{number // s.MOST_SERIES + 1}",
                s.titled(f"{run.workload}, {kind} scaling",
                         sizes.pop() if len(sizes) == 1 else "",
                         s.common(points or run.points, ["kernel", "algorithm", "type"])),
                caption(kind, found, fits),
                lambda panels, f=found, t=fits, k=kind: draw(panels, f, t, k),
                lambda d=plain, k=label: textplot.lines(d, "cores used (ranks x threads)", k,
                                                        log_y=True),
                4.6 + s.legend_height(["ideal", *(f"{one.label} ({fit})" if fit else one.label
                                                  for one, fit in zip(found, fits))]),
                alt=said_lines(plain, "cores", label), panels=(3, 2))


def table(run):
    """Returns speed-up, efficiency and fitted fraction of every series, as rows of texts."""
    rows = [["scaling", "what", "size", "cores", "median", "speed-up", "efficiency", "fit"]]
    for kind, every in (("strong", strong(run.points)), ("weak", weak(run.points))):
        for one in every:
            fit = fit_of(one, kind)
            for i, cores in enumerate(one.cores):
                rows.append([kind, one.label, one.sizes, f"{cores:.0f}",
                             tables.seconds(one.seconds[i]),
                             f"{one.speedup[i]:.2f}",
                             f"{100 * one.efficiency[i]:.0f} %"
                             + ("" if one.fits[i] else " (more threads than cpus)"),
                             str(fit) if fit and i == 0 else "" if fit else "-"])
    return rows if len(rows) > 1 else []
