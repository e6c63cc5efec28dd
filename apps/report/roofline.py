"""Roofline (Williams, Waterman and Patterson 2009) with ceilings measured by `tessera machine`."""
import math
import re

import numpy as np

import series as s
import textplot
from picture import Picture

BYTES = {"f32": 4, "f64": 8}
# additions per dimension of a box sum, by doubling: points share the partial sums
BOX_SUMS = {3: 2, 5: 3, 7: 4, 9: 4}
TERMS = {"coefficients": 5, "source": 2, "mask": 0}  # FLOP of each


def box_edge(stencil, given):
    """Returns the edge 3, 5, 7 or 9 of a square mean, by name or by equal weights; else 0."""
    named = re.fullmatch(r"box([3579])x\1", stencil)
    if named:
        return int(named[1])
    rows = [[float(word) for word in re.split(r"[ ,]+", row) if word]
            for row in given.split(";") if row.strip()] \
        if given and "/" not in given else []
    edge = len(rows) if len(rows) in (3, 5, 7, 9) and all(len(row) == len(rows)
                                                          for row in rows) else 0
    return edge if len({weight for row in rows for weight in row}) == 1 else 0


def weights_of(stencil, dims, given):
    """Returns the points that a step reads (given: the weights as text, or ""), not counting the
    previous time level; None if unknown."""
    if given:
        return len([w for w in re.split(r"[ ,;/]+", given) if w and float(w) != 0])
    box, star = re.fullmatch(r"box(\d+)x\1", stencil), re.fullmatch(r"star(\d+)", stencil)
    if box:
        return int(box[1]) ** 2
    if star:
        return 2 * dims * int(star[1]) + 1
    return {"heat": 2 * dims + 1, "laplace": 2 * dims, "advection": dims + 1,
            "wave": 2 * dims + 1}.get(stencil)


def of_an_update(point):
    """Returns (FLOP, numbers to and from memory) per point and step, common to all kernels; None if
    unknown."""
    c, options = point.config, point.options
    given = options.get("weights", "")
    if ":/" in given:  # a dataset, which may have moved
        return None
    count = weights_of(c["stencil"], len(s.dims_of(c["shape"])), given)
    if not count:
        return None
    two_levels = c["stencil"] == "wave" or float(options.get("previous") or 0) != 0
    edge = 0 if two_levels else box_edge(c["stencil"], given)
    flops = 2 * BOX_SUMS[edge] + 1 if edge else 2 * count - 1
    terms = [name for name in TERMS if options.get(name)]
    return flops + 2 * two_levels + sum(TERMS[name] for name in terms), 2 + two_levels + len(terms)


def flops_and_bytes(point, workload):
    """Returns the FLOP of a repetition, and its bytes if every operand travels once (stencil: once
    per step); or None."""
    c = point.config
    size = BYTES.get(c.get("type"))
    if workload == "matmul" and size:
        m, n, k = (float(c[d]) for d in "mnk")
        return (2 * m * n * k, size * (m * k + k * n + m * n)) if m * n * k > 0 else None
    if workload == "stencil" and size:
        found = of_an_update(point)
        return tuple(float(point.measured["work"]) * n
                     for n in (found[0], found[1] * size)) if found else None
    return None


def ceiling(machine, name, threads):
    """Returns the ceiling at a thread count as the program does: linear between measured counts,
    clamped beyond them."""
    rows = sorted((int(r["threads"]), float(r["value"])) for r in machine if r["name"] == name)
    return float(np.interp(threads, *zip(*rows))) if rows else None


def roofs(run, kind, cores, nodes):
    """Returns (GFLOP/s, GB/s) of the nodes on `cores` cores; None if not measured."""
    peak = ceiling(run.machine, f"fma_{kind}", cores / nodes)
    streams = [v for v in (ceiling(run.machine, n, cores / nodes) for n in ("copy", "triad")) if v]
    return (peak * nodes, max(streams) * nodes) if peak and streams else None


