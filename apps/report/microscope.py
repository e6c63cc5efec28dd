"""Fork-join computations in counted operations: work and span, simulated schedules with their
steals and misses, and graphs of strands."""
import h5py
import numpy as np

import results
import tables as texts
import textplot
from picture import Picture, said_lines

MOST_NODES = 250  # strands of a drawn graph
MOST_BARS = 4000  # strands of a drawn schedule
DRAWN_WORKERS = 8  # of the schedule that is drawn, if there is one with as many or fewer
CRITICAL, OTHER, STEAL = "#D55E00", "#56B4E9", "#000000"


class Study:
    """One point: its computations, and for a single one schedules, strands and executions."""

    def __init__(self, key, rows, title, run):
        self.key, self.title, self.run = key, title, run
        self.sizes = rows
        self.schedules, self.strands, self.executions = [], [], []
        last = rows[-1]
        self.kernel, self.n = last["kernel"], last["n"]
        size = f", n {last['n']}" if len(rows) == 1 else ""
        self.label = f"{last['kernel']}{size}, threshold {last['threshold']}"

    def numbers(self, name):
        return np.array([row[name] for row in self.schedules], dtype=float)

    def drawn_workers(self):
        """Returns the number of workers whose schedule is drawn, or 0."""
        known = sorted({row["processors"] for row in self.executions if row["processors"] > 1})
        few = [p for p in known if p <= DRAWN_WORKERS]
        return few[-1] if few else known[0] if known else 0


def read(path):
    """Returns the studies of a file, the latest of each key."""
    found = {}
    with h5py.File(path, "r") as file:
        for run, group in results.groups_of(file):
            if "forkjoin" not in group:
                continue
            title = group.attrs.get("option_title") or "forkjoin"
            rows = {}
            for row in results.rows_of(group["forkjoin"]):
                rows.setdefault(row["point"], []).append(row)
            mine = {key: Study(key, found_rows, title, run) for key, found_rows in rows.items()}
            for name in ("schedules", "strands", "executions"):
                for row in results.rows_of(group[name]) if name in group else ():
                    getattr(mine[row["point"]], name).append(row)
            found.update(mine)
    return list(found.values())


def tables(studies):
    """Yields (heading, rows of texts)."""
    if not studies:
        return
    lines = [["computation", "n", "T_1", "T_inf", "parallelism", "work", "span"]]
    for study in studies:
        for row in study.sizes:
            lines.append([study.label, str(row["n"]), str(row["work"]), str(row["span"]),
                          texts.number(row["parallelism"]), row["work_growth"],
                          row["span_growth"]])
    yield "forkjoin: work and span, operations", lines
    lines = [["computation", "P", "T_P", "c", "steals", "Q_P", "at most", "true sharing",
              "false sharing", "measured, ms"]]
    for study in studies:
        for row in study.schedules:
            known = row["misses_alone"] >= 0
            counts = [str(row[name]) if known else "-" for name in
                      ("misses_alone", "misses_bound", "true_sharing", "false_sharing")]
            seconds = row["seconds"]
            lines.append([study.label, str(row["processors"]), str(row["time"]),
                          f"{row['excess']:.2f}", str(row["steals"]), *counts,
                          f"{1e3 * seconds:.3g}" if seconds == seconds else "-"])
    if len(lines) > 1:
        yield "forkjoin: simulated work stealing, T_P = T_1/P + c T_inf", lines


def speedups(study):
    """Returns {label: (processors, speed-ups)}."""
    row = study.sizes[-1]
    p, work = study.numbers("processors"), float(row["work"])
    lines = {"at most: min(P, T_1/T_inf)": (p, np.minimum(p, work / row["span"])),
             "greedy: T_1/P + T_inf": (p, work / (work / p + row["span"])),
             "work stealing": (p, work / study.numbers("time"))}
    seconds = study.numbers("seconds")
    known = np.isfinite(seconds)
    if known.any() and p[known][0] == 1:
        lines["measured"] = (p[known], seconds[known][0] / seconds[known])
    return lines


