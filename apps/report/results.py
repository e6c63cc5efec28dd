"""A results file as Python values: runs, and in them points with their configuration, timings and phases."""
import dataclasses

import h5py
import numpy as np

# Columns of /RUN/summary that say how fast it was; those before them say what was computed.
MEASURED = ("repetitions", "median", "ci_low", "ci_high", "min", "max", "mean", "work", "rate", "ceiling_share",
            "verification_method", "verification_ratio", "verification_tolerance", "verified")


@dataclasses.dataclass
class Point:
    key: str        # the identity of the configuration, the same in every run
    config: dict    # what was computed, with ranks and threads, in the order of the file
    measured: dict
    phases: dict    # name: seconds, median over repetitions of the mean over ranks
    timed: tuple    # the phases that are part of a repetition; the others happened once

    @property
    def rate(self):
        return self.measured["rate"]

    @property
    def rate_interval(self):
        """The 95 % interval of the rate; the time's, turned over."""
        work = self.rate * self.measured["median"]
        low, high = self.measured["ci_high"], self.measured["ci_low"]
        return (work / low if low > 0 else self.rate, work / high if high > 0 else self.rate)

    @property
    def verdict(self):
        verified = self.measured["verified"]
        if verified < 0:
            return "not checked"
        words = "passed" if verified else "FAILED"
        return f"{words} ({self.measured['verification_ratio']:.3g} <= {self.measured['verification_tolerance']:.3g})"


@dataclasses.dataclass
class Run:
    name: str
    attributes: dict
    rate_units: str
    points: list
    scalability: list = dataclasses.field(default_factory=list)  # rows of that table, as dicts

    @property
    def workload(self):
        return self.attributes.get("workload", self.name.split("_")[0])


def columns(group):
    """The columns of a table, by name in the order they were made."""
    out = {}
    for name, dataset in group.items():
        if name != "row":
            out[name] = dataset.asstr()[:] if h5py.check_string_dtype(dataset.dtype) else dataset[:]
    return out


def phases_of(table, key):
    """Phases of one point, and which of them belong to a repetition."""
    mine = table["point"] == key
    phases, timed = {}, []
    for name in dict.fromkeys(table["phase"][mine]):
        rows = mine & (table["phase"] == name)
        repetitions = table["repetition"][rows]
        seconds = table["seconds"][rows]
        phases[name] = float(np.median([seconds[repetitions == r].mean() for r in np.unique(repetitions)]))
        if (repetitions >= 0).any():
            timed.append(name)
    return phases, tuple(timed)


def rows_of(group):
    """The rows of a table as dicts."""
    table = columns(group)
    return [dict(zip(table, values)) for values in zip(*table.values())]


def read_run(name, group):
    summary = columns(group["summary"])
    phase_table = columns(group["phases"]) if "phases" in group else None
    config = [column for column in summary if column not in MEASURED and column != "point"]
    points = []
    for row, key in enumerate(summary["point"]):
        phases, timed = phases_of(phase_table, key) if phase_table else ({}, ())
        points.append(Point(key, {c: summary[c][row] for c in config}, {c: summary[c][row] for c in MEASURED},
                            phases, timed))
    further = rows_of(group["scalability"]) if "scalability" in group else []
    return Run(name, dict(group.attrs), group["summary/rate"].attrs.get("units", ""), points, further)


def read(path):
    """The runs of a file that finished a point at least."""
    with h5py.File(path, "r") as file:
        return [read_run(name, group) for name, group in file.items()
                if isinstance(group, h5py.Group) and "summary" in group]


def by_workload(runs):
    """One run a workload with all its points; of a point measured more than once the latest."""
    merged = {}
    for run in runs:
        whole = merged.setdefault(run.workload, Run(run.name, run.attributes, run.rate_units, []))
        known = {point.key: point for point in whole.points}
        known.update({point.key: point for point in run.points})
        whole.points = list(known.values())
        whole.scalability = whole.scalability + run.scalability
    return merged
