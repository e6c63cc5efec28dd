"""Energy of the points, by domain: joules of a repetition, watts, share of idle, joules a work."""
import math
import re

import tables

PARTS = ("package", "dram", "gpu")  # the platform contains others
PREFIXES = ((1, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p"))


def joules(value):
    """Formats joules with the prefix that leaves one to three digits before the point."""
    if not math.isfinite(value):
        return "-"
    for factor, prefix in PREFIXES:
        if value >= 0.9995 * factor:
            return f"{tables.rate(value / factor)} {prefix}J"
    return "0 J"


def unit_of(rate_units):
    """Returns the unit of work in the unit of a rate: FLOP of GFLOP/s, key of Mkeys/s."""
    found = re.match(r"[GM](\w+)/s", rate_units)
    return {"keys": "key", "points": "point"}.get(found[1], found[1]) if found else "work"


def with_sum(domains):
    """Returns the rows of a point with their sum, where there are several parts."""
    parts = [row for row in domains if row["domain"] in PARTS]
    if len(parts) < 2:
        return domains
    total = {name: sum(row[name] for row in parts) for name in ("joules", "watts", "idle_watts")}
    share = total["idle_watts"] / total["watts"] if total["watts"] else math.nan
    return [*domains, {**total, "domain": "all", "idle_share": share, "reason": ""}]


def table(points, rate_units):
    """Returns a row per point and domain; empty if the energy of no point was measured."""
    known = [point for point in points if point.energy]
    if not known:
        return []
    shown = tables.varying(known, always=("kernel",))
    rows = [shown + ["domain", "energy", "power", "idle", f"per {unit_of(rate_units)}", "missing"]]
    for point in known:
        work = float(point.measured["work"])
        for row in with_sum(point.energy):
            rows.append([tables.number(point.config[n]) for n in shown]
                        + [row["domain"], joules(row["joules"]),
                           f"{tables.rate(row['watts'])} W" if math.isfinite(row["watts"]) else "-",
                           f"{100 * row['idle_share']:.0f} %"
                           if math.isfinite(row["idle_share"]) else "-",
                           joules(row["joules"] / work) if work > 0 else "-",
                           row["reason"] or "-"])
    return rows
