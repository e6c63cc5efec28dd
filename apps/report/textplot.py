"""The pictures as text, for terminals without a display."""
import math

import numpy as np

MARKS = "ox+*#@%&"
SHADES = " .:-=+*#%@"


def short(value):
    return f"{value:.3g}" if abs(value) < 1000 or abs(value) >= 1e6 else f"{value:.0f}"


def bars(rows, units, width=46):
    """Returns bars of rows, (label, value, low, high, note), with intervals as [ ]."""
    longest = max(len(label) for label, *_ in rows)
    top = max([high for _, _, _, high, _ in rows if math.isfinite(high)]
              + [v for _, v, *_ in rows]) or 1.0
    lines = []
    for label, value, low, high, note in rows:
        line = list("#" * round(width * value / top) + " " * (width - round(width * value / top)))
        for at, mark in ((low, "["), (high, "]")):
            if math.isfinite(at):
                line[min(width - 1, max(0, round(width * at / top) - 1))] = mark
        lines.append(f"  {label:<{longest}} |{''.join(line)}| {short(value)} "
                     f"{units}{'  ' + note if note else ''}")
    return "\n".join(lines) + "\n"


def lines(series, x_label, y_label, log_x=True, log_y=False, width=64, height=15):
    """Returns series, {label: (xs, ys)}, as marks on a grid of characters, with the axes' ends as
    numbers."""
    points = [(x, y) for xs, ys in series.values() for x, y in zip(xs, ys) if math.isfinite(y)]
    log_x = log_x and min(x for x, _ in points) > 0
    log_y = log_y and min(y for _, y in points) > 0

    def scale(values, log):
        values = [math.log(v) if log else v for v in values]
        return min(values), max(values)

    (x0, x1), (y0, y1) = scale([x for x, _ in points], log_x), scale([y for _, y in points], log_y)
    if not log_y:
        y0 = min(0.0, y0)
    canvas = np.full((height, width), " ")
    for (label, (xs, ys)), mark in zip(series.items(), MARKS * 8):
        for x, y in zip(xs, ys):
            if not math.isfinite(y):
                continue
            x, y = math.log(x) if log_x else x, math.log(y) if log_y else y
            column = round((x - x0) / (x1 - x0 or 1) * (width - 1))
            row = height - 1 - round((y - y0) / (y1 - y0 or 1) * (height - 1))
            canvas[row, column] = mark
    high, low = short(math.exp(y1) if log_y else y1), short(math.exp(y0) if log_y else y0)
    margin = max(len(high), len(low))
    out = [f"  {y_label}{', logarithmic' if log_y else ''}"]
    for row in range(height):
        left = high if row == 0 else low if row == height - 1 else ""
        out.append(f"  {left:>{margin}} |{''.join(canvas[row])}".rstrip())
    ends = short(math.exp(x0) if log_x else x0), short(math.exp(x1) if log_x else x1)
    out.append("  " + " " * margin + " +" + "-" * width)
    out.append("  " + " " * margin + f"  {ends[0]}{ends[1]:>{width - len(ends[0])}}")
    out.append("  " + " " * margin + f"  {x_label}{', logarithmic' if log_x else ''}")
    for label, mark in zip(series, MARKS * 8):
        out.append(f"    {mark} {label}")
    return "\n".join(out) + "\n"


def heat(rows, columns, values, row_label, column_label, units):
    """Returns values[row][column] (NaN: not measured) as cells with a shade and the number."""
    finite = values[np.isfinite(values)]
    low, high = finite.min(), finite.max()
    wide = max(10, *(len(c) + 1 for c in columns))
    first = max(len(row_label), *(len(r) for r in rows))
    out = [f"  {row_label:<{first}} | {column_label}; cells in {units}",
           f"  {'':<{first}} |" + "".join(f"{c:>{wide}}" for c in columns)]
    for name, line in zip(rows, values):
        cells = ""
        for value in line:
            shade = SHADES[round((value - low) / (high - low or 1)
                                 * (len(SHADES) - 1))] if math.isfinite(value) else " "
            cells += f"{(shade * 2 + ' ' + short(value)) if math.isfinite(value) else '-':>{wide}}"
        out.append(f"  {name:<{first}} |{cells}")
    return "\n".join(out) + "\n"


def letters(names):
    """Assigns a letter to each name, its first letter if that is free."""
    out = {}
    for name in names:
        wanted = name.upper() + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        out[name] = next(c for c in wanted if c.isalpha() and c not in out.values())
    return out


def stacks(rows, names, width=50):
    """Returns rows, (label, {name: seconds}, note), as stacked shares by one letter per name."""
    marks = letters(names)
    longest = max(len(label) for label, _, _ in rows)
    out = []
    for label, parts, note in rows:
        total = sum(parts.values()) or 1.0
        text, done, filled = "", 0.0, 0
        for name in names:
            done += parts.get(name, 0.0)
            upto = round(width * done / total)
            text += marks[name] * (upto - filled)
            filled = upto
        out.append(f"  {label:<{longest}} |{text:<{width}}| {note}")
    out.append("  " + ", ".join(f"{mark} {name}" for name, mark in marks.items()))
    return "\n".join(out) + "\n"
