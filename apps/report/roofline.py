"""Roofline (Williams, Waterman and Patterson 2009) with ceilings measured by `tessera machine`: of
memory and of every level of the cache. The bytes of a point are counted, each operand once; those
of traced kernels are in hierarchy.py."""
import re

import numpy as np

import series as s
import textplot
from picture import Picture, said_lines

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


MEMORY = "memory"
LEVELS = ("L1", "L2", "L3", MEMORY)
MOST_LINES = 8      # of a legend with a column for each kind
MOST_LETTERS = 48  # of its lines, of all columns
LINES = {"L1": ":", "L2": "-.", "L3": "--", MEMORY: "-"}


def roofs(run, kind, cores, nodes):
    """Returns (GFLOP/s, {level: GB/s}) of the nodes on `cores` cores, the levels that were measured
    from the smallest; None without peak or memory."""
    peak = ceiling(run.machine, f"fma_{kind}", cores / nodes)
    found = {level: ceiling(run.machine, f"read_{level.lower()}", cores / nodes)
             for level in LEVELS[:-1]}
    streams = [v for v in (ceiling(run.machine, n, cores / nodes) for n in ("copy", "triad")) if v]
    if not peak or not streams:
        return None
    found[MEMORY] = max(streams)
    return peak * nodes, {level: rate * nodes for level, rate in found.items() if rate}


def draw_roofs(axes, tops, xs, ys, colours):
    """Draws the roofs around the points, and the axes; colours: of the levels."""
    import style
    peak, bandwidths = tops
    ridges = [peak / bandwidth for bandwidth in bandwidths.values()]
    left, right = min(*xs, *ridges) / 4, max(*xs, *ridges) * 4
    span = np.geomspace(left, right, 200)
    for level, bandwidth in bandwidths.items():
        axes.plot(span, np.minimum(peak, bandwidth * span), color=colours[level], linewidth=1.4,
                  linestyle=LINES[level], label=f"{level} {bandwidth:.3g} GB/s", zorder=1)
    axes.annotate(f"{peak:.0f} GFLOP/s", (right, peak), xytext=(-2, 3), textcoords="offset points",
                  ha="right", fontsize=8)
    low = max(min(ys) / 4, 1e-4 * min(peak, min(ys)))
    style.log_axis(axes.xaxis, left, right)
    style.log_axis(axes.yaxis, low, 2.5 * max(peak, *ys))
    axes.set_xlabel("arithmetic intensity (FLOP per byte)")
    axes.set_ylabel("performance (GFLOP/s)")
    axes.grid(True, which="major")


MARKER = 7.0             # points, with a gap
PLOT = (245.0, 180.0)    # points, about


def side_by_side(points, spans):
    """Returns how far each point (x, y) is moved to the right, in points, so that no marker covers
    another; spans: the ends of both logarithmic axes."""
    places = [[length * (np.log(v) - np.log(low)) / (np.log(high) - np.log(low))
               for v, (low, high), length in zip(point, spans, PLOT)] for point in points]
    moved, taken = [0.0] * len(points), []
    for i in sorted(range(len(points)), key=lambda i: places[i]):
        x, y = places[i]
        steps = (MARKER * step * sign for step in range(len(points)) for sign in (1, -1))
        moved[i] = next(dx for dx in steps
                        if all(abs(x + dx - other[0]) > MARKER - 0.01
                               or abs(y - other[1]) > MARKER - 0.01 for other in taken))
        taken.append((x + moved[i], y))
    return moved


def draw(axes, groups, sizes, tops):
    """Draws groups, {label: [(intensity, performance, size)]}: a colour each, a marker for each of
    the sizes where there are several."""
    import style
    points = [point for mine in groups.values() for point in mine]
    draw_roofs(axes, tops, [x for x, _, _ in points], [y for _, y, _ in points],
               dict.fromkeys(LEVELS, style.QUIET))
    parts = legend_of(tops, groups, sizes)
    fill(axes, parts, tops[1])
    moved = iter(side_by_side([point[:2] for point in points],
                              (axes.get_xlim(), axes.get_ylim())))
    for index, (label, mine) in enumerate(groups.items()):
        how = style.look(index)
        for x, y, size in mine:
            marked = style.look(sizes.index(size))["marker"] if len(sizes) > 1 else how["marker"]
            full = sizes.index(size) < len(style.MARKERS)
            axes.plot(x, y, color=how["color"], marker=marked, linestyle="none", markersize=6,
                      markerfacecolor=how["color"] if full else "white", zorder=3,
                      markeredgecolor="white" if full else how["color"], markeredgewidth=0.6,
                      transform=axes.transData + style.to_the_right(axes, next(moved)))
        axes.plot([], [], color=how["color"], marker="s" if len(sizes) > 1 else how["marker"],
                  linestyle="none", label=label)
    fill(axes, parts, groups)
    for index, size in enumerate(sizes if len(sizes) > 1 else ()):
        axes.plot([], [], color=style.INK, marker=style.look(index)["marker"], linestyle="none",
                  markerfacecolor=style.INK if index < len(style.MARKERS) else "white", label=size)
    if len(sizes) > 1:
        fill(axes, parts, sizes)
    style.legend_below(axes, columns=len(parts))


def legend_of(tops, groups, sizes):
    """Returns the columns of the legend: roofs, kernels, and sizes if there are several. Empty if
    they do not fit side by side."""
    parts = [[f"{level} 99.9 GB/s" for level in tops[1]], list(groups)]
    parts += [sizes] if len(sizes) > 1 else []
    widths = [max(map(len, part)) for part in parts]
    return parts if max(map(len, parts)) <= MOST_LINES and sum(widths) <= MOST_LETTERS else []


