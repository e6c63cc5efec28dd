"""Tables as rows of texts, the first of which is the heading, and their terminal form."""
import math
import re
import shutil
import statistics
import textwrap

FILES = ["read beside", "written beside", "waited for files"]  # between files and memory
FIGURE = re.compile(r"\d[^/]*$")  # formulas (2mn/L) begin with digits, too
TIME = re.compile(r"\d[\d.]* (?:s|ms|us|ns)\b")
WIDEST_TIME = "99.9 us"

# Found by the program rather than requested: never an axis, never a distinction of points.
FOUND = ("grid", "messages", "hash", "kind")


def seconds(value):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if value * factor >= 0.9995:
            return f"{rate(value * factor)} {unit}"
    return f"{value * 1e9:.3g} ns" if value > 0 else "0 s"


def rate(value):
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def number(value):
    return str(value) or "-" if isinstance(
        value, str) else f"{value:.3g}" if value != int(value) else str(int(value))


def size(value):
    """Formats bytes in the largest unit with at most one decimal: 64 KiB, 1.5 GiB, 100 B."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= factor and value * 10 % factor == 0:
            return f"{value / factor:g} {unit}"
    return f"{number(value)} B"


def grid(rows):
    """Aligns rows of texts into lines, the first as heading; numbers align right."""
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    right = [all(FIGURE.match(row[c]) or row[c] in ("-", "") for row in rows[1:])
             for c in range(len(widths))]
    lines = ["  ".join(cell.rjust(w) if r else cell.ljust(w)
                       for cell, w, r in zip(row, widths, right)).rstrip()
             for row in rows]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(lines) + "\n"


def fitted(rows, keys=1):
    """Aligns rows like grid(), without columns that hold no value. A table wider than the terminal
    becomes several below each other, each with the first `keys` columns. A time counts with its
    widest form, so the columns of a part do not depend on measured digits."""
    room = shutil.get_terminal_size().columns + 2
    width = [2 + max(len(TIME.sub(WIDEST_TIME, row[c])) for row in rows)
             for c in range(len(rows[0]))]
    first = list(range(keys))
    parts = [first]
    for c in range(keys, len(width)):
        if all(row[c] == "-" for row in rows[1:]):
            continue
        if len(parts[-1]) > keys and sum(width[i] for i in parts[-1]) + width[c] > room:
            parts.append(first)
        parts[-1] = parts[-1] + [c]
    return "\n".join(grid([[row[c] for c in part] for row in rows]) for part in parts)


def varying(points, always=()):
    """Returns the columns of the configuration that distinguish the points."""
    names = points[0].config.keys()
    return [n for n in names if n in always or len({point.config[n] for point in points}) > 1]


def coverage(measured):
    """Returns the probability in percent with which the interval covers the median."""
    count = int(measured["repetitions"])
    return 95 if count >= 6 else round(100 - 200 * 0.5 ** count)


def usual_coverage(points):
    """Returns the largest coverage of these points' intervals, percent; 95 if none has any."""
    return max((coverage(p.measured) for p in points if p.measured["repetitions"] > 1), default=95)


def interval(measured, usual):
    """Returns the median's interval, with its coverage if that is less than `usual` percent; "-"
    for one repetition."""
    if int(measured["repetitions"]) == 1:
        return "-"
    few = f" ({coverage(measured)} %)" if coverage(measured) < usual else ""
    return f"{seconds(measured['ci_low'])} .. {seconds(measured['ci_high'])}{few}"


def share(point):
    return f"{100 * point.share:.0f} %" if point.share == point.share else "-"


ALWAYS = ("kernel", "ranks", "threads")  # columns of --json, also where all points agree


def summary(points, rate_units, always=ALWAYS):
    """Returns one row per point: its distinguishing columns, median with interval, rate, check,
    phases and files."""
    shown = varying(points, always)
    phases = list(dict.fromkeys(name for point in points for name in point.phases))
    files = FILES if any(point.files for point in points) else []
    usual = usual_coverage(points)
    rows = [shown + ["median", f"{usual} % interval", rate_units, "of ceiling", "check"] + phases
            + files]
    for point in points:
        m = point.measured
        rows.append([number(point.config[n]) for n in shown]
                    + [seconds(m["median"]), interval(m, usual), rate(point.rate), share(point),
                       point.verdict]
                    + [seconds(point.phases[p].mean()) if p in point.phases else "-"
                       for p in phases]
                    + (of_files(point.files) if point.files else ["-"] * len(files)))
    return rows


