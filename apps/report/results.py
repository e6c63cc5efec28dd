"""Results files as Python values: runs, and in them points with their configuration, timings and
phases."""
import dataclasses
import os
import re

import h5py
import numpy as np

# Columns of /RUN/summary that say how fast it was; those before them say what was computed.
MEASURED = ("repetitions", "median", "ci_low", "ci_high", "min", "max", "mean", "work", "rate",
            "ceiling_share",
            "verification_method", "verification_ratio", "verification_tolerance", "verified")
# Tables of misses, a row a point or a repetition, and what they tell.
MISSES = {"simulated": "simulated misses a touch",
          "counters": "what was counted or simulated, median of the repetitions"}
# Seconds in device kernels alone, 0 where none ran; files from before there were devices lack them.
KERNELS = ("kernels", "kernels_low", "kernels_high")


@dataclasses.dataclass
class Point:
    key: str        # the identity of the configuration, the same in every run
    config: dict    # what was computed, with ranks and threads, in the order of the file
    measured: dict
    phases: dict    # name: seconds of every rank, median over repetitions
    timed: tuple    # the phases that are part of a repetition; the others happened once
    # one a repetition
    seconds: np.ndarray = dataclasses.field(default_factory=lambda: np.array([]))
    run: object = None
    of_kernels: bool = False
    # of every rank: [(phase, begin, end)] of the last repetition
    timeline: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)  # from file to file: files_of()

    @property
    def options(self):
        return options_of(self.key)

    @property
    def cores(self):
        return int(self.config["ranks"]) * int(self.config["threads"])

    @property
    def rate(self):
        """Of the whole repetition, or of its device kernels alone (of_kernels)."""
        return self.measured["rate"] * (self.measured["median"] / self.measured["kernels"]
                                        if self.of_kernels else 1)

    @property
    def share(self):
        """Of the machine's ceiling, NaN where that is unknown."""
        return self.measured["ceiling_share"] * (self.rate / self.measured["rate"]
                                                 if self.measured["rate"] else 1)

    @property
    def rate_interval(self):
        """The 95 % interval of the rate; the time's, turned over."""
        work = self.measured["rate"] * self.measured["median"]
        names = KERNELS[2:0:-1] if self.of_kernels else ("ci_high", "ci_low")
        low, high = (self.measured[name] for name in names)
        return (work / low if low > 0 else self.rate, work / high if high > 0 else self.rate)

    @property
    def verdict(self):
        verified = self.measured["verified"]
        if verified < 0:
            return "not checked"
        words = "passed" if verified else "FAILED"
        ratio, most = (self.measured[f"verification_{name}"] for name in ("ratio", "tolerance"))
        return f"{words} ({ratio:.3g} <= {most:.3g})"


@dataclasses.dataclass
class Run:
    name: str
    attributes: dict
    rate_units: str
    points: list
    scalability: list = dataclasses.field(default_factory=list)  # rows of that table, as dicts
    machine: list = dataclasses.field(default_factory=list)      # measured ceilings, as dicts
    # hosts and cores of the ranks, as dicts
    ranks: list = dataclasses.field(default_factory=list)
    file: str = ""
    # {table of MISSES: {key of a point: its rows, as dicts}}
    misses: dict = dataclasses.field(default_factory=dict)

    @property
    def workload(self):
        return self.attributes.get("workload", self.name.split("_")[0])

    @property
    def title(self):
        """The study it belongs to, or its workload."""
        return self.attributes.get("option_title") or self.workload

    @property
    def cpus(self):
        """The cpus that its ranks could use, on all hosts; 0 where nobody noted them."""
        return len({(row["host"], cpu) for row in self.ranks for cpu in cpus_of(row["cpus"])})


def cpus_of(text):
    """The numbers in "0-3,8"."""
    out = []
    for part in filter(None, str(text).split(",")):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def options_of(key):
    """"matmul n=1 weights=0 1 0 ranks=2" as a dict; of a name twice the last, which is what really
    ran."""
    parts = re.split(r" ([a-z][a-z0-9-]*)=", key)
    return dict(zip(parts[1::2], parts[2::2]))


def identity_of(key):
    """The key without the threads that were asked for, 0 perhaps: those that ran stand at its
    end."""
    return re.sub(r" threads=\d+(?=.* threads=\d+$)", "", key, count=1)


def columns(group):
    """The columns of a table, by name in the order they were made."""
    if not isinstance(group, h5py.Group):
        raise ValueError(f"{group.name} is no table")
    out = {}
    for name, dataset in group.items():
        if not isinstance(dataset, h5py.Dataset) or dataset.ndim != 1:
            raise ValueError(f"{dataset.name} is no column")
        if name != "row":
            out[name] = dataset.asstr()[:] if h5py.check_string_dtype(dataset.dtype) else dataset[:]
    if len({len(column) for column in out.values()}) > 1:
        raise ValueError(f"the columns of {group.name} are not equally long")
    return out


def split_by(table, name):
    """{value: numbers of its rows}, in the order of first use."""
    found = {}
    for row, value in enumerate(table[name]):
        found.setdefault(value, []).append(row)
    return {value: np.array(rows) for value, rows in found.items()}


def phases_of(table, mine):
    """{phase: seconds of every rank, median over the repetitions} of one point, and which belong to
    a repetition."""
    names, repetitions, ranks, seconds = (table[c][mine]
                                          for c in ("phase", "repetition", "rank", "seconds"))
    phases, timed = {}, []
    for name in dict.fromkeys(names):
        rows = names == name
        of_ranks = [np.median(seconds[rows & (ranks == rank)]) for rank in np.unique(ranks[rows])]
        phases[name] = np.array(of_ranks)
        if (repetitions[rows] >= 0).any():
            timed.append(name)
    return phases, tuple(timed)


