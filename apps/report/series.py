"""Grouping of points into pictures, choice of the axis, and labels."""
import dataclasses
import math
import re
import textwrap

import numpy as np

import tables

MOST_SERIES = 8   # lines per picture; more are illegible
MOST_KERNELS = 12  # if only kernels distinguish the lines, so that all fit into one picture
MOST_BARS = 16
FEWEST_BARS = 3  # for which a picture has room
LONGEST = 44  # characters of a label in a legend
MOST_FACETS = 4   # pictures of one kind
SIZES = ("m", "n", "k", "shape", "size")
MACHINE = ("ranks", "threads")
# columns named in titles if all points share them
NAMES = ("kernel", "probe", "stencil")
FOUND = tables.FOUND
UNITS = {"ranks": "ranks", "threads": "threads a rank", "tile": "elements", "tile_x": "points",
         "tile_y": "points",
         "column_width": "elements", "threshold": "elements", "steps": "time steps",
         "halo_steps": "time steps",
         "base_steps": "time steps", "panel": "elements", "block": "threads", "stride": "bytes",
         "size": "bytes",
         "piece": "bytes", "bins": "bins"}
OF_N = {"matmul": "elements", "transpose": "elements", "sort": "keys", "stencil": "points"}
SUFFIXES = {"": 1, "B": 1, "K": 1 << 10, "KIB": 1 << 10, "KB": 1000, "M": 1 << 20, "MIB": 1 << 20,
            "MB": 10**6, "G": 1 << 30,
            "GIB": 1 << 30, "GB": 10**9}


@dataclasses.dataclass
class Axis:
    label: str
    value: object   # of a point
    columns: tuple  # columns it covers
    name: str


def dims_of(text):
    """Parses "30x20" into (30, 20); None for other texts."""
    return tuple(int(part) for part in text.split("x")) if re.fullmatch(r"\d+(x\d+)*",
                                                                        str(text)) else None


def numeric(value):
    """Converts a number or a text such as 16KiB to a number; None for other texts."""
    if not isinstance(value, str):
        return float(value)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)", value)
    if not found or found[2].upper() not in SUFFIXES:
        return None
    return float(found[1]) * SUFFIXES[found[2].upper()]


def varying(points):
    return [name for name in tables.varying(points) if name not in FOUND] if points else []


def labelled(name, workload=""):
    if name == "n":
        return f"n ({OF_N.get(workload, 'elements')})"
    return f"{name.replace('_', ' ')} ({UNITS[name]})" if UNITS.get(name, name) != name else name


def edge_of(point):
    """Returns the edge of the cube (square) of the same volume."""
    c = point.config
    if "shape" in c:
        dims = dims_of(c["shape"])
        return math.prod(dims) ** (1 / len(dims)) if dims else None
    return float(c["m"] * c["n"] * c["k"]) ** (1 / 3)


def size_axis(points, workload):
    names = set(varying(points))
    first = points[0].config
    if "shape" in names:
        dims = [dims_of(p.config["shape"]) for p in points]
        if all(dims) and len({len(d) for d in dims}) == 1:
            even = all(len(set(d)) == 1 for d in dims)
            word = {1: "length", 2: "edge of the square",
                    3: "edge of the cube"}.get(len(dims[0]), "edge")
            units = OF_N.get(workload, "elements")
            return Axis(f"{'edge' if even and len(dims[0]) > 1 else word} ({units})", edge_of,
                        ("shape",), "edge")
        return None
    if {"m", "n", "k"} <= first.keys() and names & {"m", "n", "k"}:
        cubes = all(len({p.config[d] for d in "mnk"}) == 1 for p in points)
        return Axis("m = n = k (elements)" if cubes
                    else "edge of the cube of the same work (elements)", edge_of,
                    ("m", "n", "k"), "n")
    for name in ("n", "size"):
        if name in names and all(numeric(p.config[name]) is not None for p in points):
            return Axis(labelled(name, workload), lambda p, key=name: numeric(p.config[key]),
                        (name,), name)
    return None


def numeric_names(points, leave_out=()):
    """Returns the varying numeric columns except sizes; kernels that do not use an option have no
    value of it."""
    return [n for n in varying(points) if n not in SIZES and n not in leave_out
            and len({p.config[n] for p in points} - {""}) > 1
            and all(p.config[n] == "" or numeric(p.config[n]) is not None for p in points)]


def choose_axis(points, workload):
    """Returns the x axis: sizes first, then the machine, then any other number; None if no number
    varies."""
    axis = size_axis(points, workload)
    if axis:
        return axis
    names = numeric_names(points)
    for name in [n for n in MACHINE if n in names] + names:
        return Axis(labelled(name, workload), lambda p, key=name: numeric(p.config[key]), (name,),
                    name)
    return None


