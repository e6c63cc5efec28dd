"""Results files as Python objects: runs and their points with configuration, timings and phases."""
import dataclasses
import os
import re

import h5py
import numpy as np

# Columns of /RUN/summary with measurements; those before them describe the computation.
MEASURED = ("repetitions", "median", "ci_low", "ci_high", "min", "max", "mean", "work", "rate",
            "ceiling_share",
            "verification_method", "verification_ratio", "verification_tolerance", "verified")
# Tables of misses, one row per point or repetition, and their titles.
MISSES = {"simulated": "simulated misses per touch",
          "counters": "counted or simulated events, median of the repetitions"}
# Seconds in device kernels, 0 if none ran.
KERNELS = ("kernels", "kernels_low", "kernels_high")
# Columns that older files lack.
LATER = KERNELS + ("relative_error",)


@dataclasses.dataclass
class Point:
    key: str        # identity of the configuration, the same in every run
    config: dict    # configuration with ranks and threads, in the order of the file
    measured: dict
    phases: dict    # name: seconds of every rank, median over repetitions
    timed: tuple    # phases that are part of a repetition; the others occurred once
    # one per repetition
    seconds: np.ndarray = dataclasses.field(default_factory=lambda: np.array([]))
    run: object = None
    of_kernels: bool = False
    # by rank: [(phase, begin, end)] of the last repetition
    timeline: dict = dataclasses.field(default_factory=dict)
    # by stream of a GPU: [(transfer or kernel, begin, end)] of the last repetition
    device_timeline: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)  # file traffic: files_of()
    # rows of the table `energy`, means of the repetitions, as dicts
    energy: list = dataclasses.field(default_factory=list)

    @property
    def options(self):
        return options_of(self.key)

    @property
    def used(self):
        """Returns the options that its kernel, or algorithm, uses: the textbook loop has no tile.
        """
        options, users = self.options, self.run.users if self.run else {}
        return {name: value for name, value in options.items()
                if name not in users or options.get(users[name][0], "auto") in users[name][1]}

    @property
    def cores(self):
        return int(self.config["ranks"]) * int(self.config["threads"])

    @property
    def rate(self):
        """Returns the rate of the whole repetition, or of its device kernels only (of_kernels)."""
        return self.measured["rate"] * (self.measured["median"] / self.measured["kernels"]
                                        if self.of_kernels else 1)

    @property
    def share(self):
        """Returns the share of the machine's ceiling, NaN if unknown."""
        return self.measured["ceiling_share"] * (self.rate / self.measured["rate"]
                                                 if self.measured["rate"] else 1)

    @property
    def rate_interval(self):
        """Returns the interval of the rate, from that of the time."""
        work = self.measured["rate"] * self.measured["median"]
        names = KERNELS[2:0:-1] if self.of_kernels else ("ci_high", "ci_low")
        low, high = (self.measured[name] for name in names)
        return (work / low if low > 0 else self.rate, work / high if high > 0 else self.rate)

    @property
    def verdict(self):
        verified = self.measured["verified"]
        if verified < 0:
            return "not checked"
        ratio, most = (self.measured[f"verification_{name}"] for name in ("ratio", "tolerance"))
        if verified:
            return f"passed ({ratio:.3g} <= {most:.3g})"
        return f"FAILED ({ratio:.3g}, not <= {most:.3g})"


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
        """Returns the run's study, or its workload."""
        return self.attributes.get("option_title") or self.workload

    @property
    def users(self):
        """Returns {option: (the option by which it is used, the values of that with which it is)};
        "auto" may choose any. Files from before this was recorded have none."""
        found = {}
        for name, text in self.attributes.items():
            if name.startswith("users_"):
                by, _, values = str(text).partition("=")
                found[name.removeprefix("users_")] = by, {"auto", *values.split(",")}
        return found

    @property
    def caches(self):
        return caches_of(self.attributes)

    @property
    def cpus(self):
        """Returns the number of CPUs available to its ranks on all hosts; 0 if not recorded."""
        return len({(row["host"], cpu) for row in self.ranks for cpu in cpus_of(row["cpus"])})