def files_of(table, mine):
    """What all ranks read and wrote beside a point's phases, and the mean seconds that one
    waited."""
    ranks = len(np.unique(table["rank"][mine]))
    names = ("bytes_read", "bytes_written", "waited")
    read, written, waited = (table[name][mine].sum() for name in names)
    return {"read": int(read), "written": int(written), "waited": float(waited) / ranks}


def timelines_of(group):
    """{point: {rank: [(phase, begin, end)]}}, the stays in the order in which they ended."""
    found = {}
    table = columns(group)
    for point, rank, phase, begin, end in zip(*(table[c]
                                                for c in ("point", "rank", "phase", "begin",
                                                          "end"))):
        found.setdefault(point, {}).setdefault(int(rank),
                                               []).append((phase, float(begin), float(end)))
    return found


def rows_of(group):
    """The rows of a table as dicts."""
    table = columns(group)
    return [dict(zip(table, values)) for values in zip(*table.values())]


def by_point(rows):
    found = {}
    for row in rows:
        found.setdefault(identity_of(row["point"]), []).append(row)
    return found


def read_run(name, group):
    summary = columns(group["summary"])
    phase_table = columns(group["phases"]) if "phases" in group else {"point": []}
    sample_table = columns(group["samples"]) if "samples" in group else {"point": []}
    phase_rows, sample_rows = split_by(phase_table, "point"), split_by(sample_table, "point")
    config = [column for column in summary if column not in MEASURED + KERNELS
              and column != "point"]
    run = Run(name, dict(group.attrs), group["summary/rate"].attrs.get("units", ""), [],
              *(rows_of(group[table]) if table in group else []
                for table in ("scalability", "machine", "ranks")))
    run.misses = {table: by_point(rows_of(group[table])) for table in MISSES if table in group}
    timelines = timelines_of(group["timeline"]) if "timeline" in group else {}
    file_table = columns(group["files"]) if "files" in group else {"point": []}
    file_rows = split_by(file_table, "point")
    for row, key in enumerate(summary["point"]):
        phases, timed = phases_of(phase_table, phase_rows[key]) if key in phase_rows else ({}, ())
        seconds = sample_table["seconds"][sample_rows[key]] if key in sample_rows else np.array([])
        measured = {c: summary[c][row] for c in MEASURED} | {c: summary[c][row] if c in summary
                                                             else 0.0 for c in KERNELS}
        run.points.append(Point(identity_of(key), {c: summary[c][row] for c in config}, measured,
                                phases, timed, seconds, run,
                                timeline=timelines.get(key, {})))
        if key in file_rows:
            run.points[-1].files = files_of(file_table, file_rows[key])
    return run


def groups_of(file):
    """(name, group) of every run, in the order in which they were made; some versions of h5py list
    a file itself by name."""
    return [(name, group) for name, group in file["/"].items() if isinstance(group, h5py.Group)]


def read(path):
    """The runs of a file that finished a point at least, in the order in which they were made."""
    with h5py.File(path, "r") as file:
        runs = [read_run(name, group) for name, group in groups_of(file) if "summary" in group]
    for run in runs:
        run.file = os.path.basename(path)
    return runs


def value_of(text):
    """What an option's text says: an integer where it is one."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def tell_apart(points):
    """The points with the options in their configuration that have no column of their own and tell
    some of them apart. A run that
    swept no tile has no column of it: beside one that did, its points say what they were asked
    for."""
    names = dict.fromkeys(name for point in points for name in point.config)
    same = {}
    for point in points:
        same.setdefault(tuple(point.config.get(name, "") for name in names), []).append(point)
    extra = {}
    for alike in same.values():
        options = [point.options for point in alike]
        for name in options[0]:
            if name.replace("-", "_") not in names and len({o.get(name) for o in options}) > 1:
                extra[name.replace("-", "_")] = True
    out = []
    for point in points:
        asked = {name.replace("-", "_"): value for name, value in point.options.items()}
        config = {name: point.config[name] if name in point.config
                  else value_of(asked.get(name, ""))
                  for name in [*names, *extra]}
        out.append(dataclasses.replace(point, config=config))
    return out


def as_asked(points):
    """Columns that say what the program chose (halo steps 0: as many as pay) say what it was asked
    for instead: a choice
    is neither an axis nor what tells two points apart."""
    for point in points:
        options = point.options
        for name in point.config:
            option = name.replace("_", "-")
            if options.get(option) == "0" and option != "threads" and str(
                    point.config[name]) != "0":
                point.config[name] = "chosen"
    return points


def merge(runs):
    """One run with the points of all; of a point measured more than once the latest."""
    first = runs[0]
    whole = Run(first.name, first.attributes, first.rate_units, [], [], first.machine, first.ranks,
                first.file)
    known = {}
    for run in runs:
        known.update({point.key: point for point in run.points})
        whole.scalability = whole.scalability + run.scalability
        whole.machine = run.machine or whole.machine
        for table, found in run.misses.items():
            whole.misses.setdefault(table, {}).update(found)
    whole.points = as_asked(tell_apart(list(known.values())))
    # variants on a device are not told apart by transfers
    if all(point.measured["kernels"] > 0 for point in whole.points):
        whole.points = [dataclasses.replace(point, of_kernels=True) for point in whole.points]
        whole.rate_units += " in kernels"
    return whole


def by_workload(runs):
    """{(title, workload): one run with all its points}."""
    found = {}
    for run in runs:
        found.setdefault((run.title, run.workload), []).append(run)
    return {key: merge(parts) for key, parts in found.items()}
