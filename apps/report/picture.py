"""Pictures as data, before rendering."""
import dataclasses
from typing import Callable, Optional


@dataclasses.dataclass
class Picture:
    name: str                # of its file, without extension
    title: str               # heading
    caption: str             # how to read it
    draw: Callable           # called with the axes, or with a list of them if there are panels
    text: Optional[Callable] = None  # the same as text
    height: float = 3.2      # inches; the width is common to all
    in_page: bool = True     # False: a file only
    alt: str = ""            # what it shows, for those who do not see it, besides the title
    panels: tuple = ()       # relative heights of panels, one above the other


def said(value):
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def said_bars(rows, units):
    """Returns the bars (label, value, ...) in words."""
    return "; ".join(f"{row[0]} {said(row[1])} {units}".strip() for row in rows)


def said_lines(lines, x_label, y_label):
    """Returns {label: (xs, ys)} in words: the ends of every line."""
    words = []
    for label, (xs, ys) in lines.items():
        (x0, y0), (x1, y1) = min(zip(xs, ys)), max(zip(xs, ys))
        words.append(f"{label} {said(y0)} at {said(x0)}"
                     + (f" to {said(y1)} at {said(x1)}" if len(xs) > 1 else ""))
    return f"{y_label} by {x_label}: {'; '.join(words)}"