def caches_of(attributes):
    """Returns {level: bytes} of the machine of a run, {"L1": 49152, "L2": ...}; {} if not recorded.
    """
    words = [word.split() for word in str(attributes.get("caches", "")).split(",")]
    return {word[0].removesuffix("d"): int(word[1]) for word in words if len(word) == 2}


def cpus_of(text):
    """Returns the numbers in "0-3,8"."""
    out = []
    for part in filter(None, str(text).split(",")):
        first, _, last = part.partition("-")
        out += range(int(first), int(last or first) + 1)
    return out


def options_of(key):
    """Parses "matmul n=1 weights=0 1 0 ranks=2" into a dict; the last of repeated names takes
    precedence, the value that ran."""
    parts = re.split(r" ([a-z][a-z0-9-]*)=", key)
    return dict(zip(parts[1::2], parts[2::2]))


def identity_of(key):
    """Returns the key without the requested threads (may be 0); it ends with those that ran."""
    return re.sub(r" threads=\d+(?=.* threads=\d+$)", "", key, count=1)


def columns(group):
    """Returns the columns of a table by name, in order of creation."""
    if not isinstance(group, h5py.Group):
        raise ValueError(f"{group.name} is not a table")
    out = {}
    for name, dataset in group.items():
        if not isinstance(dataset, h5py.Dataset) or dataset.ndim != 1:
            raise ValueError(f"{dataset.name} is not a column")
        if name != "row":
            out[name] = dataset.asstr()[:] if h5py.check_string_dtype(dataset.dtype) else dataset[:]
    if len({len(column) for column in out.values()}) > 1:
        raise ValueError(f"the columns of {group.name} differ in length")
    return out


def split_by(table, name):
    """Returns {value: its row numbers}, in order of first use."""
    found = {}
    for row, value in enumerate(table[name]):
        found.setdefault(value, []).append(row)
    return {value: np.array(rows) for value, rows in found.items()}


def phases_of(table, mine):
    """Returns {phase: seconds of every rank, median over the repetitions} of one point, and the
    phases that are part of a repetition."""
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
    """Returns the bytes that all ranks read and wrote in a point, and the mean waiting time per
    rank, seconds."""
    ranks = len(np.unique(table["rank"][mine]))
    names = ("bytes_read", "bytes_written", "waited")
    read, written, waited = (table[name][mine].sum() for name in names)
    return {"read": int(read), "written": int(written), "waited": float(waited) / ranks}


def timelines_of(run, name, lane, what):
    """Returns {point: {lane: [(what, begin, end)]}} of a table of a run, in the order of the ends;
    {} without it."""
    found = {}
    table = columns(run[name]) if name in run else {"point": [], lane: [], what: [], "begin": [],
                                                    "end": []}
    for point, where, done, begin, end in zip(*(table[c] for c in ("point", lane, what, "begin",
                                                                   "end"))):
        found.setdefault(point, {}).setdefault(int(where),
                                               []).append((done, float(begin), float(end)))
    return found


def rows_of(group):
    """Returns the rows of a table as dicts."""
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
    config = [column for column in summary if column not in MEASURED + LATER
              and column != "point"]
    run = Run(name, dict(group.attrs), group["summary/rate"].attrs.get("units", ""), [],
              *(rows_of(group[table]) if table in group else []
                for table in ("scalability", "machine", "ranks")))
    run.misses = {table: by_point(rows_of(group[table])) for table in MISSES if table in group}
    timelines = timelines_of(group, "timeline", "rank", "phase")
    of_devices = timelines_of(group, "device_timeline", "stream", "what")
    file_table = columns(group["files"]) if "files" in group else {"point": []}
    file_rows = split_by(file_table, "point")
    energy = by_point(row for row in (rows_of(group["energy"]) if "energy" in group else [])
                      if row["repetition"] < 0)
    for row, key in enumerate(summary["point"]):
        phases, timed = phases_of(phase_table, phase_rows[key]) if key in phase_rows else ({}, ())
        seconds = sample_table["seconds"][sample_rows[key]] if key in sample_rows else np.array([])
        measured = {c: summary[c][row] for c in MEASURED} | {c: summary[c][row] if c in summary
                                                             else 0.0 for c in LATER}
        run.points.append(Point(identity_of(key), {c: summary[c][row] for c in config}, measured,
                                phases, timed, seconds, run,
                                timeline=timelines.get(key, {}),
                                device_timeline=of_devices.get(key, {})))
        run.points[-1].energy = energy.get(identity_of(key), [])
        leave_out_unused(run.points[-1])
        if key in file_rows:
            run.points[-1].files = files_of(file_table, file_rows[key])
    return run


