"""Pictures of traced runs: miss curves beside the theorem, and space-time diagrams."""
import os

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.collections import PolyCollection  # noqa: E402

import picture  # noqa: E402
import results  # noqa: E402

MOST_CURVES = 12
RESIDENT, LOADED, STORED, FETCHED = "#D9D9D9", "#0072B2", "#009E73", "#D55E00"


class Traced:
    """One traced point of a run."""

    def __init__(self, key, config, tables):
        self.key, self.config, self.tables = key, config, tables

    @property
    def label(self):
        c = self.config
        sizes = {"matmul": "{m} x {n} x {k}", "sort": "n {n}"}.get(c["workload"], "{m} x {n}").format(**c)
        extra = f" {c['stencil']}" if c["workload"] == "stencil" else ""
        extra += f", tile {c['tile']}" if c["kernel"] in ("tiled", "recursive") and c["tile"] else ""
        extra += f", columns of {c['column_width']}" if c["kernel"] in ("column", "zigzag") and c["column_width"] else ""
        extra += f", pad {c['pad']}" if c["pad"] else ""
        return f"{c['workload']} {c['kernel']} {sizes}{extra}"

    def rows(self, table, **equal):
        """The rows of a table that belong to this point, as columns."""
        columns = self.tables.get(table)
        if columns is None:
            return {}
        mine = columns["point"] == self.key
        for name, value in equal.items():
            mine &= columns[name] == value
        return {name: values[mine] for name, values in columns.items()}


def read(path):
    """The traced points of a file; of one traced more than once the latest."""
    found = {}
    with h5py.File(path, "r") as file:
        for group in file.values():
            if not isinstance(group, h5py.Group) or "curves" not in group:
                continue
            tables = {name: results.columns(part) for name, part in group.items()}
            points = tables["points"]
            for row, key in enumerate(points["point"]):
                found[key] = Traced(key, {name: values[row] for name, values in points.items()}, tables)
    return list(found.values())


def text(points):
    lines = [f"{len(points)} traced point{'s' if len(points) != 1 else ''}:"]
    for point in points:
        c = point.config
        fit = f", theorem {c['theorem']}: constant {c['constant']:.3f}" if c["theorem"] else ""
        lines.append(f"  {point.label}: {c['loads'] + c['stores']} accesses, {c['compulsory']:.0f} compulsory misses{fit}")
    return "\n".join(lines)


def human_bytes(value, _=None):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:g} {unit}"
        value /= 1024


def draw_curves(axes, points):
    for index, point in enumerate(points[:MOST_CURVES]):
        curve = point.rows("curves", array="all")
        order = np.argsort(curve["bytes"])
        colour = picture.COLOURS[index % len(picture.COLOURS)]
        axes.plot(curve["bytes"][order], curve["misses"][order], drawstyle="steps-post", color=colour, label=point.label)
        if np.isfinite(curve["theorem"]).any():
            axes.plot(curve["bytes"][order], curve["theorem"][order], drawstyle="steps-post", color=colour,
                      linestyle=":", linewidth=1.6)
        ideal = point.rows("ideal")
        if len(ideal.get("lines", ())):
            axes.plot(ideal["lines"] * point.config["line_bytes"], ideal["misses"], color=colour, marker="v", linestyle="",
                      markersize=5)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(human_bytes)
    axes.set_xlabel("cache size")
    axes.set_ylabel("misses")
    axes.grid(True, color="#DDDDDD", linewidth=0.6)
    axes.legend(fontsize=8, frameon=False)
    axes.set_title("misses by cache size: LRU (steps), the theorem (dotted), the ideal cache (triangles)", fontsize=10)


