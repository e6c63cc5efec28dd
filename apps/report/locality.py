"""Pictures of traced runs: miss curves with the theorem, and space-time diagrams."""
import h5py
import numpy as np

import results
import series
import textplot
from picture import Picture, said_lines

MOST_CURVES = 6
IN_LABELS = ("tile", "column-width")  # of the kernels that use them
FAR = 64  # times the largest size drawn: caches beyond it are named below the picture
NEEDED = {"points": ("point", "workload", "loads", "stores", "compulsory", "theorem", "constant",
                     "line_bytes"),
          "curves": ("point", "array", "bytes", "misses", "theorem")}
MOST_CELLS = 280, 400  # rows and columns: at least two dots each
RESIDENT, LOADED, STORED, FETCHED = (0.5, 0.5, 0.5, 0.3), "#0072B2", "#009E73", "#D55E00"


def tuned_by(kernel):
    """Returns the columns of sizes that a kernel uses."""
    plain = kernel.removeprefix("cuda_")
    return ("tile",) if plain in ("tiled", "transposed_tiled", "recursive") else \
        ("column_width",) if plain in ("column", "zigzag") else ()


def size_of(c):
    return {"matmul": "{m} x {n} x {k}", "sort": "n {n}",
            "forkjoin": "n {n}"}.get(c["workload"], "{m} x {n}").format(**c)


def label_of(c):
    """Returns the description of a traced point."""
    sizes = size_of(c)
    extra = f" {c['stencil']}" if c["workload"] == "stencil" else ""
    words = {"tile": "tile", "column_width": "columns of"}
    extra += "".join(f", {words[name]} {c[name]}" for name in tuned_by(c["kernel"]) if c[name])
    extra += f", pad {c['pad']}" if c.get("pad") else ""
    return f"{c['workload']} {c['kernel']} {sizes}{extra}"


def disambiguate(points):
    """Appends to ambiguous labels the options in which their points differ: type, line, steps, ...
    """
    alike = {}
    for point in points:
        alike.setdefault(point.label, []).append(point)
    for label, mine in alike.items():
        options = [results.options_of(point.key) for point in mine]
        names = [n for n in dict.fromkeys(n for o in options for n in o)
                 if len({o.get(n) for o in options}) > 1 and n not in IN_LABELS]
        for point, asked in zip(mine, options):
            point.label = ", ".join([label, *(f"{n.replace('-', ' ')} {asked[n]}"
                                              for n in names if n in asked)])
    return points


class Traced:
    """Traced point of a run."""

    def __init__(self, key, config, tables, attributes, run):
        self.key, self.config, self.tables, self.run = key, config, tables, run
        self.title = attributes.get("option_title") or "locality"
        self.caches = results.caches_of(attributes)
        self.workload, self.label = config["workload"], label_of(config)
        self.tuned_by = tuned_by(config["kernel"])

    @property
    def misses(self):
        """Returns {cache size: misses of an LRU cache over all arrays}."""
        curve = self.rows("curves", array="all")
        return dict(zip(curve["bytes"], curve["misses"]))

    def rows(self, table, **equal):
        """Returns this point's rows of a table, as columns."""
        columns = self.tables.get(table)
        if columns is None:
            return {}
        mine = columns["point"] == self.key
        for name, value in equal.items():
            mine &= columns[name] == value
        return {name: values[mine] for name, values in columns.items()}


def read(path):
    """Returns the traced points of a file, the latest trace of each."""
    found = {}
    with h5py.File(path, "r") as file:
        for run, group in results.groups_of(file):
            if "curves" not in group:
                continue
            tables = {name: results.columns(part) for name, part in group.items()}
            points = tables["points"]
            for row, key in enumerate(points["point"]):
                found[key] = Traced(key, {name: values[row] for name, values in points.items()},
                                    tables, dict(group.attrs), run)
    return list(found.values())


def whole(points):
    """Returns the points. Raises KeyError if a table lacks a column that the page needs."""
    for point in points:
        lacks = [f"{point.run}/{table}/{name}" for table, names in NEEDED.items()
                 for name in names if name not in point.tables[table]]
        if lacks:
            raise KeyError(", ".join(lacks))
    return points


def table(points):
    """Returns one row of texts per traced point."""
    rows = [["point", "accesses", "compulsory misses", "theorem", "constant"]]
    for point in points:
        c = point.config
        rows.append([point.label, str(c["loads"] + c["stores"]), f"{c['compulsory']:.0f}",
                     c["theorem"] or "-",
                     f"{c['constant']:.3f}" if np.isfinite(c["constant"]) else "-"])
    return rows


