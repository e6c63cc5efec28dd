"""GPUs on paper: the requests and bounds of their kernels, and the curves of occupancy."""
import h5py
import numpy as np

import locality
import results
import series
import textplot
from picture import Picture, said_bars, said_lines

MOST_BARS = 16
# The curves: label, column, and its unit.
CURVES = {"threads": ("threads per block", "threads", 1),
          "registers": ("registers per thread", "registers", 1),
          "shared memory": ("KiB of shared memory per block", "shared_bytes", 1024)}


class Kernel:
    """One kernel on one GPU on paper: its row, and the requests to its arrays."""

    def __init__(self, key, row, arrays, title, run):
        self.key, self.row, self.arrays, self.title, self.run = key, row, arrays, title, run
        self.workload, self.drawing = row["workload"], None
        choice = "" if row["choice"] in ("", "-") else f", {row['choice']}"
        self.label = f"{row['kernel']}{choice} on {row['device']}"

    def per_request(self, count, space, *kinds):
        """Returns the count per request of these kinds to a space, as text."""
        mine = [a for a in self.arrays if a["space"] == space and a["kind"] in kinds]
        asked = sum(a["requests"] for a in mine)
        return f"{sum(a[count] for a in mine) / asked:.2f}" if asked else "-"


class Drawing(locality.Traced):
    """The space-time diagram of a kernel on a GPU on paper."""

    def __init__(self, kernel, tables, attributes):
        arrays = tables["arrays"]
        line = arrays["line_bytes"][arrays["point"] == kernel.key][0]
        super().__init__(kernel.key, {"pad": 0, **kernel.row, "line_bytes": line}, tables,
                         attributes, kernel.run)


class Curves:
    """Occupancy of a block on a multiprocessor against each of its three quantities."""

    def __init__(self, rows, title, run):
        self.title, self.run = title, run
        self.lines, self.block = {}, {}
        for row in rows:
            xs, ys = self.lines.setdefault(row["curve"], ([], []))
            column, unit = CURVES[row["curve"]][1:]
            xs.append(row[column] / unit)
            ys.append(100 * row["occupancy"])
            self.block.update({curve: row[column] / unit for curve, (_, column, unit)
                               in CURVES.items() if curve != row["curve"]})
        self.key = self.label = (f"compute capability {rows[0]['compute_capability']}, "
                                 + ", ".join(f"{self.block[curve]:g} {label}" for curve, (label, *_)
                                             in CURVES.items()))

    def own(self, curve):
        """Returns (value, occupancy in percent) of the block itself, at or below a point."""
        xs, ys = self.lines[curve]
        at = max((n for n, x in enumerate(xs) if x <= self.block[curve]), default=0)
        return self.block[curve], ys[at]


def read(path):
    """Returns the kernels and curves of a file, the latest of each."""
    found = {}
    with h5py.File(path, "r") as file:
        for run, group in results.groups_of(file):
            title = group.attrs.get("option_title") or "locality"
            if "paper" in group:
                arrays = {}
                for row in results.rows_of(group["paper_arrays"]):
                    arrays.setdefault(row["point"], []).append(row)
                drawn = {name: results.columns(group[name])
                         for name in ("arrays", "marks", "stays", "density") if name in group}
                for row in results.rows_of(group["paper"]):
                    key = row["point"]
                    found[key] = Kernel(key, row, arrays.get(key, []), title, run)
                    if key in drawn.get("arrays", {}).get("point", ()):
                        found[key].drawing = Drawing(found[key], drawn, dict(group.attrs))
            if "occupancy" in group:
                rows = results.rows_of(group["occupancy"])
                if {row["curve"] for row in rows} == CURVES.keys():
                    one = Curves(rows, "occupancy", run)
                    found[one.key] = one
    return list(found.values())


def kernels(points):
    return [point for point in points if isinstance(point, Kernel)]


def tables(points):
    """Yields (heading, rows of texts): requests, and what follows from them."""
    mine = kernels(points)
    if not mine:
        return
    asked = [["point", "segments a load", "a store", "passes a load", "a store", "ways", "lanes"]]
    bounds = [["point", "blocks", "limited by", "in flight", "FLOP/B", "time at least, us",
               "bound by"]]
    for one in mine:
        row = one.row
        label = f"{one.workload} {one.label}"
        asked.append([label, one.per_request("segments", "global", "load"),
                      one.per_request("segments", "global", "store", "atomic"),
                      one.per_request("passes", "shared", "load"),
                      one.per_request("passes", "shared", "store", "atomic"),
                      f"{row['ways']:.2f}", f"{row['active_lanes']:.1f}"])
        share = row["flight"] / row["flight_needed"]
        bounds.append([label, str(row["blocks"]), row["limit"], f"{100 * share:.0f} %",
                       f"{row['intensity']:.2f}", f"{1e6 * row['least_seconds']:.3g}",
                       row["bound"]])
    yield "on paper: requests of a warp", asked
    yield "on paper: blocks, bytes in flight and bounds", bounds


def bars_of(points):
    return [(one.label, 1e6 * one.row["least_seconds"], float("nan"), float("nan"),
             one.row["bound"]) for one in points]


def draw_bounds(axes, points):
    import style
    bounds = list(dict.fromkeys(one.row["bound"] for one in points))
    for number, bound in enumerate(bounds):
        mine = [(y, one) for y, one in enumerate(points) if one.row["bound"] == bound]
        axes.barh([y for y, _ in mine], [1e6 * one.row["least_seconds"] for _, one in mine],
                  color=style.COLOURS[number % len(style.COLOURS)], height=0.62,
                  label=bound.replace(" memory", ""))
    axes.set_yticks(range(len(points)), [series.in_lines(one.label) for one in points])
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("time at least, us")
    axes.grid(True, axis="x", which="major")
    axes.set_axisbelow(True)
    style.legend_below(axes)