def array_rows(point):
    """name: (first line, lines), the arrays one above the other without gaps, the first on top."""
    table, line = point.rows("arrays"), point.config["line_bytes"]
    out, row = {}, 0
    for name, begin, size in zip(table["array"], table["begin"], table["bytes"]):
        lines = -(-int(size) // int(line))
        out[name] = (int(begin) // int(line), lines, row)
        row += lines + max(1, lines // 12)
    return out, row


def place(point, arrays, names, lines):
    """The height at which a line is drawn."""
    return np.array([line - arrays[name][0] + arrays[name][2] for name, line in zip(names, lines)], dtype=float)


def draw_accesses(axes, point, arrays):
    """Access by access: a bar where a line is resident, a dot for each touch on a square where it was fetched."""
    line = point.config["line_bytes"]
    stays = point.rows("stays")
    y = place(point, arrays, stays["array"], stays["line"])
    # A line is a row of a unit's height; its elements lie in it side by side.
    boxes = [[(a, row), (b, row), (b, row + 1), (a, row + 1)] for a, b, row in zip(stays["from"], stays["to"], y)]
    axes.add_collection(PolyCollection(boxes, facecolors=RESIDENT, edgecolors="none", zorder=1))
    marks = point.rows("marks")
    first = np.array([arrays[name][2] - arrays[name][0] for name in marks["array"]], dtype=float)
    at = first + marks["address"] / line + 0.5 * point.config["element_bytes"] / line
    size = max(1.5, min(4, 20000 / max(1, len(at))))
    for order, (chosen, colour, label) in enumerate(((marks["fetched"] == 1, FETCHED, "fetched"),
                                                     (marks["store"] == 0, LOADED, "loaded"),
                                                     (marks["store"] == 1, STORED, "stored"))):
        axes.scatter(marks["time"][chosen], at[chosen], s=size * (7 if label == "fetched" else 1), color=colour,
                     marker="s", linewidths=0, zorder=2 + order, label=label)
    axes.plot([], [], color=RESIDENT, linewidth=6, label="resident")
    axes.set_xlim(0, marks["time"].max() + 1)
    return f"{int((marks['fetched'] == 1).sum())} fetches in {len(at)} accesses"


def draw_density(axes, point, arrays, height):
    """Cells of time by lines: dark where it is touched often, red as far as touches fetch."""
    table = point.rows("density")
    step, lines = int(table["time_step"][0]), int(table["line_step"][0])
    columns = int(table["time"].max()) // step + 1
    rows = -(-height // lines)
    touches, fetched = np.zeros((rows, columns)), np.zeros((rows, columns))
    y = (place(point, arrays, table["array"], table["line"]) / lines).astype(int)
    np.add.at(touches, (y, table["time"] // step), table["touches"])
    np.add.at(fetched, (y, table["time"] // step), table["fetched"])
    share = np.divide(fetched, touches, out=np.zeros_like(touches), where=touches > 0)
    shade = np.where(touches > 0, 0.25 + 0.75 * np.log1p(touches) / np.log1p(touches.max()), 0)
    blue, red = np.array([0.0, 0.447, 0.698]), np.array([0.835, 0.369, 0.0])
    share = share[..., None]
    colour = (1 - share) * blue + share * red
    axes.imshow(1 - shade[..., None] * (1 - colour), extent=(0, columns * step, height, 0), aspect="auto",
                interpolation="nearest")
    axes.plot([], [], color=blue, linewidth=6, label="touched, found in the cache")
    axes.plot([], [], color=red, linewidth=6, label="fetched at every touch")
    return f"{int(fetched.sum())} fetches in {int(touches.sum())} touches"


def draw_diagram(axes, point):
    arrays, height = array_rows(point)
    table = point.rows("arrays")
    axes.set_ylim(height, 0)
    exact = bool(table["exact"][0])
    counted = draw_accesses(axes, point, arrays) if exact else draw_density(axes, point, arrays, height)
    for name, (_, lines, row) in arrays.items():
        axes.axhline(row, color="#888888", linewidth=0.5)
        axes.axhline(row + lines, color="#888888", linewidth=0.5)
    axes.set_yticks([row + lines / 2 for _, lines, row in arrays.values()], list(arrays), fontsize=11)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time (accesses)")
    axes.set_ylabel("address, downwards; a line of the cache is a row")
    elements = point.config["line_bytes"] // point.config["element_bytes"]
    axes.set_title(f"{point.label}: cache of {int(table['cache_lines'][0])} lines of {elements}; {counted}", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.06), ncols=4, fontsize=9, frameon=False,
                markerscale=4 if exact else 1)


def draw(points, png):
    """Writes the curves to `png`, and the diagrams, one a picture, beside it. Returns the names."""
    names = []
    curves = [point for point in points if len(point.rows("curves").get("misses", ()))]
    if curves:
        figure, axes = plt.subplots(figsize=(11, 7), layout="constrained")
        draw_curves(axes, curves)
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(png, dpi=130)
        plt.close(figure)
        names.append(png)
    stem, kind = os.path.splitext(png)
    for number, point in enumerate([p for p in points if len(p.rows("arrays").get("array", ()))], 1):
        figure, axes = plt.subplots(figsize=(15, 10), layout="constrained")
        draw_diagram(axes, point)
        name = f"{stem}_diagram_{number}_{point.config['workload']}_{point.config['kernel']}{kind}"
        figure.savefig(name, dpi=130)
        plt.close(figure)
        names.append(name)
    return names
