"""The atlas of a machine: latencies and bandwidths by working set, lines between cores, costs of
operations, messages."""
import h5py
import numpy as np

import results
import tables as texts
import textplot
from picture import Picture, said, said_lines

TABLES = ("chases", "levels", "reaches", "rates", "pairs", "operations", "remotes", "messages",
          "gpu_chases", "gpu_rates", "gpu_pages", "gpu_waits", "roots")
MOST_NAMED = 12  # units whose pairs have numbers in the map


class Atlas:
    """One run of tessera machine --atlas: its tables as lists of rows."""

    def __init__(self, run, group):
        self.run, self.key = run, run
        self.title = group.attrs.get("option_title") or "machine"
        self.host = group.attrs.get("hosts", "")
        self.processor = group.attrs.get("processor", "")
        for name in TABLES:
            rows = f"atlas_{name}"
            setattr(self, name, results.rows_of(group[rows]) if rows in group else [])


def read(path):
    """Returns the atlases of a file."""
    with h5py.File(path, "r") as file:
        return [Atlas(run, group) for run, group in results.groups_of(file)
                if "atlas_chases" in group]


def size(value):
    """Formats bytes in three digits: 1.42 MiB."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value:.0f} B"


def curves(rows, by, x, y):
    """Returns {value of column `by`: (xs, ys)} in order of x."""
    found = {}
    for row in rows:
        found.setdefault(str(row[by]), []).append((float(row[x]), float(row[y])))
    return {label: tuple(np.array(sorted(points)).T) for label, points in found.items()}


def bandwidths(atlas):
    """Returns {traffic, threads: (bytes, GB/s)} of those that were measured by working set."""
    found = curves([{**row, "label": f"{row['traffic']}, {row['threads']} "
                                     f"thread{'' if row['threads'] == 1 else 's'}"}
                    for row in atlas.rates], "label", "bytes", "bandwidth")
    return {label: line for label, line in found.items() if len(line[0]) > 1}


def messages(atlas, column):
    """Returns {ranks: (bytes, values)} of the first pair, which has all sizes."""
    if not atlas.messages:
        return {}
    first = atlas.messages[0]
    rows = [row for row in atlas.messages
            if (row["from"], row["to"]) == (first["from"], first["to"])]
    return {f"ranks {first['from']} and {first['to']}":
            (np.array([float(row["bytes"]) for row in rows]),
             np.array([float(row[column]) for row in rows]))}


def draw_lines(axes, lines, y_label, x_label="working set, bytes"):
    import style
    for number, (name, (xs, ys)) in enumerate(lines.items()):
        axes.plot(xs, ys, label=name, markersize=3.5, **style.look(number))
    sizes = np.concatenate([xs for xs, _ in lines.values()])
    values = np.concatenate([ys for _, ys in lines.values()])
    axes.set_xscale("log", base=2)
    ticks = style.bytes_ticks(max(1, sizes.min()), sizes.max())
    axes.xaxis.set_ticks(ticks, [texts.size(tick) for tick in ticks])
    axes.xaxis.set_ticks([], minor=True)
    style.log_axis(axes.yaxis, 0.8 * values[values > 0].min(), 1.4 * values.max())
    axes.grid(True, which="major", axis="y")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    style.legend_below(axes)


def mark_levels(axes, atlas):
    """Marks the sizes of the caches: nominal by a line, measured by a triangle."""
    import style
    for row in atlas.levels:
        if 0 < row["nominal"] <= axes.get_xlim()[1]:
            axes.axvline(row["nominal"], color=style.QUIET, linewidth=0.8, linestyle=":", zorder=0)
            axes.annotate(row["level"], (row["nominal"], 1), (-2, -2), ha="right", va="top",
                          fontsize=8, color=style.QUIET, xycoords=("data", "axes fraction"),
                          textcoords="offset points")
        if row["measured"] == row["measured"]:
            axes.plot([row["measured"]], [0], marker="^", color=style.WRONG, markersize=6,
                      clip_on=False, transform=axes.get_xaxis_transform(), zorder=5)


def draw_latency(axes, atlas):
    lines = curves(atlas.chases, "chase", "bytes", "latency")
    draw_lines(axes, lines, "ns per load")
    mark_levels(axes, atlas)


def draw_pairs(axes, atlas):
    """Draws the map of pairs of units, symmetric."""
    import heatmap
    units = sorted({row[name] for row in atlas.pairs for name in ("unit", "other")})
    values = np.full((len(units), len(units)), np.nan)
    for row in atlas.pairs:
        one, other = units.index(row["unit"]), units.index(row["other"])
        values[one, other] = values[other, one] = row["latency"]
    image = axes.imshow(values, cmap="cividis", origin="lower")
    axes.figure.colorbar(image, ax=axes, label="ns one way", shrink=0.8)
    steps = max(1, len(units) // MOST_NAMED)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_ticks(range(0, len(units), steps), [str(unit) for unit in units[::steps]])
    if len(units) <= MOST_NAMED:
        for (i, j), value in np.ndenumerate(values):
            if value == value:
                axes.text(j, i, f"{value:.0f}", ha="center", va="center", fontsize=8,
                          color=heatmap.contrast(image.cmap(image.norm(value))))
    axes.set_xlabel("cpu")
    axes.set_ylabel("cpu")


def named(row):
    """Returns an operation in words."""
    place = "" if row["apart"] < 0 else ", one word" if row["apart"] == 0 else \
        f", {row['apart']} B apart"
    return f"{row['operation']}{place}".replace("_", " ")


def draw_operations(axes, atlas):
    """Draws the costs with the most threads as bars, logarithmic, dearest below."""
    import style
    rows = dearest(atlas)
    names = [named(row) for row in rows]
    times = [max(row["time"], 1e-2) for row in rows]
    axes.barh(range(len(rows)), times, color=style.COLOURS[0], height=0.65)
    for place, value in enumerate(times):
        axes.annotate(said(value), (value, place), (3, 0), va="center", fontsize=8,
                      textcoords="offset points")
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    style.log_axis(axes.xaxis, 0.5 * min(times), 8 * max(times))
    axes.set_xlabel("ns")


def dearest(atlas):
    """Returns every operation once, with the most threads, in order of its cost."""
    last = {}
    for row in sorted(atlas.operations, key=lambda row: row["threads"]):
        if row["time"] == row["time"]:
            last[row["operation"], row["apart"]] = row
    return sorted(last.values(), key=lambda row: row["time"])


def draw_messages(axes, atlas):
    """Draws time above bandwidth, by size."""
    above, below = axes
    draw_lines(above, messages(atlas, "time"), "us")
    above.get_legend().remove()
    above.set_xlabel("")
    draw_lines(below, messages(atlas, "bandwidth"), "GB/s", "bytes of a message")


def draw_gpu(axes, atlas):
    draw_lines(axes, curves(atlas.gpu_chases, "kernel", "bytes", "latency"), "ns per load")


def gpu_pages(atlas):
    """Returns {what: (pages, ns)} of a load per page and of one per line."""
    return {what: tuple(np.array([(float(row["pages"]), float(row[column]))
                                  for row in atlas.gpu_pages]).T)
            for what, column in (("a load per page", "latency"), ("a load per line", "of_lines"))}


def pictures(atlases):
    """Yields the pictures of every atlas."""
    for number, atlas in enumerate(atlases, 1):
        yield from pictures_of(number, atlas)


def line_picture(stem, title, caption, lines, labels, draw, **more):
    return Picture(stem, title, caption, draw,
                   lambda: textplot.lines(lines, *labels, log_y=True),
                   alt=said_lines(lines, *labels), **more)


def pictures_of(number, atlas):
    yield line_picture(
        f"latency_{number}", "Latency of dependent loads by working set",
        "Each load needs the one before it; their order is random. Dotted: sizes of the caches as "
        "the system reports them; triangles: where the curve is half-way between two levels. "
        "`pages`: one load a page, which shows the translation caches (TLB).",
        curves(atlas.chases, "chase", "bytes", "latency"), ("bytes", "ns"),
        lambda axes: draw_latency(axes, atlas), height=3.6)
    lines = bandwidths(atlas)
    if lines:
        yield line_picture(
            f"bandwidth_{number}", "Bandwidth by working set",
            "Bytes read plus bytes written, all threads together; the working set is that of all "
            "threads.", lines, ("bytes", "GB/s"),
            lambda axes: (draw_lines(axes, lines, "GB/s"), mark_levels(axes, atlas)), height=3.8)
    if len(atlas.pairs) > 1:
        yield Picture(f"pairs_{number}", "A cache line between two cpus",
                      "One way: half a round trip of a line that both write in turns.",
                      lambda axes: draw_pairs(axes, atlas), None, 3.4,
                      alt=f"{len(atlas.pairs)} pairs")
    if atlas.operations:
        yield Picture(f"operations_{number}", "What an operation costs",
                      f"By each of up to {max(row['threads'] for row in atlas.operations)} threads "
                      f"at once.", lambda axes: draw_operations(axes, atlas),
                      lambda: textplot.bars([(named(row), row["time"], np.nan, np.nan, "")
                                             for row in dearest(atlas)], "ns"),
                      1.0 + 0.2 * len(dearest(atlas)),
                      alt="; ".join(f"{named(row)} {row['time']:.3g} ns"
                                    for row in dearest(atlas)))
    if atlas.messages:
        lines = messages(atlas, "bandwidth")
        yield line_picture(f"messages_{number}", "Messages between two ranks",
                           "Half a round trip, and the bandwidth that follows from it.", lines,
                           ("bytes", "GB/s"), lambda axes: draw_messages(axes, atlas), height=4.6,
                           panels=(1, 1))
    if atlas.gpu_chases:
        yield line_picture(f"gpu_latency_{number}", "Latency of a GPU's memories by working set",
                           "Dependent loads by one thread, in random order.",
                           curves(atlas.gpu_chases, "kernel", "bytes", "latency"), ("bytes", "ns"),
                           lambda axes: draw_gpu(axes, atlas), height=3.6)
    if atlas.gpu_pages:
        lines = gpu_pages(atlas)
        yield line_picture(f"gpu_pages_{number}", "Latency of a GPU's memory by number of pages",
                           f"Dependent loads by one thread: one per page of "
                           f"{size(atlas.gpu_pages[0]['page'])}, and as many of lines side by "
                           f"side. Where they part, the translation caches (TLB) end.", lines,
                           ("pages", "ns"),
                           lambda axes: draw_lines(axes, lines, "ns per load", "pages"),
                           height=3.6)


def tables(atlases):
    """Yields (heading, rows of texts)."""
    for atlas in atlases:
        yield "machine: levels of memory", [
            ["level", "nominal size", "measured size", "ns", "cycles"],
            *([row["level"], texts.size(row["nominal"]) if row["nominal"] else "-",
               size(row["measured"]) if row["measured"] == row["measured"] else "-",
               f"{row['latency']:.3g}", f"{row['cycles']:.3g}"] for row in atlas.levels)]
        yield "machine: costs of operations", [
            ["operation", "threads", "ns"],
            *([named(row), str(row["threads"]), f"{row['time']:.3g}"]
              for row in atlas.operations)]
        for heading, rows, columns in (
                ("lines between cpus", atlas.pairs, ("unit", "other", "latency", "median")),
                ("inverse square roots of floats", atlas.roots, ("root", "time", "error")),
                ("memory of NUMA nodes", atlas.remotes, ("from", "to", "distance", "latency")),
                ("messages", atlas.messages, ("from", "to", "bytes", "time", "bandwidth")),
                ("latency of a GPU's memories, ns", atlas.gpu_chases,
                 ("kernel", "bytes", "latency")),
                ("pages of a GPU, ns", atlas.gpu_pages,
                 ("page", "pages", "bytes", "latency", "of_lines")),
                ("barriers and launches on a GPU, ns", atlas.gpu_waits,
                 ("what", "threads", "time")),
                ("transfers of a GPU, GB/s", atlas.gpu_rates, ("kernel", "bytes", "bandwidth"))):
            if rows:
                yield f"machine: {heading}", [list(columns), *(
                    [texts.number(row[name]) if not isinstance(row[name], str) else row[name]
                     for name in columns] for row in rows)]