def word(name, value):
    """Returns a value as label text; self-explanatory texts omit their name."""
    if isinstance(value, str) and name in ("kernel", "algorithm", "type", "input", "stencil",
                                           "probe", "op", "task", "shape"):
        return f"{name} auto" if value == "auto" else value or "-"
    if name == "threads" and value == 1:
        return "1 thread"
    if name in (*MACHINE, "cores"):
        return f"{value} {name}" if value != 1 else f"1 {name[:-1]}"
    plain = name.replace("_", " ")
    if UNITS.get(name) == "bytes" and not isinstance(value, str):
        return f"{plain} {tables.size(value)}"
    return f"{plain} {tables.number(value)}"


def label_of(point, names):
    """Returns the label of a point; columns without a value are omitted."""
    if set("mnk") <= set(names):
        cut = [n for n in names if n not in ("m", "n")]
        return listed(*(size_words([point]) if n == "k" else word(n, point.config[n])
                        for n in cut if point.config[n] != ""))
    words = [word(n, point.config[n]) for n in names if point.config[n] != ""]
    return ", ".join(words or [f"without {n.replace('_', ' ')}" for n in names[:1]]) or "all"


def in_lines(label):
    """Wraps the label of a bar at a third of a picture's width."""
    return "\n".join(textwrap.wrap(label, 27, break_long_words=False)) or label


def columns_of(labels):
    """Returns the columns of a legend of these labels."""
    longest = max(len(label) for label in labels)
    return min(len(labels), 1 if longest > 27 else 2 if longest > 15 else 3 if longest > 10 else 4)


def legend_height(labels):
    """Returns the height of the legend, inches."""
    return 0.17 * -(-len(labels) // columns_of(labels))


def height_of(labels, each):
    """Returns the height for the bars, inches, `each` per one-line label."""
    lines = max((in_lines(label).count("\n") for label in labels), default=0)
    return (each + 0.15 * lines) * max(FEWEST_BARS, len(labels))


def split(points, names):
    """Returns {label: points} by the values of these columns, in the order of the file."""
    found = {}
    for point in points:
        found.setdefault(label_of(point, names), []).append(point)
    return found


def count(points, names):
    return len({tuple(p.config[n] for n in names) for p in points})


def size_words(points):
    """Returns the size of the problem that all points share, as title text; "" if they differ."""
    c = points[0].config
    same = [n for n in SIZES if n in c and len({p.config[n] for p in points}) == 1]
    if {"m", "n", "k"} <= set(same):
        cube = len({c[n] for n in "mnk"}) == 1
        return f"m = n = k = {c['n']}" if cube else f"{c['m']} x {c['n']} x {c['k']}"
    given = set(SIZES) & set(c)
    return ", ".join(word(n, c[n]) for n in same if c[n] != "chosen") \
        if set(same) == given else ""


def listed(*words):
    return ", ".join(word for word in words if word)


def spread(values, most):
    """Returns at most `most` of the values, about evenly spaced, with both ends."""
    if len(values) <= most:
        return list(values)
    step = (len(values) - 1) / (most - 1)
    return [values[round(i * step)] for i in range(most)]


def titled(first, *words):
    """Returns a title with those words that are not empty after a colon."""
    return f"{first}: {listed(*words)}" if any(words) else first


def facets(points, taken, most):
    """Returns the names that distinguish the lines of a picture and those that distinguish
    pictures: as many of the former as give at most `most` lines, kernels and algorithms first."""
    names = [n for n in varying(points) if n not in taken]
    order = [n for n in ("kernel", "probe", "algorithm") if n in names]
    order += sorted((n for n in names if n not in order), key=lambda n: count(points, [n]))
    inside = []
    for name in order:
        limit = max(most, MOST_KERNELS) if not inside and name in ("kernel", "probe") else most
        if count(points, inside + [name]) <= limit:
            inside.append(name)
    inside = [n for n in names if n in inside]
    return inside, [n for n in names if n not in inside]


def common(points, names):
    """Returns the values of these columns that all points share, as title text; not those that the
    program chose for itself."""
    first = points[0].config
    same = [n for n in names if n in first and len({p.config[n] for p in points}) == 1
            and first[n] not in ("", "chosen")]
    # A kernel may have the name of an algorithm.
    return ", ".join(f"algorithm {first[n]}" if n == "algorithm" else word(n, first[n])
                     for n in same)


def errors_of(points):
    """Returns the distances from the rate to its interval's ends, in errorbar's form."""
    ends = np.array([point.rate_interval for point in points]).T
    rates = np.array([point.rate for point in points])
    return np.maximum(0, np.array([rates - ends[0], ends[1] - rates]))


def wants_log(rates):
    rates = [rate for rate in rates if rate > 0]
    return bool(rates) and max(rates) / min(rates) > 20