def of_files(files):
    """Returns the cells of FILES."""
    return [f"{files[n] / 1e9:.3g} GB" for n in ("read", "written")] + [seconds(files["waited"])]


def fixed(points, always=ALWAYS):
    """Returns the configuration common to all points, as text."""
    shown = varying(points, always)
    return ", ".join(f"{n.replace('_', ' ')} {number(points[0].config[n])}"
                     for n in points[0].config if n not in (*shown, "hash"))


def text(run):
    points, a = run.points, run.attributes
    always = ("kernel",)
    same = fixed(points, always)
    return (f"{run.name}: {a.get('command_line', '')}\n"
            f"  {a.get('start_time', '')}, {a.get('hosts', '')}, {a.get('processor', '')}, "
            f"Tessera {a.get('git_describe', '')} ({a.get('build_type', '')})\n"
            + ("".join(f"  {line}\n" for line in textwrap.wrap(
                f"everywhere: {same}", max(20, shutil.get_terminal_size().columns - 2)))
               if same else "")
            + fitted(summary(points, run.rate_units, always), len(varying(points, always)))
            + ("phases: seconds a rank (mean of the ranks), median of the repetitions\n"
               if any(point.phases for point in points) else ""))


def misses(points, found):
    """Returns the points' medians from a table of misses (key of a point: its rows), without empty
    columns."""
    known = [point for point in points if point.key in found]
    if not known:
        return []
    columns = [c for c in found[known[0].key][0]
               if c not in ("row", "point", "repetition", "probe")]

    def value(point, column):
        values = [row.get(column, math.nan) for row in found[point.key]]
        if isinstance(values[0], str):
            return values[0] or "-"
        finite = [v for v in values if math.isfinite(v)]
        return number(statistics.median(finite)) if finite else "-"
    cells = {c: [value(point, c) for point in known] for c in columns}
    columns = [c for c in columns if set(cells[c]) != {"-"}]
    shown = varying(known, always=("kernel", "probe"))
    return [shown + [c.replace("_", " ").replace("l1", "L1").replace("l2",
                                                                     "L2").replace("llc", "LLC")
                     for c in columns],
            *([number(point.config[n]) for n in shown] + [cells[c][i] for c in columns]
              for i, point in enumerate(known))]


def spread_over(times):
    """Merges rows without a value ("": the variant does not use the option) into those with one."""
    out = {key: row for key, row in times.items() if "" not in key}
    for key, row in times.items():
        rows = [other for other in times if other != key and other in out
                and all(mine in (value, "") for mine, value in zip(key, other))]
        for other in rows:
            out[other] = {**row, **out[other]}
        if "" in key and not rows:
            out[key] = row
    return out


def side_by_side(points, axis="kernel"):
    """Returns a table with the variants as columns: a row per size with the times and the ratio of
    the first's time to each other. Empty if no two variants computed the same."""
    if not points or axis not in points[0].config:
        return []
    names = list(dict.fromkeys(point.config[axis] for point in points))
    others = [n for n in varying(points) if n != axis and n not in FOUND]
    times = {}
    for point in points:
        times.setdefault(tuple(point.config[n] for n in others),
                         {})[point.config[axis]] = point.measured["median"]
    times = spread_over(times)
    first = names[0]
    if len(names) < 2 or not any(len(row) > 1 and first in row for row in times.values()):
        return []
    rows = [others + names + [f"{first} / {name}" for name in names[1:]]]
    for values, row in times.items():
        ratios = [f"{row[first] / row[name]:.2f}" if first in row and name in row else "-"
                  for name in names[1:]]
        rows.append([number(v) for v in values] + [seconds(row[n]) if n in row else "-"
                                                   for n in names] + ratios)
    return rows