def misses(study):
    """Returns {label: (processors, misses)}, without those that are 0 everywhere."""
    p = study.numbers("processors")
    coherent = sum(study.numbers(name) for name in
                   ("cold", "replaced", "true_sharing", "false_sharing"))
    lines = {"at most: Q_1 + deviations M/B": (p, study.numbers("misses_bound")),
             "coherent caches": (p, coherent),
             "Q_P, without invalidations": (p, study.numbers("misses_alone")),
             "true sharing": (p, study.numbers("true_sharing")),
             "false sharing": (p, study.numbers("false_sharing"))}
    return {label: (xs[ys > 0], ys[ys > 0]) for label, (xs, ys) in lines.items()
            if (ys > 0).any()}


def has_misses(study):
    return bool((study.numbers("misses_alone") > 0).any())


def draw_lines(axes, lines, label):
    import style
    for number, (name, (xs, ys)) in enumerate(lines.items()):
        bound = number == 0 or name.startswith("greedy")
        axes.plot(xs, ys, color=style.COLOURS[number], label=name,
                  linestyle="--" if bound else "-",
                  marker="" if bound else style.MARKERS[number])
    axes.set_ylabel(label)
    axes.grid(True, which="major")


def draw_bounds(axes, study):
    """Draws speed-ups, and misses below them where there are some."""
    import style
    above, below = axes if has_misses(study) else (axes, None)
    lines = speedups(study)
    draw_lines(above, lines, "speed-up")
    ps = study.numbers("processors")
    style.pow_two_axis(above.xaxis, ps)
    values = np.concatenate([ys for _, ys in lines.values()])
    style.log_axis(above.yaxis, 0.8 * values.min(), 1.25 * values.max(), base=2)
    if below is None:
        above.set_xlabel("workers, P")
        return style.legend_below(above)
    style.legend_below(above, 0.12)
    lines = misses(study)
    draw_lines(below, lines, "misses")
    values = np.concatenate([ys for _, ys in lines.values()])
    style.log_axis(below.yaxis, 0.7 * values.min(), 1.4 * values.max())
    below.set_xlabel("workers, P")
    return style.legend_below(below)


def executions_of(study):
    """Returns the rows of the drawn schedule, and those of the strands, by number."""
    workers = study.drawn_workers()
    rows = [row for row in study.executions if row["processors"] == workers]
    return rows, {row["strand"]: row for row in study.strands}


