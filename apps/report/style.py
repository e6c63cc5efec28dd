"""Style of all pictures: sizes for half a page's width, colours for any colour vision, output as
PNG files and as SVG for the page.
"""
import io
import math
import os
import re

import series


def load_as_delivered():
    """Imports matplotlib without user settings: a matplotlibrc in the working directory, at home or
    named by MATPLOTLIBRC, and MPLBACKEND. They may be invalid, or require missing fonts, TeX or a
    screen."""
    os.environ["MATPLOTLIBRC"] = os.devnull
    os.environ.pop("MPLBACKEND", None)
    here = os.open(".", os.O_PATH)  # searched first by matplotlib
    os.chdir(os.path.dirname(os.path.realpath(__file__)))
    try:
        import matplotlib.dates  # noqa: F401
        import matplotlib.figure  # noqa: F401
        import matplotlib.text  # noqa: F401
        import matplotlib.ticker  # noqa: F401
        import matplotlib.transforms  # noqa: F401
    finally:
        os.fchdir(here)
        os.close(here)
    return matplotlib


matplotlib = load_as_delivered()

# Distinguishable with any colour vision (Okabe and Ito 2008), and by markers without colour.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C8C00")
MARKERS = "osD^vPX*"
GRID, QUIET, INK, WRONG = "#DDDDDD", "#555555", "#222222", "#A02000"
WIDTH = 4.1  # inches; letters of 8 points are 10 pixels on a telephone 390 pixels wide
DPI = 240
READABLE = 10  # pixels of the smallest letters on a page

matplotlib.rcParams.update({
    "font.size": 9, "axes.titlesize": 9.5, "axes.labelsize": 9, "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8, "legend.frameon": False, "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False, "grid.color": GRID, "grid.linewidth": 0.6, "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "errorbar.capsize": 2.5, "svg.hashsalt": "tessera", "hatch.linewidth": 0.6})


# Colours of pictures that differ in the dark, as variables that page.py defines.
OF_THE_PAGE = {"#000000": "currentColor", INK: "currentColor", QUIET: "var(--quiet)",
               GRID: "var(--grid)", "#ffffff": "var(--paper)", WRONG: "var(--wrong)"}


def figure_of(picture):
    figure = matplotlib.figure.Figure(figsize=(WIDTH, picture.height), layout="constrained")
    figure.suptitle(wrapped(picture.title), x=0.01, ha="left", fontsize=9.5)
    if picture.panels:
        picture.draw(figure.subplots(len(picture.panels), sharex=True,
                                     gridspec_kw={"height_ratios": picture.panels}))
    else:
        picture.draw(figure.subplots())
    return figure


def png_of(figure):
    """Returns the bytes of a PNG file."""
    out = io.BytesIO()
    figure.savefig(out, dpi=DPI, format="png")
    return out.getvalue()


def smallest_letters(figure):
    """Returns the size of the smallest letters of a figure, points."""
    return min(text.get_fontsize() for text in figure.findobj(matplotlib.text.Text)
               if text.get_visible() and text.get_text().strip())


def svg_of(figure, name):
    """Returns an svg element for a page: without the surroundings of a file, as wide as its place
    if its letters are readable there, its colours those of the page, its identities beginning with
    its name."""
    out = io.StringIO()
    figure.savefig(out, dpi=DPI, format="svg", transparent=True, metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg"):].strip()
    text = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", text,
                  flags=re.DOTALL)
    head, rest = text.split(">", 1)
    head = re.sub(r' (?:width|height|version|xmlns(?::\w+)?)="[^"]*"', "", head)
    least = math.ceil(READABLE / smallest_letters(figure) * 72 * figure.get_figwidth())
    head += f' style="min-width: {least}px"'
    text = re.sub(r'\bid="', f'id="{name}.', f"{head}>{rest}").replace("xlink:href=", "href=")
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}.", text)
    for colour, of_page in OF_THE_PAGE.items():
        text = re.sub(rf"(fill|stroke): {colour}", rf"\1: {of_page}", text, flags=re.IGNORECASE)
    return re.sub(r"\n\s*", "\n", text)


def wrapped(text, width=52):
    """Returns text in lines, broken at commas and colons where there are some: a number stays with
    its noun."""
    lines = [""]
    for part in re.split(r"(?<=[,:]) ", text):
        for i, word in enumerate([part] if len(part) <= width else part.split()):
            if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
                lines.append(word)
            else:
                lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)