def legend_height(tops, groups, sizes):
    parts = legend_of(tops, groups, sizes)
    return 0.17 * max(map(len, parts)) if parts else s.legend_height(
        [*("memory 99.9 GB/s" for _ in tops[1]), *groups, *(sizes if len(sizes) > 1 else ())])


def fill(axes, parts, drawn):
    """Fills the legend's column below the entries drawn last."""
    for _ in range(max(map(len, parts), default=0) - len(drawn)):
        axes.plot([], [], linestyle="none", label=" ")


def on_gpu(point):
    return str(point.config.get("kernel", "")).startswith(("cuda", "cublas"))


def counted(point, workload):
    """Returns (FLOP per byte, GFLOP/s), on a GPU of its kernels where they were timed; None if
    nothing was computed (empty fields, 0 steps)."""
    found = flops_and_bytes(point, workload)
    seconds = (on_gpu(point) and point.measured["kernels"]) or point.measured["median"]
    return (found[0] / found[1], found[0] / seconds / 1e9) \
        if found and min(found) > 0 and seconds > 0 else None


def gpu_roofs(run, kind):
    """Returns (GFLOP/s, {memory: GB/s}) of a GPU; None without peak or memory."""
    peaks, streams = ([float(row["value"]) for row in run.machine if row["name"] in names]
                      for names in ((f"gpu_fma_{kind}", f"gpu_mma_{kind}"),
                                    ("gpu_copy", "gpu_read")))
    return (max(peaks), {MEMORY: max(streams)}) if peaks and streams else None


def of_one_gpu(run, kind):
    """Returns the points of an element type on one GPU."""
    return [p for p in run.points if p.config.get("type") == kind and on_gpu(p)
            and int(p.config.get("ranks", 1)) == 1 and counted(p, run.workload)]


def of_one_machine(run, kind):
    """Returns the points of an element type at the core count with most of them, the count and the
    number of nodes; none on GPUs."""
    mine = [p for p in run.points if p.config.get("type") == kind and counted(p, run.workload)
            and not on_gpu(p)]
    if not mine:
        return [], 0, 1
    numbers = [p.cores for p in mine]
    cores = max(set(numbers), key=lambda c: (numbers.count(c), c))
    mine = [p for p in mine if p.cores == cores]
    return mine, cores, len(str(mine[0].run.attributes.get("hosts", "")).split(",")) \
        if mine[0].run else 1


def pictures(run):
    """Yields a picture per element type, at the core count with most points, and one of a GPU."""
    for kind in BYTES:
        mine, cores, nodes = of_one_machine(run, kind)
        tops = roofs(run, kind, cores, nodes) if mine else None
        if tops:
            yield picture_of(run, mine, (kind, *tops), [kind, s.word("cores", cores)])
        mine, tops = of_one_gpu(run, kind), gpu_roofs(run, kind)
        if mine and tops:
            yield picture_of(run, mine, (f"gpu_{kind}", *tops), [kind, "on a GPU"])


def picture_of(run, mine, machine, where):
    names = [n for n in s.varying(mine) if n not in (*s.SIZES, *s.MACHINE)]
    names.sort(key=lambda n: n not in ("kernel", "algorithm", "stencil"))
    while names and (s.count(mine, names) > s.MOST_KERNELS
                     or max(len(s.label_of(p, names)) for p in mine) > s.LONGEST):
        names.pop()
    sizes = list(dict.fromkeys(s.size_words([p]) for p in mine))
    sizes = s.spread(sizes, 2 * s.MOST_SERIES)
    groups = {label: [(*counted(p, run.workload), s.size_words([p])) for p in points
                      if s.size_words([p]) in sizes]
              for label, points in s.split(mine, names or ["kernel"]).items()}
    title = s.titled(f"{run.workload}, roofline", s.size_words(mine), *where)
    return one_picture(run, title, groups, sizes, machine)


def one_picture(run, title, groups, sizes, machine):
    kind, *tops = machine
    step = " in every step, so that kernels that keep several steps in cache exceed the " \
        "roof of the memory. Sums over boxes count as they are done, by doubling" \
        if run.workload == "stencil" else ""
    roofs_of = "On a GPU the time is that of its kernels, without transfers from and to the host" \
        if kind.startswith("gpu_") else \
        "The roofs of the caches bound kernels whose operands they hold"
    plain = {label: (np.array([x for x, _, _ in points]), np.array([y for _, y, _ in points]))
             for label, points in groups.items() if points}
    xs, ridge = [x for found, _ in plain.values() for x in found], tops[0] / tops[1][MEMORY]
    roof = np.geomspace(min(*xs, ridge) / 3, max(*xs, ridge) * 3, 64)
    drawn = {**plain, "roof": (roof, np.minimum(tops[0], tops[1][MEMORY] * roof))}
    return Picture(
        f"roofline_{kind}", title,
        f"Roofs measured by `tessera machine`. FLOP and bytes are counted, not measured: "
        f"every operand is moved once{step}. {roofs_of}. Points that would cover each other stand "
        f"side by side.",
        lambda axes: draw(axes, groups, sizes, tops),
        lambda: textplot.lines(drawn, "FLOP per byte", "GFLOP/s", log_y=True),
        3.4 + legend_height(tops, groups, sizes),
        alt=said_lines(plain, "FLOP per byte", "GFLOP/s"))