def draw_schedule(axes, study):
    """Draws a row of strands for every worker, and an arrow for every steal."""
    import style
    rows, strands = executions_of(study)
    colours = {True: CRITICAL, False: OTHER}
    for critical, label in ((False, "strands"), (True, "on the longest path")):
        mine = [row for row in rows if bool(strands[row["strand"]]["critical"]) == critical]
        axes.barh([row["worker"] for row in mine],
                  [strands[row["strand"]]["operations"] for row in mine],
                  left=[row["begin"] for row in mine], height=0.6, color=colours[critical],
                  edgecolor="white", linewidth=0.3 if len(rows) < 300 else 0, label=label)
    steals = [row for row in rows if row["stolen_from"] >= 0]
    for row in steals:
        axes.annotate("", (row["begin"], row["worker"]), (row["begin"], row["stolen_from"]),
                      arrowprops={"arrowstyle": "->", "color": STEAL, "linewidth": 0.6,
                                  "shrinkA": 0, "shrinkB": 0, "mutation_scale": 6})
    if steals:
        axes.plot([], [], color=STEAL, linewidth=0.6, marker=">", markersize=3, label="steals")
    workers = study.drawn_workers()
    axes.set_yticks(range(workers), [str(w) for w in range(workers)])
    axes.set_ylim(workers - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_ylabel("worker")
    axes.set_xlabel("time, operations")
    style.legend_below(axes)


def layout(strands):
    """Returns the place of every strand across the graph: the sides of a fork are neighbours."""
    places = {}

    def side(strand, left):
        """Places a side from its first strand; returns its width and its last strand."""
        mine, width = [], 1.0
        while True:
            mine.append(strand)
            row = strands[strand]
            if row["second"] < 0:
                break
            first, _ = side(row["first"], left)
            second, last = side(row["second"], left + first)
            width = max(width, first + second)
            strand = strands[last]["first"]
        places.update((one, left + width / 2) for one in mine)
        return width, strand
    side(0, 0.0)
    return places


def draw_graph(axes, study):
    """Draws the strands downwards by their operations on the longest path to them."""
    import style
    strands = {row["strand"]: row for row in study.strands}
    places = layout(strands)
    for row in strands.values():
        for successor in (row["first"], row["second"]):
            if successor < 0:
                continue
            to = strands[successor]
            both = row["critical"] and to["critical"] and \
                to["depth"] - to["operations"] == row["depth"]
            axes.plot([places[row["strand"]], places[successor]],
                      [row["depth"], to["depth"] - to["operations"]],
                      color=CRITICAL if both else style.QUIET, linewidth=1.4 if both else 0.6,
                      zorder=1)
    width = min(0.7, 0.012 * max(places.values()) + 0.25)
    for critical, label in ((0, "strands"), (1, "on the longest path")):
        mine = [row for row in strands.values() if row["critical"] == critical]
        axes.bar([places[row["strand"]] for row in mine], [row["operations"] for row in mine],
                 bottom=[row["depth"] - row["operations"] for row in mine], width=width,
                 color=CRITICAL if critical else OTHER, zorder=2, label=label)
    axes.set_ylim(max(row["depth"] for row in strands.values()) * 1.02, 0)
    axes.set_ylabel("operations on the longest path")
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    style.legend_below(axes, 0.12)


def said_schedule(study):
    rows, _ = executions_of(study)
    return f"{len({row['worker'] for row in rows})} workers, {len(rows)} strands, " \
           f"{sum(row['stolen_from'] >= 0 for row in rows)} of them stolen"


def bounds_picture(number, study):
    row = study.sizes[-1]
    caption = (f"Simulated work stealing (Blumofe and Leiserson 1999): T_1 = {row['work']} "
               f"operations, T_inf = {row['span']}.")
    if has_misses(study):
        caption += (" Misses of the private caches, and their bound (Acar, Blelloch and Blumofe "
                    "2002).")
    lines = speedups(study)
    return Picture(f"bounds_{number}", f"{study.label}: speed-up and misses" if has_misses(study)
                   else f"{study.label}: speed-up", caption, lambda axes: draw_bounds(axes, study),
                   lambda: textplot.lines(lines, "workers", "speed-up"),
                   5.6 if has_misses(study) else 3.4, alt=said_lines(lines, "workers", "speed-up"),
                   panels=(1, 1) if has_misses(study) else ())


def pictures(studies):
    """Yields speed-ups and misses, then what was drawn: the schedule and the graph."""
    for number, study in enumerate((one for one in studies if len(one.schedules) > 1), 1):
        yield bounds_picture(number, study)
    for number, study in enumerate((one for one in studies if one.strands), 1):
        if 0 < study.drawn_workers() and len(study.strands) <= MOST_BARS:
            yield Picture(f"schedule_{number}",
                          f"{study.label}: schedule of {study.drawn_workers()} workers",
                          "Each row is a worker; arrows lead from the victim of a steal to the "
                          "thief.", lambda axes, s=study: draw_schedule(axes, s), None,
                          1.5 + 0.24 * study.drawn_workers(), alt=said_schedule(study))
        if len(study.strands) <= MOST_NODES:
            row = study.sizes[-1]
            yield Picture(f"graph_{number}", f"{study.label}: graph of strands",
                          f"The height of a strand is its operations: T_1 = {row['work']} is their "
                          f"sum, T_inf = {row['span']} the longest path.",
                          lambda axes, s=study: draw_graph(axes, s), None, 4.2,
                          alt=f"{len(study.strands)} strands, longest path {row['span']} of "
                              f"{row['work']} operations")
