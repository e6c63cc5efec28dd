"""Timelines: phases by rank, with the share of communication hidden by computation; transfers and
kernels by stream of a GPU."""
import phases
import series as s
import tables
import textplot
from picture import Picture

FLIGHT = "in flight"
MOST_RANKS = 12
MOST_STAYS = 160  # per rank and picture; later ones are dropped
MOST_POINTS = 4
MOST_STREAMS = 6  # points: 1 to 16 streams


def joined(spans):
    """Merges overlapping intervals; returns them in order."""
    out = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def common_time(a, b):
    """Returns the common duration of two lists of joined intervals."""
    total = i = j = 0
    while i < len(a) and j < len(b):
        total += max(0.0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return total


def hidden(stays):
    """Returns the part of the time in flight in which its rank computed, packed or unpacked; None
    without recorded flight."""
    flying = busy = 0.0
    for mine in stays.values():
        flight = joined((b, e) for name, b, e in mine if name == FLIGHT)
        other = joined((b, e) for name, b, e in mine if name not in (FLIGHT, "exchange", "waiting"))
        flying += sum(e - b for b, e in flight)
        busy += common_time(flight, other)
    return busy / flying if flying > 0 else None


def window(stays):
    """Returns the end time of a picture such that no rank exceeds MOST_STAYS."""
    ends = [sorted(b for _, b, _ in mine)[MOST_STAYS]
            for mine in stays.values() if len(mine) > MOST_STAYS]
    return min(ends) if ends else max(e for mine in stays.values() for _, _, e in mine)


def names_of(stays):
    return [n for n in dict.fromkeys(name for mine in stays.values() for name, _, _ in mine)
            if n != FLIGHT]


HOST = "host"  # the lane of number -1


def draw(axes, stays, of="rank"):
    import style
    until = window(stays)
    scale, unit = style.time_unit(until)
    names = names_of(stays)
    colours = phases.colours_of(names)
    seen = set()
    for rank, mine in stays.items():
        for name in names + [FLIGHT]:
            spans = [(b * scale, (min(e, until) - b) * scale)
                     for n, b, e in mine if n == name and b < until]
            if not spans:
                continue
            label = None if name in seen else "a message in flight" if name == FLIGHT else name
            seen.add(name)
            if name == FLIGHT:
                axes.broken_barh(spans, (rank + 0.34, 0.14), facecolors=style.INK, label=label)
            else:
                axes.broken_barh(spans, (rank - 0.38, 0.68), facecolors=colours[name], label=label)
    axes.set_xlim(0, until * scale)
    axes.set_yticks(list(stays), [HOST if r < 0 else str(r) for r in stays])
    axes.set_ylim(max(stays) + 0.6, min(stays) - 0.6)
    axes.set_ylabel(of)
    axes.set_xlabel(f"time since the repetition began ({unit})")
    style.legend_below(axes)


def text(stays, width=76, of="rank"):
    names, until = names_of(stays), window(stays)
    letters, margin = textplot.letters(names), " " * (len(of) + 6)
    out = []
    for rank, mine in stays.items():
        lanes = [[" "] * width, [" "] * width]
        for name, begin, end in mine:
            if begin >= until:
                continue
            lane = lanes[1 if name == FLIGHT else 0]
            for c in range(int(begin / until * (width - 1)),
                           int(min(end, until) / until * (width - 1)) + 1):
                lane[c] = "=" if name == FLIGHT else letters[name]
        lane = f"{of} {rank:<3}" if rank >= 0 else f"{HOST:<{len(of) + 4}}"
        out.append(f"  {lane}|{''.join(lanes[0])}|")
        if "=" in lanes[1]:
            out.append(f"{margin}{''.join(lanes[1])}")
    out.append(f"{margin}0{tables.seconds(until):>{width - 1}}")
    flying = ", = in flight" if of == "rank" else ""
    return "\n".join(out + ["  " + ", ".join(f"{m} {n}" for n, m in letters.items())
                            + flying]) + "\n"


def said_spans(stays, lanes="ranks"):
    """Returns the phases in words: the share of the lanes' time."""
    whole = len(stays) * max(e for mine in stays.values() for _, _, e in mine) or 1.0
    words = [(n, sum(e - b for mine in stays.values() for name, b, e in mine if name == n))
             for n in names_of(stays)]
    return f"{len(stays)} {lanes}: " + ", ".join(
        f"{name} {100 * seconds / whole:.0f} %" for name, seconds in words) + "."


def which_of(point, names):
    """Returns the words that distinguish a point from the others of its pictures."""
    return s.listed(s.size_words([point]),
                    s.label_of(point, [n for n in names if n not in s.SIZES + s.MACHINE]
                               + list(s.MACHINE)))


def by_stream(run):
    """Yields transfers and kernels of a GPU over time, a lane for each stream."""
    watched = [p for p in run.points if p.device_timeline]
    names = s.varying(watched) if watched else []
    for number, point in enumerate(watched[:MOST_STREAMS], 1):
        stays = dict(sorted(point.device_timeline.items()))
        streams = {lane: mine for lane, mine in stays.items() if lane >= 0}
        host = sum(end - begin for _, begin, end in stays.get(-1, ()))
        words = f" The host computes {tables.seconds(host)} of it." if host else ""
        yield Picture(f"streams_{number}",
                      f"{run.workload}, streams of the last repetition: {which_of(point, names)}",
                      "Transfers and kernels of each stream of the GPU over time." + words,
                      lambda axes, t=stays: draw(axes, t, "stream"),
                      lambda t=stays: text(t, of="stream"),
                      1.6 + 0.34 * max(3, len(stays)), alt=said_spans(streams, "streams") + words)


def pictures(run):
    yield from by_stream(run)
    watched = [p for p in run.points if p.timeline]
    names = s.varying(watched) if watched else []
    for number, point in enumerate(watched[:MOST_POINTS], 1):
        stays = {rank: mine for rank, mine in sorted(point.timeline.items()) if rank < MOST_RANKS}
        part = hidden(point.timeline)
        words = "" if part is None else " Of the time with a message in flight " \
            f"{100 * part:.0f} % is hidden behind other work."
        few = sum(len(mine) for mine in stays.values()) > MOST_STAYS * len(stays)
        yield Picture(f"timeline_{number}",
                      f"{run.workload}, timeline of the last repetition: {which_of(point, names)}",
                      "Phases of each rank over time; blank: outside all phases." + words
                      + (" Beginning only." if few else ""),
                      lambda axes, t=stays: draw(axes, t), lambda t=stays: text(t),
                      1.6 + 0.34 * max(3, len(stays)), alt=said_spans(point.timeline) + words)