def leave_out_unused(point):
    """Empties the columns of options that the point's kernel does not use."""
    used = point.used
    for name in point.options:
        column = name.replace("-", "_")
        if name not in used and column in point.config:
            point.config[column] = ""


def groups_of(file):
    """Returns (name, group) of every run in order of creation; file["/"], because some versions of
    h5py list a file itself by name."""
    return [(name, group) for name, group in file["/"].items() if isinstance(group, h5py.Group)]


def read(path):
    """Returns a file's runs with at least one finished point, in order of creation."""
    with h5py.File(path, "r") as file:
        runs = [read_run(name, group) for name, group in groups_of(file) if "summary" in group]
    for run in runs:
        run.file = os.path.basename(path)
    return runs


def value_of(text):
    """Converts an option's text to an integer if it is one."""
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def disambiguate(points):
    """Adds to the points' configuration the options without a column that distinguish some of them.
    A run without a swept tile lacks its column; next to one that swept it, its points get the
    requested value."""
    names = dict.fromkeys(name for point in points for name in point.config)
    same = {}
    for point in points:
        same.setdefault(tuple(point.config.get(name, "") for name in names), []).append(point)
    extra = {}
    for alike in same.values():
        options = [point.used for point in alike]
        for name in options[0]:
            if name.replace("-", "_") not in names and len({o.get(name) for o in options}) > 1:
                extra[name.replace("-", "_")] = True
    out = []
    for point in points:
        asked = {name.replace("-", "_"): value for name, value in point.used.items()}
        config = {name: point.config[name] if name in point.config
                  else value_of(asked.get(name, ""))
                  for name in [*names, *extra]}
        out.append(dataclasses.replace(point, config=config))
    return out


def as_asked(points):
    """Replaces values chosen by the program (halo steps 0: automatic) by "chosen": a choice is
    neither an axis nor distinguishes points."""
    for point in points:
        options = point.options
        for name in point.config:
            option = name.replace("_", "-")
            if options.get(option) == "0" and option != "threads" and str(
                    point.config[name]) != "0":
                point.config[name] = "chosen"
    return points


def merge(runs):
    """Merges runs into one with the points of all, the latest measurement of each. Points that
    differ only in options that they do not use are the same."""
    first = runs[0]
    whole = Run(first.name, first.attributes, first.rate_units, [], [], first.machine, first.ranks,
                first.file)
    known = {}
    for run in runs:
        known.update({tuple(point.used.items()) or point.key: point for point in run.points})
        whole.scalability = whole.scalability + run.scalability
        whole.machine = run.machine or whole.machine
        for table, found in run.misses.items():
            whole.misses.setdefault(table, {}).update(found)
    whole.points = as_asked(disambiguate(list(known.values())))
    # transfers do not distinguish device variants
    if all(point.measured["kernels"] > 0 for point in whole.points):
        whole.points = [dataclasses.replace(point, of_kernels=True) for point in whole.points]
        whole.rate_units += " in kernels"
    return whole


def by_workload(runs):
    """Returns {(title, workload): one run with all its points}."""
    found = {}
    for run in runs:
        found.setdefault((run.title, run.workload), []).append(run)
    return {key: merge(parts) for key, parts in found.items()}