def legend_below(axes, below=0.42, columns=0, **how):
    """Places a legend below the label of the x axis, where it covers nothing; columns 0: as many as
    fit."""
    handles, labels = axes.get_legend_handles_labels()
    if not labels or labels == ["all"]:
        return
    columns = columns or series.columns_of(labels)
    place = axes.transAxes + matplotlib.transforms.ScaledTranslation(0, -below,
                                                                     axes.figure.dpi_scale_trans)
    axes.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=place,
                ncols=columns,
                handlelength=2, columnspacing=1, borderaxespad=0, **how)


def to_the_right(axes, points):
    """Returns the transformation that moves a drawn thing by a number of points."""
    return matplotlib.transforms.ScaledTranslation(points / 72, 0, axes.figure.dpi_scale_trans)


def look(index):
    """Returns colour, marker and line style of series `index`, distinct after the colours repeat.
    """
    again = index >= len(COLOURS)
    return {"color": COLOURS[index % len(COLOURS)],
            "marker": MARKERS[(index + again) % len(MARKERS)],
            "markerfacecolor": "white" if again else COLOURS[index % len(COLOURS)],
            "linestyle": "--" if again else "-"}


def pow_two_axis(axis, values):
    """Makes the axis logarithmic, with ticks at the values if there is room."""
    values = sorted(set(values))
    axis.axes.set_xscale("log", base=2) if axis.axis_name == "x" else axis.axes.set_yscale("log",
                                                                                           base=2)
    ticks = apart(series.spread(values, 8), log=True)
    axis.set_ticks(ticks, plain_all(ticks))
    axis.set_ticks([], minor=True)


def log_axis(axis, low, high, base=10):
    """Makes the axis logarithmic from low to high, with three to seven labelled ticks where round
    numbers give them: powers of ten, or 1, 2 and 5 times them, or finer; base 2: powers of two
    where there are three."""
    scale = axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale
    limits = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
    scale("log")
    limits(low, high)
    in_twos = base == 2 and low > 0.1 and high / low >= 6
    ticks = bytes_ticks(low, high, 7) if in_twos else log_ticks(low, high)
    axis.set_ticks(ticks, plain_all(ticks))
    axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    if in_twos:
        axis.set_ticks([], minor=True)


def log_ticks(low, high):
    """Returns the ticks of log_axis."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8),
                  (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9),
                  tuple(1 + i / 10 for i in range(90))):
        found = [float(f"{step * 10.0 ** power:.12g}") for power in range(first, last + 1)
                 for step in steps]
        found = [tick for tick in found if low <= tick <= high]
        if len(found) >= 3:
            break
    return found[::-(-len(found) // 7)] if found else [low]


def bytes_ticks(low, high, most=6):
    """Returns powers of two from low to high, evenly spaced, few enough for labels (128 KiB) not to
    overlap."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    return [2.0 ** power for power in range(first, last + 1,
                                          max(1, -(-(last - first) // (most - 1))))]


def value_axis(axis, values):
    """Scales an axis of values that may be zero: logarithmic if positive and over a large range."""
    values = sorted(set(values))
    if values[0] > 0 and values[-1] / values[0] > 3:
        pow_two_axis(axis, values)
        return
    ticks = apart(series.spread(values, 8))
    axis.set_ticks(ticks, plain_all(ticks))


def apart(values, log=False, share=0.08):
    """Returns the sorted values whose labels do not overlap, always including the last."""
    place = [math.log(v) if log else v for v in values]
    span, kept = (place[-1] - place[0]) or 1.0, [len(values) - 1]
    for i in range(len(values) - 2, -1, -1):
        if place[kept[-1]] - place[i] >= share * span:
            kept.append(i)
    return [values[i] for i in reversed(kept)]


def plain_all(values):
    """Formats the ticks of an axis alike: 3k where another is 10k."""
    smallest = 1000 if max(values) >= 10000 else 10000
    return [plain(value, smallest) for value in values]


def plain_axis(axis):
    """Formats the ticks that matplotlib chooses, alike."""
    def text(value, _):
        return plain(value, 1000 if max(axis.get_view_interval()) >= 10000 else 10000)
    axis.set_major_formatter(text)


def plain(value, smallest=10000):
    """Formats a tick: 64, 1.5, 16k, 1.25M for round multiples of powers of ten or two, from the
    smallest one on."""
    units = ((1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki"), (10**9, "G"), (10**6, "M"),
             (10**3, "k"))
    round_ones = [f"{value / factor:g}{unit}" for factor, unit in units
                  if value >= max(factor, smallest) and abs(value / factor * 100
                                                         - round(value / factor * 100)) < 1e-9]
    if round_ones:
        return min(round_ones, key=len)
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def time_unit(seconds):
    """Returns (factor, name) of a readable time unit."""
    return next(((f, u) for f, u in ((1, "s"), (1e3, "ms"), (1e6, "us")) if seconds * f >= 1),
                (1e9, "ns"))