def human_bytes(value):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:g} {unit}"
        value /= 1024


def largest_cache(points):
    """Returns the largest cache size drawn, bytes."""
    sizes = [point.rows("curves", array="all")["bytes"].max() for point in points]
    return max(sizes + [point.rows("ideal")["lines"].max() * point.config["line_bytes"]
                        for point in points
                        if len(point.rows("ideal").get("lines", ()))])


def curve_of(point):
    """Returns the sizes and the misses of a miss curve, in order."""
    curve = point.rows("curves", array="all")
    order = np.argsort(curve["bytes"])
    return curve["bytes"][order], curve["misses"][order]


def caches_of(points):
    """Returns the caches of the machine that traced the points, {} if there were several."""
    found = {tuple(point.caches.items()) for point in points}
    return dict(found.pop()) if len(found) == 1 else {}


def mark_caches(axes, points, end):
    """Marks the caches of the machine up to FAR times the largest size; returns the ends of the
    axis."""
    import style
    low, high = axes.get_xlim()
    for level, size in caches_of(points).items():
        if low < size <= FAR * end:
            axes.axvline(size, color=style.QUIET, linewidth=0.9, linestyle="-.", zorder=1)
            axes.annotate(f"{level}\n{human_bytes(size)}", (size, 1),
                          xycoords=("data", "axes fraction"), xytext=(0, 2), fontsize=8,
                          textcoords="offset points", va="bottom", ha="center", linespacing=0.95)
            high = max(high, size * (high / low) ** 0.15)
    return low, high


def draw_curves(axes, points):
    import style
    end = largest_cache(points)
    for index, (point, label) in enumerate(zip(points, short_labels(points))):
        curve = point.rows("curves", array="all")
        order = np.argsort(curve["bytes"])
        order = np.append(order, order[-1])  # larger caches have the last one's misses
        sizes = np.append(curve["bytes"][order[:-1]], end)
        colour = style.COLOURS[index % len(style.COLOURS)]
        axes.plot(sizes, curve["misses"][order], drawstyle="steps-post", color=colour,
                  label=label)
        if np.isfinite(curve["theorem"]).any():
            axes.plot(sizes, curve["theorem"][order], drawstyle="steps-post", color=colour,
                      linestyle=":", linewidth=1.6)
        ideal = point.rows("ideal")
        if len(ideal.get("lines", ())):
            axes.plot(ideal["lines"] * point.config["line_bytes"], ideal["misses"], color=colour,
                      marker="v", linestyle="",
                      markersize=5)
    for words, drawn, how in (("theorem", any(np.isfinite(p.rows("curves",
                                                                 array="all")["theorem"]).any()
                                              for p in points),
                               {"linestyle": ":"}),
                              ("ideal cache", any(len(p.rows("ideal").get("lines", ()))
                                                  for p in points),
                               {"marker": "v", "linestyle": "", "markersize": 5})):
        if drawn:
            axes.plot([], [], color="black", label=words, **how)
    axes.set_xscale("log", base=2)
    counts = np.concatenate([curve_of(point)[1] for point in points])
    style.log_axis(axes.yaxis, max(1, counts.min()) / 1.6, counts.max() * 3)
    low, high = mark_caches(axes, points, end)
    axes.set_xlim(low, high)
    ticks = style.bytes_ticks(low, high)
    axes.set_xticks(ticks, [human_bytes(tick) for tick in ticks])
    axes.set_xlabel("cache size (bytes)")
    lines = {int(point.config["line_bytes"]) for point in points}
    axes.set_ylabel(f"misses (lines of {lines.pop()} B)" if len(lines) == 1 else "misses (lines)")
    axes.grid(True, which="major")
    style.legend_below(axes)