def draw(axes, groups, peak, stream, run):
    import style
    xs = [x for points in groups.values() for x, _ in points]
    ys = [y for points in groups.values() for _, y in points]
    ridge = peak / stream
    left, right = min(min(xs), ridge) / 8, max(max(xs), ridge) * 3
    span = np.geomspace(left, right, 200)
    axes.plot(span, np.minimum(peak, stream * span), color="#222222", linewidth=1.6)
    axes.annotate(f"{peak:.0f} GFLOP/s", (right, peak), xytext=(-2, 3), textcoords="offset points",
                  ha="right", fontsize=8)
    for index, (label, points) in enumerate(groups.items()):
        axes.plot(*zip(*points), label=label, **{**style.look(index), "linestyle": "none"})
    axes.set_xscale("log")
    axes.set_yscale("log")
    low = min(min(ys), stream * left)
    axes.set_ylim(low / 1.5, max(peak, max(ys)) * 2)
    axes.set_xlim(left, right)
    places = [left * (ridge / left) ** share for share in (0.5, 0.25, 0.75)]
    # away from the points
    at = max(places, key=lambda place: min(abs(math.log(x / place)) for x in xs))
    axes.annotate(f"{stream:.3g} GB/s", (at, stream * at), xytext=(5, -9),
                  textcoords="offset points", fontsize=8)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("arithmetic intensity (FLOP per byte)")
    axes.set_ylabel("performance (GFLOP/s)")
    axes.grid(True, which="major")
    style.legend_below(axes)


def counted(point, workload):
    """Returns (FLOP per byte, GFLOP/s); None if nothing was computed (empty fields, 0 steps)."""
    found = flops_and_bytes(point, workload)
    return (found[0] / found[1], found[0] / point.measured["median"] / 1e9) \
        if found and min(found) > 0 and point.measured["median"] > 0 else None


def pictures(run):
    """Yields a picture per element type, at the core count with most points."""
    for kind in ("f32", "f64"):
        mine = [p for p in run.points if p.config.get("type") == kind and counted(p, run.workload)]
        if not mine:
            continue
        numbers = [p.cores for p in mine]
        cores = max(set(numbers), key=lambda c: (numbers.count(c), c))
        mine = [p for p in mine if p.cores == cores]
        nodes = len(str(mine[0].run.attributes.get("hosts", "")).split(",")) if mine[0].run else 1
        tops = roofs(run, kind, cores, nodes)
        on_gpu = [p for p in mine if str(p.config.get("kernel", "")).startswith(("cuda", "cublas"))]
        mine = [p for p in mine if p not in on_gpu]
        if not tops or not mine:
            continue
        names = [n for n in s.varying(mine) if n in ("kernel", "algorithm", "stencil")]
        while names and s.count(mine, names) > s.MOST_KERNELS:
            names.pop()
        groups = {label: [counted(p, run.workload) for p in points]
                  for label, points in s.split(mine, names).items()}
        step = " in every step, so that kernels that keep several steps in cache exceed the " \
            "slanted roof. Sums over boxes count as they are done, by doubling" \
            if run.workload == "stencil" else ""
        plain = {label: tuple(np.array(points).T) for label, points in groups.items()}
        xs, ridge = [x for g in groups.values() for x, _ in g], tops[0] / tops[1]
        roof = np.geomspace(min(*xs, ridge) / 3, max(*xs, ridge) * 3, 64)
        plain["roof"] = (roof, np.minimum(tops[0], tops[1] * roof))
        yield Picture(
            f"roofline_{kind}", f"{run.workload}, roofline: {kind}, {cores} "
                                f"core{'s' if cores != 1 else ''}",
            f"Roofs measured by `tessera machine`. FLOP and bytes are counted, not measured: "
            f"every operand is moved once{step}.",
            lambda axes, g=groups, t=tops: draw(axes, g, *t, run),
            lambda d=plain: textplot.lines(d, "FLOP per byte", "GFLOP/s", log_y=True),
            3.3 + 0.17 * (1 + len(groups) // 2))
