"""Section of a page that compares two results files: the ratio of every point's medians with its
interval, and the verdicts of compare.py."""
import math

import compare
import pick
import series as s
import tables
import textplot
from picture import Picture, said_bars

MOST_ROWS, MOST_PICTURES = 24, 4
COLOURS = {"SAME": "#0072B2", "FASTER": "#009E73", "SLOWER": "#D55E00", "AMBIGUOUS": "#7A7A7A",
           "WRONG": "#CC79A7"}


class Comparison:
    """Two files, or runs of them, point by point."""
    title = "comparison"
    study = None

    def __init__(self, words, tolerance):
        self.words, self.tolerance = words, tolerance
        before, after = ([*pick.runs(word, needed=False)] for word in words)
        self.runs = before + after
        self.found, self.gone, self.fresh = compare.judged(before, after, tolerance)
        self.traced = compare.compare_traced(*(compare.traced_of(word) for word in words))

    def pictures(self):
        """Yields (picture, workload), at most MOST_ROWS points a picture."""
        for workload, (size, rows) in self.rows().items():
            for number in range(0, min(len(rows), MOST_ROWS * MOST_PICTURES), MOST_ROWS):
                part = rows[number:number + MOST_ROWS]
                yield Picture(
                    f"ratios_{number // MOST_ROWS + 1}",
                    s.titled(f"{workload}, time after / before", size), self.caption(),
                    lambda axes, r=part: draw(axes, r, self.tolerance),
                    lambda r=part: textplot.bars(r, "x"),
                    1.6 + s.height_of([row[0] for row in part], 0.26),
                    alt=said_bars(part, "x")), workload

    def caption(self):
        names = " and ".join(self.words)
        return (f"{names}; medians with the interval of their ratio. Between the dotted lines "
                f"times are the SAME, at a tolerance of {100 * self.tolerance:g} %.")

    def rows(self):
        """Returns {workload: (common size, [(label, ratio, low, high, verdict)])} of the known
        ratios."""
        out = {}
        for one in self.found:
            if one.ratio == one.ratio:
                out.setdefault(one.before.key.split(" ")[0], []).append(one)
        for workload, mine in out.items():
            points = compare.results.disambiguate([one.before for one in mine])
            names = s.varying(points) or ["kernel"]
            out[workload] = (s.size_words(points),
                             [(s.label_of(point, names), one.ratio, one.low, one.high, one.verdict)
                              for one, point in zip(mine, points)])
        return out

    def tables(self, _=()):
        """Yields (heading, rows of texts)."""
        for workload, rows in compare.tables_of(self.found).items():
            yield f"{workload}: before and after", rows
        if self.traced:
            yield "traced points", [["point", "verdict"],
                                    *([label, f"{v} ({why})"] for label, v, why in self.traced)]
        alone = [["before", point.key] for point in self.gone]
        alone += [["after", point.key] for point in self.fresh]
        if alone:
            yield "points of one side only", [["side", "point"], *alone]
        if differ := compare.mismatches(*(pick.runs(word, needed=False) for word in self.words)):
            yield "the machines differ: times may differ for this reason alone", [
                ["what", "before", "after"], *(list(row) for row in differ)]


def draw(axes, rows, tolerance):
    import style
    for y, (_, ratio, low, high, verdict) in enumerate(rows):
        known = math.isfinite(low)
        axes.errorbar([ratio], [y], xerr=[[ratio - low], [high - ratio]] if known else None,
                      color=COLOURS[verdict], marker="o", linestyle="none")
        axes.annotate(f"{ratio:.3f} {verdict}", (1.02, y), va="center", fontsize=8,
                      xycoords=("axes fraction", "data"))
    ends = [v for row in rows for v in row[1:4] if math.isfinite(v)]
    ends += [1 / (1 + tolerance), 1 + tolerance, 0.9, 1.1]
    room = (max(ends) / min(ends)) ** 0.04
    style.log_axis(axes.xaxis, min(ends) / room, max(ends) * room)
    axes.axvline(1, color=style.QUIET, linewidth=0.8)
    for border in (1 / (1 + tolerance), 1 + tolerance):
        axes.axvline(border, color=style.QUIET, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(rows)), [s.in_lines(row[0]) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("time after / before (logarithmic; below 1: faster)")
    axes.grid(True, axis="x", which="major")
    axes.set_axisbelow(True)


def head(one):
    """Returns the verdicts in a sentence."""
    verdicts = [each.verdict for each in one.found] + [verdict for _, verdict, _ in one.traced]
    counts = [f"{verdicts.count(v)} {v}" for v in compare.VERDICTS if v in verdicts]
    return f"{tables.number(len(verdicts))} points compared: {', '.join(counts)}"