def array_rows(point):
    """Returns {name: (first line, lines, row)} and the height: arrays stacked without the memory
    between them, the first on top."""
    table, line = point.rows("arrays"), point.config["line_bytes"]
    out, row = {}, 0
    for name, begin, size in zip(table["array"], table["begin"], table["bytes"]):
        lines = -(-int(size) // int(line))
        out[name] = (int(begin) // int(line), lines, row)
        row += lines + max(1, lines // 12)
    return out, row


def place(point, arrays, names, lines):
    """Returns the rows at which lines are drawn."""
    return np.array([line - arrays[name][0] + arrays[name][2] for name, line in zip(names, lines)],
                    dtype=float)


def draw_accesses(axes, point, arrays):
    """Draws single accesses: a bar per line's residency, a dot per touch, a square per fetch."""
    from matplotlib.collections import PolyCollection
    line = point.config["line_bytes"]
    stays = point.rows("stays")
    y = place(point, arrays, stays["array"], stays["line"])
    # A line is a row of height 1, divided among its elements.
    boxes = [[(a, row), (b, row), (b, row + 1), (a, row + 1)]
             for a, b, row in zip(stays["from"], stays["to"], y)]
    axes.add_collection(PolyCollection(boxes, facecolors=RESIDENT, edgecolors="none", zorder=1,
                                       rasterized=True))
    marks = point.rows("marks")
    first = np.array([arrays[name][2] - arrays[name][0] for name in marks["array"]], dtype=float)
    at = first + marks["address"] / line + 0.5 * point.config["element_bytes"] / line
    size = max(0.6, min(3, 6000 / max(1, len(at))))
    for order, (chosen, colour, label) in enumerate(((marks["fetched"] == 1, FETCHED, "fetched"),
                                                     (marks["store"] == 0, LOADED, "loaded"),
                                                     (marks["store"] == 1, STORED, "stored"))):
        axes.scatter(marks["time"][chosen], at[chosen], s=size * (7 if label == "fetched" else 1),
                     color=colour,
                     marker="s", linewidths=0, zorder=2 + order, rasterized=True)
        axes.plot([], [], color=colour, marker="s", linestyle="none", label=label, markersize=4)
    axes.plot([], [], color=RESIDENT, linewidth=6, label="resident")
    axes.set_xlim(0, marks["time"].max() + 1)


def cells_of(point, arrays, height):
    """Returns touches and fetches by cells, the time steps and the lines per cell. Cells are as
    large as needed for the picture's dots; smaller ones would be dropped in part."""
    table = point.rows("density")
    step, lines = int(table["time_step"][0]), int(table["line_step"][0])
    end = int(table["time"].max()) + step
    step *= -(-end // (step * MOST_CELLS[1]))
    lines *= -(-height // (lines * MOST_CELLS[0]))
    cells = np.zeros((2, -(-height // lines), -(-end // step)))
    at = (place(point, arrays, table["array"], table["line"])
          // lines).astype(int), table["time"] // step
    np.add.at(cells[0], at, table["touches"])
    np.add.at(cells[1], at, table["fetched"])
    return cells[0], cells[1], step, lines


def draw_density(axes, point, arrays, height):
    """Draws cells of time by lines: darkness by touches, red by the share of fetches."""
    touches, fetched, step, lines = cells_of(point, arrays, height)
    rows, columns = touches.shape
    share = np.divide(fetched, touches, out=np.zeros_like(touches), where=touches > 0)
    shade = np.where(touches > 0, 0.25 + 0.75 * np.log1p(touches) / np.log1p(touches.max()), 0)
    blue, red = np.array([0.0, 0.447, 0.698]), np.array([0.835, 0.369, 0.0])
    share = share[..., None]
    colour = (1 - share) * blue + share * red
    axes.imshow(np.concatenate([colour, shade[..., None]], axis=2),
                extent=(0, columns * step, rows * lines, 0), aspect="auto",
                interpolation="nearest")
    axes.plot([], [], color=blue, linewidth=6, label="touched, found in the cache")
    axes.plot([], [], color=red, linewidth=6, label="fetched at every touch")


def draw_diagram(axes, point):
    import style
    arrays, height = array_rows(point)
    axes.set_ylim(height, 0)
    if bool(point.rows("arrays")["exact"][0]):
        draw_accesses(axes, point, arrays)
    else:
        draw_density(axes, point, arrays, height)
    for name, (_, lines, row) in arrays.items():
        axes.axhline(row, color="#888888", linewidth=0.5)
        axes.axhline(row + lines, color="#888888", linewidth=0.5)
    axes.set_yticks([row + lines / 2 for _, lines, row in arrays.values()], list(arrays))
    axes.tick_params(axis="y", length=0)
    style.plain_axis(axes.xaxis)
    axes.set_xlabel("time (accesses)")
    axes.set_ylabel("cache lines of the arrays")
    style.legend_below(axes)


def common_size(points):
    """Returns the size of the problem that all points share, "" if they differ."""
    sizes = {size_of(point.config) for point in points}
    return sizes.pop() if len(sizes) == 1 else ""


def short_labels(points):
    """Returns the labels without the workload and without a size that all points share: both are
    in the title."""
    common = f" {common_size(points)}".rstrip()
    return [point.label.removeprefix(f"{point.workload} ").replace(common, "", 1)
            for point in points]


def diagram_text(point, width=72, most=40):
    """Returns the diagram as text, lines down and time across: F for fetches, o for hits."""
    arrays, height = array_rows(point)
    exact = bool(point.rows("arrays")["exact"][0])
    table = point.rows("marks" if exact else "density")
    line = point.config["line_bytes"]
    if exact:
        first = np.array([arrays[name][2] - arrays[name][0] for name in table["array"]], dtype=int)
        rows, fetched = first + (table["address"] // line).astype(int), table["fetched"] == 1
    else:
        rows, fetched = place(point, arrays, table["array"],
                              table["line"]).astype(int), table["fetched"] > 0
    step = -(-height // most)
    across = (int(table["time"].max()) + 1) / width
    canvas = np.full((-(-height // step), width), " ")
    for mark, chosen in (("o", ~fetched), ("F", fetched)):
        canvas[rows[chosen] // step, np.minimum(width - 1,
                                                (table["time"][chosen]
                                                 / across)).astype(int)] = mark
    names = {row // step: name for name, (_, _, row) in arrays.items()}
    longest = max(map(len, arrays))
    out = [f"  {names.get(i, ''):<{longest}} |{''.join(row)}|" for i, row in enumerate(canvas)]
    return "\n".join(
        out + [f"  {'':<{longest}}  time (accesses); F: fetched, o: found in the cache"]) + "\n"


def counted(point):
    if bool(point.rows("arrays")["exact"][0]):
        fetched = point.rows("marks")["fetched"]
        return f"{int((fetched == 1).sum())} fetches in {len(fetched)} accesses"
    table = point.rows("density")
    return f"{int(table['fetched'].sum())} fetches in {int(table['touches'].sum())} touches"


def by_workload(points):
    found = {}
    for point in points:
        found.setdefault(point.workload, []).append(point)
    return found


def said_caches(points):
    words = [f"{level} {human_bytes(size)}" for level, size in caches_of(points).items()]
    return f" Upright: the caches of this machine, {', '.join(words)}." if words else ""


def pictures(points):
    """Yields miss curves, six per picture, and every space-time diagram."""
    for workload, mine in by_workload(points).items():
        curves = [p for p in mine if len(p.rows("curves").get("misses", ()))]
        for start in range(0, len(curves), MOST_CURVES):
            part, number = curves[start:start + MOST_CURVES], start // MOST_CURVES + 1
            which = f" Picture {number} of {-(-len(curves) // MOST_CURVES)}." if len(
                curves) > MOST_CURVES else ""
            plain = dict(zip(short_labels(part), map(curve_of, part)))
            yield Picture(f"misses_{workload}_{number}",
                          series.titled(f"{workload}, misses by cache size", common_size(part)),
                          "Steps: LRU. Dotted: the theorem. Triangles: the ideal cache."
                          + said_caches(part) + which,
                          lambda axes, p=part: draw_curves(axes, p),
                          lambda d=plain: textplot.lines(d, "cache size in bytes", "misses",
                                                         log_y=True),
                          3.3 + series.legend_height([*plain, "theorem", "ideal cache"]),
                          alt=said_lines(plain, "bytes of cache", "misses"))
    yield from diagrams(p for p in points if len(p.rows("arrays").get("array", ())))


def diagrams(points, stem="diagram", line="line"):
    """Yields the space-time diagram of every point; line: what its cache holds."""
    for number, point in enumerate(points, 1):
        table = point.rows("arrays")
        elements = point.config["line_bytes"] // point.config["element_bytes"]
        lines = int(table["cache_lines"][0])
        yield Picture(f"{stem}_{number}_{point.config['workload']}_{point.config['kernel']}",
                      f"{point.label}: {counted(point)} with a cache of {lines} {line}s "
                      f"({human_bytes(lines * int(point.config['line_bytes']))})",
                      f"A {line} has {elements} elements. A row is a {line}, time runs to the "
                      f"right.",
                      lambda axes, p=point: draw_diagram(axes, p), lambda p=point: diagram_text(p),
                      4.3, alt="arrays from top to bottom: " + ", ".join(
                          f"{name} of {count} {line}s"
                          for name, (_, count, _) in array_rows(point)[0].items()))
