"""compare.py [--tolerance X] [--text] BEFORE.h5[#run] AFTER.h5[#run]: is the second as fast as the
first?

Every point gets a verdict from the 95 % confidence intervals of the two medians, which are order
statistics (David and Nagaraja
2003, 7.1); of five repetitions their range, which covers the median with 94 %. They give one
interval of the ratio after / before on a logarithmic scale by the method
of variance estimates recovery
(Zou and Donner 2008): the distances of the two limits from their medians are added in squares. The
whole interval within
1 / (1 + tolerance) .. 1 + tolerance: SAME, an equivalence test (Schuirmann 1987); wholly below:
FASTER; wholly above: SLOWER; across
a border, or fewer than five repetitions on a side: AMBIGUOUS. A result that is no longer right:
WRONG. Traced points are exact: SAME,
FASTER or SLOWER as their misses are at every cache size as many, nowhere more, or nowhere fewer.

Exit code 0: nothing slower; 1: something SLOWER or WRONG; 2: nothing of that, but something
AMBIGUOUS.
"""
import argparse
import collections
import dataclasses
import math
import sys

import answer
import gpu_order
import locality
import pick
import results
import series
import tables
import textplot

FEWEST = 5  # with fewer, the range of the samples covers the median with less than 93 %
MACHINE = ("processor", "hosts", "instruction_set", "build_type", "compiler", "mpi_library")
VERDICTS = ("SAME", "FASTER", "SLOWER", "AMBIGUOUS", "WRONG")


@dataclasses.dataclass
class Compared:
    before: object
    after: object
    ratio: float
    low: float
    high: float
    verdict: str
    reason: str = ""


def ratio_interval(before, after):
    """Returns (ratio, low, high) of two medians; each argument is (median, low, high)."""
    (a, a_low, a_high), (b, b_low, b_high) = ([math.log(v) for v in side]
                                              for side in (before, after))
    ratio = b - a
    low = ratio - math.hypot(b - b_low, a_high - a)
    high = ratio + math.hypot(b_high - b, a - a_low)
    return math.exp(ratio), math.exp(low), math.exp(high)


def judge(low, high, tolerance):
    border = 1 + tolerance
    if high < 1 / border:
        return "FASTER"
    if low > border:
        return "SLOWER"
    return "SAME" if 1 / border <= low and high <= border else "AMBIGUOUS"


def compare_points(before, after, tolerance):
    sides = [tuple(float(p.measured[n]) for n in ("median", "ci_low", "ci_high"))
             for p in (before, after)]
    if before.measured["verified"] != 0 and after.measured["verified"] == 0:
        return Compared(before, after, sides[1][0] / sides[0][0] if sides[0][0] > 0 else math.nan,
                        math.nan, math.nan, "WRONG",
                        "check failed")
    if min(min(side) for side in sides) <= 0:
        return Compared(before, after, math.nan, math.nan, math.nan, "AMBIGUOUS",
                        "too short for the clock")
    ratio, low, high = ratio_interval(*sides)
    fewest = min(int(p.measured["repetitions"]) for p in (before, after))
    if fewest < FEWEST:
        return Compared(before, after, ratio, low, high, "AMBIGUOUS",
                        f"{fewest} of {FEWEST} required repetitions")
    verdict = judge(low, high, tolerance)
    few = "more repetitions are needed" if verdict == "AMBIGUOUS" and low <= 1 <= high else ""
    return Compared(before, after, ratio, low, high, verdict, few)


def matched(before, after):
    """Returns pairs of the same point, and the points of one side only. Ignores options that only
    one side's version has."""
    def names(points):
        return {(p.key.split(" ")[0], name) for p in points for name in p.options}
    both = names(before) & names(after)

    def identity(point):
        workload = point.key.split(" ")[0]
        return workload, tuple(sorted((n, v) for n, v in point.options.items()
                                      if (workload, n) in both))
    left, right = ({identity(p): p for p in points} for points in (before, after))
    return ([(left[key], right[key]) for key in left if key in right],
            [p for key, p in left.items() if key not in right],
            [p for key, p in right.items() if key not in left])


def latest(runs):
    """Returns the points of these runs, the latest measurement of each."""
    known = {}
    for run in runs:
        known.update({point.key: point for point in run.points})
    return list(known.values())


def mismatches(before, after):
    """Returns the differences between the machines as (name, before, after)."""
    out = []
    for name in MACHINE:
        sides = [", ".join(dict.fromkeys(str(r.attributes.get(name, "")) for r in runs))
                 for runs in (before, after)]
        if sides[0] != sides[1]:
            out.append((name, *sides))
    return out


def describe(point, names):
    return point.key.split(" ")[0] + ": " + (series.label_of(point, names) if names
                                             else point.key.split(" ", 1)[-1])


def tables_of(found):
    """Returns {workload: rows of texts, a point each}."""
    by_workload, out = {}, {}
    for one in found:
        by_workload.setdefault(one.before.key.split(" ")[0], []).append(one)
    for workload, mine in by_workload.items():
        points = results.disambiguate([one.before for one in mine])
        shown = [n for n in tables.varying(points, always=("kernel", "ranks", "threads"))
                 if n not in series.FOUND]
        usual = min(tables.usual_coverage([getattr(one, side) for one in mine])
                    for side in ("before", "after"))
        out[workload] = [shown + ["before", "after", "after / before", f"{usual} % interval",
                                  "verdict"]]
        for one, point in zip(mine, points):
            known = one.low == one.low
            out[workload].append(
                [tables.number(point.config[n]) for n in shown]
                + [tables.seconds(one.before.measured["median"]),
                   tables.seconds(one.after.measured["median"]),
                   f"{one.ratio:.3f}" if one.ratio == one.ratio else "-",
                   f"{one.low:.3f} .. {one.high:.3f}" if known else "-", said(one)])
    return out