def rate_of(one):
    """Returns GFLOP/s within the bounds."""
    return one.row["operations"] / one.row["least_seconds"] / 1e9


def roof_of(one):
    """Returns GB/s of memory and GFLOP/s of arithmetic of the GPU, for the types of the kernel. The
    bound of memory contains what the bytes in flight leave of the bandwidth; kernels that load
    nothing have none and the whole bandwidth."""
    row = one.row
    sustained = min(1, row["flight"] / row["flight_needed"]) if row["flight"] > 0 else 1
    return (row["memory_bytes"] / row["bound_memory"] / sustained / 1e9,
            row["operations"] / row["bound_compute"] / 1e9)


def roofed(points):
    """Returns {roof: kernels below it} of those with operations that are bound by a roof."""
    found = {}
    for one in points:
        row = one.row
        if min(row["operations"], row["bound_memory"], row["bound_compute"], row["intensity"]) > 0:
            bandwidth, peak = roof_of(one)
            name = f"{row['device']}: {bandwidth:.0f} GB/s, {peak:.0f} GFLOP/s"
            found.setdefault(name, []).append(one)
    return found


def draw_roofs(axes, found):
    import style
    every = [one for mine in found.values() for one in mine]
    ridges = [peak / bandwidth for bandwidth, peak in map(roof_of, every)]
    xs = [one.row["intensity"] for one in every] + ridges
    low, high = min(xs) / 4, max(xs) * 4
    for number, (name, mine) in enumerate(found.items()):
        bandwidth, peak = roof_of(mine[0])
        at, colour = np.array([low, peak / bandwidth, high]), style.COLOURS[number
                                                                            % len(style.COLOURS)]
        axes.plot(at, np.minimum(peak, at * bandwidth), color=colour, label=name)
        for index, one in enumerate(mine):
            axes.plot(one.row["intensity"], rate_of(one), color=colour,
                      marker=style.MARKERS[index % len(style.MARKERS)], linestyle="",
                      label=one.label)
    style.log_axis(axes.xaxis, low, high, base=2)
    style.log_axis(axes.yaxis, min(map(rate_of, every)) / 2, max(map(max, map(roof_of, every))) * 2)
    axes.set_xlabel("FLOP per byte of memory")
    axes.set_ylabel("GFLOP/s at most")
    axes.grid(True, which="major")
    style.legend_below(axes)


def roof_pictures(workload, points, number):
    """Yields the roofline of the kernels that compute, if there are some."""
    found = roofed(points)
    if not found:
        return
    rows = [(one.label, rate_of(one), float("nan"), float("nan"), f"{one.row['bound']} bound")
            for mine in found.values() for one in mine]
    yield Picture(f"paper_roof_{workload}_{number}", f"{workload} on paper, roofline",
                  "Lines: what memory and arithmetic allow. Below them, kernels within the longest "
                  "of their bounds.",
                  lambda axes: draw_roofs(axes, found), lambda: textplot.bars(rows, "GFLOP/s"),
                  3.3 + series.legend_height([*found, *(row[0] for row in rows)]),
                  alt=said_bars(rows, "GFLOP/s"))


def draw_curve(axes, one, curve):
    import style
    axes.step(*one.lines[curve], where="post", color=style.COLOURS[0])
    axes.plot(*([value] for value in one.own(curve)), color=style.COLOURS[1], marker="o",
              linestyle="", label="the block")
    axes.set_xlabel(CURVES[curve][0])
    axes.set_ylabel("occupancy, %")
    axes.set_ylim(0, 105)
    axes.grid(True)
    style.legend_below(axes)


def text_of(one, curve):
    mark = {"the block": tuple([value] for value in one.own(curve))}
    return textplot.lines({"occupancy": one.lines[curve], **mark}, CURVES[curve][0],
                          "occupancy in %", log_x=False, height=10)


def pictures(points):
    """Yields bars of the bounds and the roofline by workload, and the three curves of each block.
    """
    by_workload = {}
    for one in kernels(points):
        by_workload.setdefault(one.workload, []).append(one)
    for workload, mine in by_workload.items():
        for start in range(0, len(mine), MOST_BARS):
            part, number = mine[start:start + MOST_BARS], start // MOST_BARS + 1
            yield Picture(f"paper_{workload}_{number}",
                          f"{workload} on paper, bounds of the time",
                          "The longest of the times that memory (or its latency, where too few "
                          "bytes are in flight), L2, shared memory and arithmetic take at least.",
                          lambda axes, p=part: draw_bounds(axes, p),
                          lambda p=part: textplot.bars(bars_of(p), "us"),
                          1.4 + series.height_of([one.label for one in part], 0.3),
                          alt=said_bars(bars_of(part), "us"))
            yield from roof_pictures(workload, part, number)
    for one in points:
        for curve in CURVES if isinstance(one, Curves) else ():
            label = CURVES[curve][0]
            yield Picture(f"occupancy_{curve.split()[0]}", f"occupancy by {label}",
                          "Resident warps of a multiprocessor over the most possible; "
                          f"{one.label}.",
                          lambda axes, p=one, c=curve: draw_curve(axes, p, c),
                          lambda p=one, c=curve: text_of(p, c), 2.8,
                          alt=said_lines({"occupancy": one.lines[curve]}, label, "%"))
    yield from locality.diagrams((one.drawing for one in kernels(points) if one.drawing), "steps",
                                 "segment")
