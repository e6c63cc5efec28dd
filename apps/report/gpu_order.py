"""Cache traffic due to a GPU's thread order: sectors, hits and the formula's prediction for
simulated cuda_ kernels."""
import h5py
import numpy as np

import heatmap
import locality
import results
import series
import textplot
from picture import Picture, said_bars

MOST_BARS = 12
AXES = "column_width", "block"  # of the heat maps


class Ordered:
    """Simulated point: the rows of its arrays by name, their total under "all"."""

    def __init__(self, key, rows, title, run):
        self.key, self.rows, self.title, self.run = key, {row["array"]: row
                                                          for row in rows}, title, run
        asked = results.options_of(key)
        # older files lack these columns
        first = {"k": asked.get("k", rows[0]["n"]), **rows[0]}
        first.update({name: asked.get(name, "") for name in ("stencil", "tile")
                      if name not in first})
        self.workload = first["workload"]
        self.label = f"{locality.label_of(first)}, blocks of {first['block']}"

    @property
    def misses(self):
        """Returns {level: misses of all arrays}."""
        whole = self.rows["all"]
        return {1: whole["fetches"], 2: round(whole["fetches"] * (1 - whole["l2_hit_rate"]))}


def read(path):
    """Returns the simulated points of a file, the latest simulation of each."""
    found = {}
    with h5py.File(path, "r") as file:
        for run, group in results.groups_of(file):
            if "gpu" not in group:
                continue
            rows = {}
            for row in results.rows_of(group["gpu"]):
                rows.setdefault(row["point"], []).append(row)
            for key, mine in rows.items():
                found[key] = Ordered(key, mine, group.attrs.get("option_title") or "locality", run)
    return list(found.values())


def percent(share):
    return f"{100 * share:.1f} %"


def table(points):
    """Returns one row of texts per array."""
    lines = [["point", "array", "requested sectors", "L1 hits", "fetched from L2", "L2 hits",
              "formula"]]
    for point in points:
        for array, row in point.rows.items():
            lines.append([point.label, array, str(row["requests"]), percent(row["l1_hit_rate"]),
                          str(row["fetches"]),
                          percent(row["l2_hit_rate"]), f"{row['predicted_fetches']:.0f}"
                          if row["predicted_fetches"] > 0 else "-"])
    return lines


def short(point):
    """Returns the label of a bar; the workload is in the title."""
    return point.label.removeprefix(point.workload + " ")


def draw(axes, points):
    import style
    where = np.arange(len(points))
    whole = [point.rows["all"] for point in points]
    axes.barh(where, [row["fetches"] for row in whole], color=style.COLOURS[0], height=0.62,
              label="fetched from L2")
    known = [(y, row["predicted_fetches"]) for y, row in zip(where, whole)
             if row["predicted_fetches"] > 0]
    if known:
        axes.plot([x for _, x in known], [y for y, _ in known], color=style.COLOURS[1], marker="D",
                  linestyle="", label="formula")
        style.legend_below(axes)
    for y, row in zip(where, whole):
        axes.annotate(f"L1 hits {percent(row['l1_hit_rate'])}", (1.02, y),
                      xycoords=("axes fraction", "data"), va="center",
                      fontsize=8)
    axes.set_yticks(where, [series.in_lines(short(point)) for point in points])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.locator_params(axis="x", nbins=4)
    style.plain_axis(axes.xaxis)
    axes.set_xlabel("sectors of 32 bytes")
    axes.grid(True, axis="x", which="major")
    axes.set_axisbelow(True)


def bars_of(points):
    return [(short(p), p.rows["all"]["fetches"], np.nan, np.nan,
             f"L1 hits {percent(p.rows['all']['l1_hit_rate'])}") for p in points]


def crossed(points):
    """Returns the points that agree but for column width and block, where both of them vary."""
    alike = {}
    for point in points:
        options = results.options_of(point.key)
        rest = tuple(sorted((name, value) for name, value in options.items()
                            if name not in ("column-width", "block")))
        alike.setdefault(rest, []).append(point)
    return [mine for mine in alike.values()
            if all(len({point.rows["all"][name] for point in mine}) > 1 for name in AXES)]


def map_of(points):
    """Returns the texts of the column widths and of the blocks, and L1 hits in percent."""
    widths, blocks = (sorted({int(point.rows["all"][name]) for point in points}) for name in AXES)
    hits = np.full((len(widths), len(blocks)), np.nan)
    for point in points:
        row = point.rows["all"]
        hits[widths.index(row["column_width"]), blocks.index(row["block"])] = \
            100 * row["l1_hit_rate"]
    return list(map(str, widths)), list(map(str, blocks)), hits


def maps(points):
    """Yields heat maps of L1 hits by column width and block."""
    labels = "column width", "threads per block"
    for number, mine in enumerate(crossed(points), 1):
        rows, columns, hits = map_of(mine)
        first = mine[0].rows["all"]
        yield Picture(f"gpu_map_{number}",
                      f"{mine[0].workload} {first['kernel']}, L1 hits by column width and block: "
                      + locality.size_of({"k": first["n"], **first}),
                      "Simulated loads in the order of a GPU's threads; brighter is more.",
                      lambda axes, r=rows, c=columns, v=hits: heatmap.draw(axes, r, c, v, labels,
                                                                           "L1 hits (%)"),
                      lambda r=rows, c=columns, v=hits: textplot.heat(r, c, v, *labels, "%"),
                      1.5 + 0.3 * max(4, len(rows)),
                      alt=f"L1 hits from {np.nanmin(hits):.1f} to {np.nanmax(hits):.1f} %")


def pictures(points):
    """Yields heat maps of two swept options, and bar charts of up to twelve bars."""
    yield from maps(points)
    for workload, mine in locality.by_workload(points).items():
        for start in range(0, len(mine), MOST_BARS):
            part, number = mine[start:start + MOST_BARS], start // MOST_BARS + 1
            which = f" Picture {number} of {-(-len(mine) // MOST_BARS)}." if len(
                mine) > MOST_BARS else ""
            yield Picture(f"gpu_{workload}_{number}",
                          f"{workload}, fetches in the order of GPU threads",
                          "Simulated loads of the kernel's threads: sectors that miss L1 and are "
                          "fetched from L2, and the hit rate of L1."
                          + which, lambda axes, p=part: draw(axes, p),
                          lambda p=part: textplot.bars(bars_of(p), "sectors"),
                          1.4 + series.height_of([short(point) for point in part], 0.3),
                          alt=said_bars(bars_of(part), "sectors"))
