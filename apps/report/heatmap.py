"""Heat maps of two swept options."""
import math

import numpy as np

import series as s
import tables
import textplot
from picture import Picture

MOST_MAPS = 6


def axes_of(points):
    """Returns the two columns to cross, options before sizes; None unless two numbers are swept."""
    names = s.numeric_names(points, leave_out=s.MACHINE)
    names += [n for n in ("n", "size", "shape") if n in s.varying(points) and n not in names]
    names = [n for n in names if 2 <= s.count(points, [n]) <= 24]
    return tuple(names[:2]) if len(names) >= 2 and set(names[:2]) - set(s.SIZES) else None


def taken_by(names, points):
    return set(names) | ({"m", "n", "k"} if "n" in names and "m" in points[0].config else set())


def size_of(value):
    number = s.numeric(value)
    return math.prod(s.dims_of(value) or (0,)) if number is None else number


def table_of(points, row, column):
    def order(name):
        return sorted({p.config[name] for p in points}, key=lambda v: (size_of(v), str(v)))
    rows, columns = order(row), order(column)
    values = np.full((len(rows), len(columns)), np.nan)
    for p in points:
        values[rows.index(p.config[row]), columns.index(p.config[column])] = p.rate
    return [said(row, r) for r in rows], [said(column, c) for c in columns], values


def said(name, value):
    in_bytes = s.UNITS.get(name) == "bytes" and not isinstance(value, str)
    return tables.size(value) if in_bytes else tables.number(value)


def labelled(name, workload):
    """Returns the label of an axis; sizes in bytes have their units at the ticks."""
    return name.replace("_", " ") if s.UNITS.get(name) == "bytes" else s.labelled(name, workload)


def contrast(colour):
    """Returns black or white, whichever is read on the colour (WCAG 2.1), but not as the page's
    ink and paper."""
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in colour[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#FEFEFE" if luminance < 0.179 else "#010101"


def draw(axes, rows, columns, values, labels, meaning):
    image = axes.imshow(values, aspect="auto", cmap="cividis", origin="lower")
    crowded = max(map(len, columns)) * len(columns)  # characters along the axis
    axes.set_xticks(range(len(columns)), columns,
                    rotation=0 if crowded <= 48 else 45 if len(columns) <= 9 else 90)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylabel(labels[0])
    axes.set_xlabel(labels[1])
    axes.spines[:].set_visible(False)
    if len(columns) <= 9 and len(rows) <= 12:
        for (r, c), value in np.ndenumerate(values):
            if np.isfinite(value):
                axes.text(c, r, tables.rate(value), ha="center", va="center",
                          fontsize=8 if len(columns) <= 6 else 7,
                          color=contrast(image.cmap(image.norm(value))))
    axes.figure.colorbar(image, ax=axes, label=meaning)


def said_cells(rows, columns, values, labels):
    """Returns the extremes in words."""
    words = []
    for name, at in (("fastest", np.nanargmax), ("slowest", np.nanargmin)):
        r, c = np.unravel_index(at(values), values.shape)
        words.append(f"{name} {tables.rate(values[r, c])} at {labels[0]} {rows[r]}, "
                     f"{labels[1]} {columns[c]}")
    return "; ".join(words)


def maps(run):
    names = axes_of(run.points)
    if not names:
        return
    row, column = names
    known = [p for p in run.points if "" not in (p.config[row], p.config[column])]
    others = [n for n in s.varying(known) if n not in taken_by(names, known)]
    found = [(label, points) for label, points in s.split(known, others).items()
             if len({p.config[row] for p in points}) > 1
             and len({p.config[column] for p in points}) > 1]
    for number, (label, points) in enumerate(found[:MOST_MAPS], 1):
        rows, columns, values = table_of(points, row, column)
        labels = labelled(row, run.workload), labelled(column, run.workload)
        words = [w for w in (label if others else "", s.size_words(points),
                             s.common(points, [n for n in (*s.NAMES, "type", *s.MACHINE)
                                               if n not in (row, column, *others)])) if w]
        yield Picture(
            f"map_{number}", f"{run.workload} by {row.replace('_', ' ')} and "
                             f"{column.replace('_', ' ')}"
            + (f": {', '.join(words)}" if words else ""),
            "Median rates; brighter is faster"
            + (", on a scale of each map's own." if len(found) > 1 else "."),
            lambda axes, r=rows, c=columns, v=values,
            lb=labels: draw(axes, r, c, v, lb, f"rate ({run.rate_units})"),
            lambda r=rows, c=columns, v=values, lb=labels: textplot.heat(r, c, v, *lb,
                                                                         run.rate_units),
            1.5 + 0.3 * max(4, len(rows)), alt=said_cells(rows, columns, values, labels))