def said(one):
    return one.verdict + (f" ({one.reason})" if one.reason else "")


def print_plot(found):
    rows = [(
        describe(one.before, [n for n in one.before.config
                              if n in ('kernel', 'algorithm', 'n', 'shape', 'ranks')]),
        one.ratio, one.low, one.high, one.verdict) for one in found if one.ratio == one.ratio]
    if rows:
        print("after / before\n" + textplot.bars(rows, "x"))


def traced_of(word):
    """Returns {key: traced point} of "file.h5" or "file.h5#run"."""
    path, name = pick.split_run(word)
    mine = [p for points in pick.read(path, locality.read, gpu_order.read)
            for p in points if name in ("", p.run)]
    return {p.key: p for p in locality.disambiguate(mine)}


def compare_traced(before, after):
    """Returns [(label, verdict, why)] of the points traced in both."""
    out = []
    for key in [key for key in before if key in after]:
        a, b = before[key].misses, after[key].misses
        more = any(b[size] > a[size] for size in a if size in b)
        fewer = any(b[size] < a[size] for size in a if size in b)
        if a.keys() != b.keys() or (more and fewer):
            why = "traced at other cache sizes" if a.keys() != b.keys(
            ) else "fewer misses in some caches, more in others"
            out.append((before[key].label, "AMBIGUOUS", why))
        else:
            out.append((before[key].label, *(("SLOWER", "more misses") if more
                                             else ("FASTER", "fewer misses") if fewer
                                             else ("SAME", "the same misses in every cache"))))
    return out


def finite(value):
    return value if math.isfinite(value) else None


def answer_comparison(found, counts, **more):
    """Adds a comparison to the answer: the points with ratios of medians, and the verdicts."""
    answer.put("comparison", {
        "points": [{"point": one.before.key,
                    "before": finite(float(one.before.measured["median"])),
                    "after": finite(float(one.after.measured["median"])),
                    "ratio": finite(one.ratio),
                    "interval": [finite(one.low), finite(one.high)],
                    "verdict": one.verdict, "reason": one.reason} for one in found],
        "verdicts": {verdict: counts[verdict] for verdict in VERDICTS}, **more})


def exit_code(counts):
    return 1 if counts["SLOWER"] + counts["WRONG"] else 2 if counts["AMBIGUOUS"] else 0


def compare_traced_files(words):
    """Prints the verdicts of the traced points and returns {verdict: count}."""
    found = compare_traced(*(traced_of(word) for word in words))
    if found:
        rows = [['point', 'verdict'], *([label, f'{v} ({why})'] for label, v, why in found)]
        print(f"traced\n{tables.fitted(rows)}")
        answer.put("traced", [{"point": label, "verdict": verdict, "reason": why}
                              for label, verdict, why in found])
    return collections.Counter(verdict for _, verdict, _ in found)


def judged(before, after, tolerance):
    """Returns the compared points of two lists of runs, and those of one side only."""
    pairs, gone, fresh = matched(latest(before), latest(after))
    return [compare_points(a, b, tolerance) for a, b in pairs], gone, fresh


def compare(before, after, tolerance, plot=False):
    """Prints the comparison of two lists of runs and returns {verdict: count}."""
    for name, left, right in mismatches(before, after):
        pick.warn(f"machines differ ({name}: '{left}' before, '{right}' after): times may differ "
                  f"for this reason alone")
    found, gone, fresh = judged(before, after, tolerance)
    for workload, rows in tables_of(found).items():
        print(f"{workload}\n{tables.fitted(rows, rows[0].index('before'))}")
    if plot:
        print_plot(found)
    for where, points in (("before", gone), ("after", fresh)):
        for point in points:
            print(f"only {where}: {point.key}")
    if not found:
        pick.fail(65, "the files share no point; compare runs of the same options, ranks and "
                      "threads")
    counts = collections.Counter(one.verdict for one in found)
    answer_comparison(found, counts, tolerance=tolerance,
                      only_before=[point.key for point in gone],
                      only_after=[point.key for point in fresh])
    words = [f"{counts[v]} {v}" for v in VERDICTS if counts[v]] + ([f"{len(gone)} only before"]
                                                                   if gone else []) \
        + ([f"{len(fresh)} only after"] if fresh else [])
    print(f"{len(found)} point{'s' if len(found) != 1 else ''} compared, tolerance "
          f"{100 * tolerance:g} %: {', '.join(words)}")
    return counts


def compare_files(words, tolerance, plot=False):
    """Prints the comparison of two files, or runs of them, and returns {verdict: count}."""
    if len(words) != 2:
        pick.fail(64, f"compare requires two files: {len(words)} were named")
    timed = [pick.runs(word, needed=False) for word in words]
    counts = compare_traced_files(words)
    if all(timed) or not counts:
        counts += compare(*(pick.runs(word) for word in words), tolerance, plot)
    return counts


@pick.command
def main(words=None):
    parser = argparse.ArgumentParser(prog="tessera compare", description=__doc__.split("\n\n")[1])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--tolerance", type=float, default=0.05)
    parser.add_argument("--text", action="store_true")
    arguments = parser.parse_args(words)
    return exit_code(compare_files(arguments.files, arguments.tolerance, arguments.text))


if __name__ == "__main__":
    pick.end_with_the_pipe()
    sys.exit(main())
