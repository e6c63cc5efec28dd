"""History of points that were measured again and again: medians with intervals by date, and the
dates at which they changed by the verdict of compare.py."""
import dataclasses
import datetime

import compare
import results
import series as s
import tables
import textplot
from picture import Picture, said_lines

FEWEST = 3  # measurements of a history
MOST_PICTURES = 3


@dataclasses.dataclass
class Moment:
    """Measurement of a point, compared with the first one since the last change."""
    when: datetime.datetime
    point: object
    ratio: float      # to that one
    verdict: str      # FASTER, SLOWER and WRONG begin a new stretch; "" of the first one
    reason: str = ""


def date_of(run):
    """Returns the start of a run; None if it was not recorded."""
    try:
        return datetime.datetime.fromisoformat(
            str(run.attributes.get("start_time", "")).replace("Z", "+00:00"))
    except ValueError:
        return None


def moments(points, tolerance):
    """Returns the moments of measurements in order of time. The reference stays until a change, so
    that a slow drift is found, too."""
    out, reference = [], points[0]
    for point in points:
        one = compare.compare_points(reference, point, tolerance)
        first = point is points[0]
        out.append(Moment(date_of(point.run), point, 1.0 if first else one.ratio,
                          "" if first else one.verdict, "" if first else one.reason))
        if out[-1].verdict in ("FASTER", "SLOWER", "WRONG"):
            reference = point
    return out


def histories(runs, tolerance):
    """Returns {workload: [moments of a point]} of the points measured at FEWEST dates or more on
    one kind of processor."""
    found = {}
    for run in runs:
        for point in run.points if date_of(run) else ():
            key = (run.workload, run.attributes.get("processor", ""),
                   tuple(point.used.items()) or point.key)
            found.setdefault(key, {})[date_of(run)] = point
    out = {}
    for (workload, *_), mine in found.items():
        if len(mine) >= FEWEST:
            out.setdefault(workload, []).append(
                moments([mine[when] for when in sorted(mine)], tolerance))
    return out


def labels_of(every):
    """Returns the labels of histories."""
    points = results.disambiguate([mine[-1].point for mine in every])
    names = s.varying(points)
    processors = [str(mine[-1].point.run.attributes.get("processor", "")) for mine in every]
    return [s.listed(s.label_of(point, names or ["kernel"]),
                     processor if len(set(processors)) > 1 else "")
            for point, processor in zip(points, processors)]


def of_first(mine):
    """Returns (dates, medians and ends of their intervals as shares of the first median)."""
    first = mine[0].point.measured["median"] or 1.0
    return [one.when for one in mine], [[one.point.measured[name] / first for one in mine]
                                        for name in ("median", "ci_low", "ci_high")]


def draw(axes, every, labels):
    import style
    for index, (mine, label) in enumerate(zip(every, labels)):
        how = style.look(index)
        dates, (middle, low, high) = of_first(mine)
        axes.errorbar(dates, middle, yerr=[[max(0, m - v) for m, v in zip(middle, low)],
                                           [max(0, v - m) for m, v in zip(middle, high)]],
                      label=label, **how)
        for one, date, y in zip(mine, dates, middle):
            if one.verdict in ("FASTER", "SLOWER", "WRONG"):
                axes.annotate(one.verdict, (date, y), xytext=(0, 9), ha="center", fontsize=8,
                              textcoords="offset points", color=style.INK, zorder=5,
                              bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
                axes.plot(date, y, marker="o", markersize=11, markerfacecolor="none",
                          color=how["color"])
    axes.axhline(1, color=style.QUIET, linestyle=":", linewidth=1)
    axes.set_ylim(0, 1.15 * max(v for mine in every for part in of_first(mine)[1] for v in part))
    axes.margins(x=0.08)
    date_axis(axes.xaxis, sorted({one.when for mine in every for one in mine}))
    axes.set_ylabel("median / the first median")
    axes.grid(True, which="major")
    style.legend_below(axes)


def date_axis(axis, dates):
    """Labels an axis of dates; measurements of a few minutes by their first and last times, which
    round times may miss."""
    import style
    found = style.matplotlib.dates
    if dates[-1] - dates[0] > datetime.timedelta(minutes=5):
        locator = found.AutoDateLocator(minticks=3, maxticks=6)
        axis.set_major_locator(locator)
        axis.set_major_formatter(found.ConciseDateFormatter(locator))
    else:
        axis.set_ticks([dates[0], dates[-1]], [f"{dates[0]:%Y-%m-%d %H:%M:%S}",
                                               f"{dates[-1]:%H:%M:%S}"])


def pictures(runs, tolerance):
    """Yields (picture, workload): up to eight points a picture, the changed ones first."""
    for workload, found in histories(runs, tolerance).items():
        every = sorted(found, key=lambda mine: not changes(mine))
        labels = labels_of(every)
        for number in range(0, min(len(every), MOST_PICTURES * s.MOST_SERIES), s.MOST_SERIES):
            part = every[number:number + s.MOST_SERIES]
            words = labels[number:number + s.MOST_SERIES]
            plain = {label: (list(range(1, len(mine) + 1)), of_first(mine)[1][0])
                     for label, mine in zip(words, part)}
            changed = sum(len(changes(mine)) for mine in part)
            yield Picture(
                f"history_{number // s.MOST_SERIES + 1}",
                s.titled(f"{workload}, medians by date", s.size_words([m[0].point for m in part])),
                f"Time as a share of the first; whiskers: intervals of the median. {changed} "
                f"change{'s' if changed != 1 else ''} named where `tessera compare` finds one, "
                f"against the first measurement since the last change, tolerance "
                f"{100 * tolerance:g} %.",
                lambda axes, p=part, w=words: draw(axes, p, w),
                lambda d=plain: textplot.lines(d, "measurement", "time, of the first", log_x=False),
                3.2 + s.legend_height(words),
                alt=said_lines(plain, "measurement", "time as a share of the first")), workload


def changes(mine):
    return [one for one in mine if one.verdict in ("FASTER", "SLOWER", "WRONG")]


def table(runs, tolerance):
    """Yields (heading, rows of texts) of every workload."""
    for workload, every in histories(runs, tolerance).items():
        usual = tables.usual_coverage([one.point for mine in every for one in mine])
        rows = [["point", "date", "run", "median", f"{usual} % interval", "of the reference",
                 "verdict"]]
        for label, mine in zip(labels_of(every), every):
            minutes = {one.when.replace(second=0, microsecond=0) for one in mine}
            seconds = ":%S" if len(minutes) < len(mine) else ""
            for one in mine:
                run = one.point.run
                rows.append([label, one.when.strftime(f"%Y-%m-%d %H:%M{seconds}"),
                             f"{run.file}#{run.name}",
                             tables.seconds(one.point.measured["median"]),
                             tables.interval(one.point.measured, usual),
                             f"{one.ratio:.3f}" if one.ratio == one.ratio else "-",
                             one.verdict + (f" ({one.reason})" if one.reason else "")])
        yield f"{workload}: medians by date", rows
